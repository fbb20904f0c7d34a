// Reports that the master will not take, such as those of a run that another one has followed.
// They are kept, a line of JSON each, in a file for people and for `det sync`, which offers them
// once more.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/json_fwd.h"

namespace det::master {

class RefusedReports {
 public:
  explicit RefusedReports(const std::filesystem::path &run_directory);

  const std::filesystem::path &path() const { return path_; }
  bool empty() const;
  uint64_t count() const;

  // Beyond `limit_bytes` of them nothing is kept: false.
  bool keep(const Json &report);
  bool has_room() const;

  // Gives each to `take`; those it is true for are gone afterwards.
  void offer(const std::function<bool(const Json &report)> &take);

 private:
  static constexpr uint64_t limit_bytes = uint64_t{64} << 20U;

  std::filesystem::path path_;
};

}  // namespace det::master

// The TensorBoard files of a bucket in a directory of this machine, for programs that know nothing
// of buckets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/storage/storage.h"

namespace det::tensorboard {

class Mirror {
 public:
  // `directory` of the bucket, in `target`, which is made where it is absent and belongs to this.
  Mirror(std::shared_ptr<storage::Storage> bucket, std::string directory,
         std::filesystem::path target);

  // What programs are given.
  std::filesystem::path path() const { return target_ / "files"; }
  bool empty() const { return versions_.empty(); }

  // Brings what is new or was changed since the last time; what is gone in the bucket stays here.
  // Blocks; throws what the storage does, and goes on with the next call.
  void refresh(storage::Progress *progress = nullptr);

 private:
  struct Arrival;
  Arrival arrival_of(const storage::KeptFile &file, size_t number) const;

  const std::shared_ptr<storage::Storage> bucket_;
  const std::string directory_;
  const std::filesystem::path target_;
  std::map<std::string, std::string> versions_;  // of the files that are here, by path
};

}  // namespace det::tensorboard

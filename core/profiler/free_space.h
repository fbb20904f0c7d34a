// How full file systems are, asked on a thread of its own: a mount whose server is gone does not
// answer for hours.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace det::profiler {

class FreeSpace {
 public:
  // Percent that is used of what users may have; none where that cannot be told.
  using Ask = std::function<std::optional<double>(const std::filesystem::path &path)>;

  // Starts the thread, and asks once.
  explicit FreeSpace(std::vector<std::filesystem::path> paths, Ask ask = used_percent);
  // Does not wait for a mount that does not answer.
  ~FreeSpace();

  // The answer of each path to the last round of questions, and the next round begins; none for
  // a path that has not answered since, or never did.
  std::vector<std::optional<double>> ask();

  static std::optional<double> used_percent(const std::filesystem::path &path);

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
};

}  // namespace det::profiler

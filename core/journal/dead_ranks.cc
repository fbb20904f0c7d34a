#include "core/journal/dead_ranks.h"

#include <cerrno>
#include <exception>

#include "core/base/error.h"
#include "core/journal/run_directory.h"

namespace det::journal {

namespace fs = std::filesystem;

Recovery recover_dead_ranks(
    const std::vector<fs::path> &run_directories, Logger &logger,
    const std::function<std::optional<RecoveredRank>(const fs::path &)> &recover) {
  Recovery recovery;
  std::exception_ptr failed;
  for (const fs::path &directory : run_directories) {
    try {
      const auto owner = OwnerLock::take_over(owner_file(directory));
      if (!owner) ++recovery.busy;
      else if (const auto rank = recover(directory)) recovery.ranks.push_back(*rank);
    } catch (const Error &error) {
      // Its owner, or another process that recovers, has just removed it.
      if (error.os_errno == ENOENT && !fs::exists(directory)) continue;
      logger.warning("recovering '" + directory.string() + "': " + error.what());
      if (!failed) failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
  return recovery;
}

}  // namespace det::journal

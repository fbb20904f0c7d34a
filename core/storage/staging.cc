#include "core/storage/staging.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <set>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/storage/tree.h"

namespace det {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view removed_prefix = ".removed-";
constexpr std::string_view lock_suffix = ".lock";

std::set<std::string> ids_in(const fs::path &root) {
  std::set<std::string> ids;
  std::error_code failure;
  for (fs::directory_iterator at(root, failure), end; !failure && at != end;
       at.increment(failure)) {
    std::string name = at->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code ignored;
    if (!at->is_directory(ignored)) {
      if (!name.ends_with(lock_suffix)) continue;
      name.resize(name.size() - lock_suffix.size());
    }
    ids.insert(std::move(name));
  }
  return ids;
}

// The name a lock file has before it is locked, in the first instant of its life.
bool is_abandoned_lock(const fs::path &path) {
  struct stat about {};
  return path.filename() != ".take-over" && stat(path.c_str(), &about) == 0 &&
         S_ISREG(about.st_mode) && about.st_mtim.tv_sec + 3600 < std::time(nullptr) &&
         owner_liveness(path) == Liveness::dead;
}

// What belongs to no id: removals that were interrupted, and locks whose making was.
void remove_remains(const fs::path &root, Logger &logger) {
  std::error_code failure;
  for (fs::directory_iterator at(root, failure), end; !failure && at != end;
       at.increment(failure)) {
    const std::string name = at->path().filename().string();
    try {
      if (name.starts_with(removed_prefix) ||
          (name.starts_with('.') && is_abandoned_lock(at->path())))
        remove_tree(at->path());
    } catch (const Error &error) {
      logger.warning(error.what());
    }
  }
}

}  // namespace

OwnerLock Staging::claim(const std::string &id) const {
  make_shared_directories(root_);
  const fs::path lock_path = lock_of(id);
  struct stat about {};
  if (lstat(lock_path.c_str(), &about) == 0 || lstat(tree_of(id).c_str(), &about) == 0)
    throw Error(Code::conflict, "starting checkpoint '" + id + "' in '" + root_.string() +
                                    "': it is being written already; use a new id");
  try {
    OwnerLock lock = OwnerLock::acquire(lock_path);
    if (mkdir(tree_of(id).c_str(), 0777) != 0)
      OsFailure{errno}.raise("making directory '" + tree_of(id).string() + "'");
    return lock;
  } catch (const Error &error) {
    if (error.code != Code::busy) release(id);
    throw;
  }
}

void Staging::release(const std::string &id) const {
  if (unlink(lock_of(id).c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
    OsFailure{errno}.raise("removing '" + lock_of(id).string() + "'");
}

bool Staging::discard(const fs::path &tree) const {
  const fs::path removed = root_ / (std::string(removed_prefix) + make_uuid());
  if (rename(tree.c_str(), removed.c_str()) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    OsFailure{errno}.raise("removing '" + tree.string() + "'");
  }
  remove_tree(removed);
  return true;
}

std::vector<Staging::Orphan> Staging::sweep(Logger &logger) const {
  std::vector<Orphan> orphans;
  for (const std::string &id : ids_in(root_)) {
    const fs::path lock = lock_of(id);
    try {
      std::optional<OwnerLock> taken = OwnerLock::take_over(lock);
      if (!taken) continue;
      if (discard(tree_of(id))) logger.info("removed the unfinished checkpoint '" + id + "'");
      orphans.push_back({id, std::move(*taken)});
    } catch (const Error &error) {
      logger.warning("cleaning up after checkpoint '" + id + "': " + error.what());
    }
  }
  remove_remains(root_, logger);
  return orphans;
}

}  // namespace det

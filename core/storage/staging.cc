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

// Its owner has made the file and is about to lock it and write its name in.
bool is_being_made(const fs::path &lock) {
  struct stat about {};
  return stat(lock.c_str(), &about) == 0 && about.st_size == 0 &&
         about.st_mtim.tv_sec + 60 > std::time(nullptr);
}

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
      throw_errno(errno, "making directory '" + tree_of(id).string() + "'");
    return lock;
  } catch (const Error &error) {
    if (error.code != Code::busy) release(id);
    throw;
  }
}

void Staging::release(const std::string &id) const {
  if (unlink(lock_of(id).c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
    throw_errno(errno, "removing '" + lock_of(id).string() + "'");
}

bool Staging::discard(const fs::path &tree) const {
  const fs::path removed = root_ / (std::string(removed_prefix) + make_uuid());
  if (rename(tree.c_str(), removed.c_str()) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw_errno(errno, "removing '" + tree.string() + "'");
  }
  remove_tree(removed);
  return true;
}

std::vector<Staging::Orphan> Staging::sweep(Logger &logger) const {
  std::vector<Orphan> orphans;
  for (const std::string &id : ids_in(root_)) {
    const fs::path lock = lock_of(id);
    try {
      if (is_being_made(lock)) continue;
      std::optional<OwnerLock> taken = OwnerLock::take_over(lock);
      if (!taken) continue;
      if (discard(tree_of(id))) logger.info("removed the unfinished checkpoint '" + id + "'");
      orphans.push_back({id, std::move(*taken)});
    } catch (const Error &error) {
      logger.warning("cleaning up after checkpoint '" + id + "': " + error.what());
    }
  }
  std::error_code failure;
  for (fs::directory_iterator at(root_, failure), end; !failure && at != end;
       at.increment(failure)) {
    try {
      if (at->path().filename().string().starts_with(removed_prefix)) remove_tree(at->path());
    } catch (const Error &error) {
      logger.warning(error.what());
    }
  }
  return orphans;
}

}  // namespace det

// What killed processes left in `.partial`, and the end of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <set>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/storage/shared_directory.h"
#include "core/storage/staging.h"

namespace det {

namespace {

constexpr std::string_view lock_suffix = ".lock";

// The name a lock file has before it is locked, in the first instant of its life.
bool is_abandoned_lock(const Tree &root, const std::string &name) {
  struct stat about {};
  return !name.starts_with(".take-over") &&
         fstatat(root.fd.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(about.st_mode) && about.st_mtim.tv_sec + 3600 < std::time(nullptr) &&
         owner_liveness(root.name / name) == Liveness::dead;
}

// What belongs to no id: removals that were interrupted, and locks whose making was.
void remove_remains(const Tree &root, const std::vector<std::string> &names, Logger &logger) {
  for (const std::string &name : names) try {
      if (name.starts_with(Staging::removed_prefix) || is_abandoned_lock(root, name))
        remove_beneath(root.fd.get(), name, root.name / name);
    } catch (const Error &error) {
      // Another user's are his to remove.
      if (error.code != Code::access) logger.warning(error.what());
    }
}

}  // namespace

// Whom the file system takes this process for: over a network not always geteuid(). Nothing where
// this process may not write, and so has begun nothing.
std::optional<uid_t> Staging::user() const {
  const std::string name = ".user-" + make_uuid();
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const Fd probe(openat(root_.fd.get(), name.c_str(), flags, 0600));
  if (!probe) return std::nullopt;
  unlinkat(root_.fd.get(), name.c_str(), 0);
  struct stat about {};
  return fstat(probe.get(), &about) == 0 ? std::optional(about.st_uid) : std::nullopt;
}

bool Staging::is_own(const std::string &id, uid_t user) const {
  struct stat about {};
  const int root = root_.fd.get();
  if (fstatat(root, (id + ".lock").c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0)
    return S_ISREG(about.st_mode) && about.st_uid == user;
  return fstatat(root, id.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(about.st_mode) &&
         about.st_uid == user;
}

std::vector<Staging::Orphan> Staging::sweep(Logger &logger) const {
  std::set<std::string> ids;
  std::vector<std::string> others;
  for (auto &[name, type] : names_in(root_.fd, "'" + root().string() + "'")) {
    if (name.starts_with('.')) {
      others.push_back(std::move(name));
      continue;
    }
    if (name.ends_with(lock_suffix)) name.resize(name.size() - lock_suffix.size());
    ids.insert(std::move(name));
  }
  std::vector<Orphan> orphans;
  const std::optional<uid_t> self = ids.empty() ? std::nullopt : user();
  for (const std::string &id : ids) {
    try {
      if (!self || !is_own(id, *self)) continue;
      std::optional<OwnerLock> taken = OwnerLock::take_over(lock_of(id));
      if (!taken) continue;
      const bool was_staged = discard_staged(id);
      if (was_staged) logger.info("removed the unfinished checkpoint '" + id + "'");
      orphans.push_back({id, std::move(*taken), was_staged});
    } catch (const Error &error) {
      logger.warning("cleaning up after checkpoint '" + id + "': " + error.what());
    }
  }
  remove_remains(root_, others, logger);
  return orphans;
}

}  // namespace det

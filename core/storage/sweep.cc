// What killed processes left in `.partial`, and the end of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/storage/shared_directory.h"
#include "core/storage/staging.h"

namespace det::storage {

namespace {

// The name a lock file has before it is locked, in the first instant of its life.
bool is_abandoned_lock(const Tree &root, const std::string &name) {
  struct stat about {};
  return !name.starts_with(".take-over") &&
         fstatat(root.fd.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(about.st_mode) && about.st_mtim.tv_sec + 3600 < std::time(nullptr) &&
         owner_liveness(root.name / name) == Liveness::dead;
}

}  // namespace

// What belongs to no id: removals that were interrupted, and locks whose making was.
void Staging::remove_remains(const std::vector<std::string> &names, Logger &logger) const {
  for (const std::string &name : names) try {
      if (name.starts_with(removed_prefix)) remove_removed(name);
      else if (is_abandoned_lock(root_, name)) remove_beneath(root_.fd.get(), name, root() / name);
    } catch (const Error &error) {
      // Another user's are his to remove.
      if (error.code != Code::access) logger.warning(error.what());
    }
}

// Of ids that have nothing else. Whoever seals has a lock, which may be newer than the first look.
void Staging::remove_seals(const std::vector<std::string> &ids, Logger &logger) const {
  if (ids.empty()) return;
  const std::optional<uid_t> self = user();
  const Fd again(openat(root_.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) OsFailure{errno}.raise("opening '" + root().string() + "'");
  const std::vector<Name> names = names_in(again, "'" + root().string() + "'");
  for (const std::string &id : ids) try {
      const std::string seal = id + seal_ending;
      const bool is_held = std::any_of(names.begin(), names.end(), [&](const Name &name) {
        return name.text == id || (name.text.starts_with(id) && name.text.ends_with(lock_ending));
      });
      if (self && !is_held && is_own(id, seal, *self))
        remove_beneath(root_.fd.get(), seal, root() / seal);
    } catch (const Error &error) {
      logger.warning(error.what());
    }
}

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

// The lock tells, and where there is none the tree.
bool Staging::is_own(const std::string &id, const std::string &lock, uid_t user) const {
  struct stat about {};
  const int root = root_.fd.get();
  if (fstatat(root, lock.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0)
    return S_ISREG(about.st_mode) && about.st_uid == user;
  return fstatat(root, id.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(about.st_mode) &&
         about.st_uid == user;
}

// Nothing where the owner lives, or where only another master could tell.
std::optional<Staging::Orphan> Staging::take_over(const std::string &id,
                                                  const std::set<std::string> &locks,
                                                  uid_t user) const {
  const std::string own = lock_name(id);
  const std::string lock = locks.empty() || locks.contains(own) ? own : *locks.begin();
  const bool is_anothers = lock != own && lock.find(master_mark) != lock.npos;
  struct stat about {};
  const bool is_staged = fstatat(root_.fd.get(), id.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_own(id, lock, user) || (is_anothers && !is_staged)) return std::nullopt;
  if (const std::optional<Seal> seal = read_seal(id, user); seal && !seal->is_old)
    return std::nullopt;
  std::optional<OwnerLock> taken = OwnerLock::take_over(root() / lock);
  if (!taken) return std::nullopt;
  const bool is_alone = locks.size() <= 1;
  if (!is_anothers) return Orphan{id, std::move(*taken), is_alone && discard_staged(id)};
  // The tree last: whoever finds it without a lock goes on, and nobody a lock without a tree.
  if (is_alone) unlinkat(root_.fd.get(), (id + seal_ending).c_str(), 0);
  unlinkat(root_.fd.get(), lock.c_str(), 0);
  if (is_alone) discard_staged(id);
  return std::nullopt;
}

std::vector<Staging::Orphan> Staging::sweep(Logger &logger) const {
  std::map<std::string, std::set<std::string>> locks_of;  // by id
  std::vector<std::string> others, sealed;
  for (const auto &[name, type] : names_in(root_.fd, "'" + root().string() + "'")) {
    if (name.starts_with('.')) others.push_back(name);
    else if (name.ends_with(seal_ending))
      sealed.push_back(name.substr(0, name.size() - std::string_view(seal_ending).size()));
    else if (!name.ends_with(lock_ending)) locks_of[name];
    else locks_of[name.substr(0, std::min(name.find(master_mark), name.rfind('.')))].insert(name);
  }
  std::erase_if(sealed, [&](const std::string &id) { return locks_of.contains(id); });
  std::vector<Orphan> orphans;
  const std::optional<uid_t> self = locks_of.empty() ? std::nullopt : user();
  if (!self) locks_of.clear();
  for (const auto &[id, locks] : locks_of) {
    try {
      std::optional<Orphan> orphan = take_over(id, locks, *self);
      if (!orphan) continue;
      if (orphan->was_staged) logger.info("removed the unfinished checkpoint '" + id + "'");
      orphans.push_back(std::move(*orphan));
    } catch (const Error &error) {
      logger.warning("cleaning up after checkpoint '" + id + "': " + error.what());
    }
  }
  remove_seals(sealed, logger);
  remove_remains(others, logger);
  return orphans;
}

}  // namespace det::storage

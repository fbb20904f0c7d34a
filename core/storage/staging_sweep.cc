#include "core/storage/staging_sweep.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/uuid.h"
#include "core/storage/tree.h"

namespace det::storage {

namespace {

constexpr time_t longest_absence = time_t{7} * 24 * 3600;

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
void StagingSweep::remove_remains(const std::vector<std::string> &names) const {
  for (const std::string &name : names) try {
      if (name.starts_with(Staging::removed_prefix)) staging_.finish_removal(name);
      else if (is_abandoned_lock(root(), name))
        remove_beneath(root().fd.get(), name, root().name / name);
    } catch (const Error &error) {
      // Another user's are his to remove.
      if (error.code != Code::access) logger_.warning(error.what());
    }
}

// Of ids that have nothing else. Whoever seals has a lock, which may be newer than the first look.
void StagingSweep::remove_seals(const std::vector<std::string> &ids) const {
  if (ids.empty()) return;
  const std::optional<uid_t> self = user();
  const Fd again(openat(root().fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) OsFailure{errno}.raise("opening '" + root().name.string() + "'");
  const std::vector<Name> names = names_in(again, "'" + root().name.string() + "'");
  for (const std::string &id : ids) try {
      const std::string seal = id + Staging::seal_ending;
      const bool is_held = std::any_of(names.begin(), names.end(), [&](const Name &name) {
        return name.text == id ||
               (name.text.starts_with(id) && name.text.ends_with(Staging::lock_ending));
      });
      if (self && !is_held && is_own(id, seal, *self))
        remove_beneath(root().fd.get(), seal, root().name / seal);
    } catch (const Error &error) {
      logger_.warning(error.what());
    }
}

// Whom the file system takes this process for: over a network not always geteuid(). Nothing where
// this process may not write, and so has begun nothing.
std::optional<uid_t> StagingSweep::user() const {
  const std::string name = ".user-" + make_uuid();
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const Fd probe(openat(root().fd.get(), name.c_str(), flags, 0600));
  if (!probe) return std::nullopt;
  unlinkat(root().fd.get(), name.c_str(), 0);
  struct stat about {};
  return fstat(probe.get(), &about) == 0 ? std::optional(about.st_uid) : std::nullopt;
}

// The lock tells, and where there is none the tree.
bool StagingSweep::is_own(const std::string &id, const std::string &lock, uid_t user) const {
  struct stat about {};
  const int at = root().fd.get();
  if (fstatat(at, lock.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0)
    return S_ISREG(about.st_mode) && about.st_uid == user;
  return fstatat(at, id.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(about.st_mode) &&
         about.st_uid == user;
}

// Nothing where the owner lives, or where only another master could tell.
std::optional<Orphan> StagingSweep::take_over(const std::string &id,
                                              const std::set<std::string> &locks,
                                              uid_t user) const {
  const std::string own = staging_.lock_name(id);
  const std::string lock = locks.empty() || locks.contains(own) ? own : *locks.begin();
  const bool is_anothers = lock != own && lock.find(Staging::master_mark) != lock.npos;
  struct stat about {};
  const bool is_staged = fstatat(root().fd.get(), id.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_own(id, lock, user) || (is_anothers && !is_staged)) return std::nullopt;
  if (const std::optional<Seal> seal = read_seal(id, user); seal && !seal->is_old)
    return std::nullopt;
  std::optional<OwnerLock> taken = OwnerLock::take_over(root().name / lock);
  if (!taken) return std::nullopt;
  const bool is_alone = locks.size() <= 1;
  if (!is_anothers) return Orphan{id, std::move(*taken), is_alone && staging_.discard_staged(id)};
  // The tree last: whoever finds it without a lock goes on, and nobody a lock without a tree.
  if (is_alone) unlinkat(root().fd.get(), (id + Staging::seal_ending).c_str(), 0);
  unlinkat(root().fd.get(), lock.c_str(), 0);
  if (is_alone) staging_.discard_staged(id);
  return std::nullopt;
}

std::vector<Orphan> StagingSweep::run() const {
  std::map<std::string, std::set<std::string>> locks_of;  // by id
  std::vector<std::string> others, sealed;
  for (const auto &[name, type] : names_in(root().fd, "'" + root().name.string() + "'")) {
    if (name.starts_with('.')) others.push_back(name);
    else if (name.ends_with(Staging::seal_ending))
      sealed.push_back(name.substr(0, name.size() - std::string_view(Staging::seal_ending).size()));
    else if (!name.ends_with(Staging::lock_ending)) locks_of[name];
    else
      locks_of[name.substr(0, std::min(name.find(Staging::master_mark), name.rfind('.')))].insert(
          name);
  }
  std::erase_if(sealed, [&](const std::string &id) { return locks_of.contains(id); });
  std::vector<Orphan> orphans;
  const std::optional<uid_t> self = locks_of.empty() ? std::nullopt : user();
  if (!self) locks_of.clear();
  for (const auto &[id, locks] : locks_of) {
    try {
      std::optional<Orphan> orphan = take_over(id, locks, *self);
      if (!orphan) continue;
      if (orphan->was_staged) logger_.info("removed the unfinished checkpoint '" + id + "'");
      orphans.push_back(std::move(*orphan));
    } catch (const Error &error) {
      logger_.warning("cleaning up after checkpoint '" + id + "': " + error.what());
    }
  }
  remove_seals(sealed);
  remove_remains(others);
  return orphans;
}

// Another user's would show what this one never finished.
std::optional<StagingSweep::Seal> StagingSweep::read_seal(const std::string &id, uid_t user) const {
  const std::string name = id + Staging::seal_ending;
  const int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
  const Fd file(openat(root().fd.get(), name.c_str(), flags));
  struct stat about {};
  if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != user)
    return std::nullopt;
  try {
    const std::string shown = (root().name / name).string();
    const Json text = parse_json_object(read_all(file.get(), shown), "'" + shown + "'");
    if (text.at("version") != 1) return std::nullopt;
    return Seal{text.at("owner"), text.at("boot_id"),
                about.st_mtim.tv_sec + longest_absence < std::time(nullptr)};
  } catch (const std::exception &) {
    return std::nullopt;  // its writer was killed in the middle
  }
}

std::vector<SealedTree> StagingSweep::take_sealed(const std::string &owner) const {
  std::vector<std::string> ids;
  const std::string_view ending = Staging::seal_ending;
  for (const Name &name : names_in(root().fd, "'" + root().name.string() + "'"))
    if (name.text.ends_with(ending))
      ids.push_back(name.text.substr(0, name.text.size() - ending.size()));
  std::vector<SealedTree> taken;
  if (ids.empty()) return taken;
  const std::optional<uid_t> self = user();
  const std::string boot_id = ProcessIdentity::current().boot_id;
  for (const std::string &id : ids) try {
      const std::optional<Seal> seal = self ? read_seal(id, *self) : std::nullopt;
      if (!seal || seal->owner != owner || !is_own(id, staging_.lock_name(id), *self)) continue;
      if (std::optional<OwnerLock> lock = OwnerLock::take_over(staging_.lock_of(id)))
        taken.push_back({id, std::move(*lock), seal->boot_id == boot_id});
    } catch (const Error &error) {
      logger_.warning("finishing checkpoint '" + id + "': " + error.what());
    }
  return taken;
}

}  // namespace det::storage

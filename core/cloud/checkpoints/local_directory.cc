#include "core/cloud/checkpoints/local_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/base/uuid.h"
#include "core/storage/tree.h"

namespace det::cloud {

namespace fs = std::filesystem;

namespace {

constexpr char lock_mark = '@';  // between a directory's name and what tells its locks apart

// Of this user, whatever lay in its place before.
storage::Tree open_own(const storage::Tree &parent, const std::string &name) {
  const fs::path path = parent.name / name;
  if (mkdirat(parent.fd.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
    OsFailure{errno}.raise("making directory '" + path.string() + "'");
  Fd open(openat(parent.fd.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about {};
  if (!open || fstat(open.get(), &about) != 0)
    OsFailure{errno}.raise("opening directory '" + path.string() + "'");
  if (about.st_uid != geteuid() || (about.st_mode & 077) != 0)
    throw Error(Code::access, "opening directory '" + path.string() +
                                  "': other users may change what is in it; remove it, or set "
                                  "temp_dir to a directory that you own");
  return {path, std::move(open)};
}

std::string locks_name() { return ".detcore-" + std::to_string(geteuid()); }

std::string directory_of(const std::string &lock) { return lock.substr(0, lock.find(lock_mark)); }

bool is_locked(const storage::Tree &locks, const std::string &name) {
  for (const std::string &lock : entry_names(locks.name))
    if (!lock.starts_with('.') && directory_of(lock) == name) return true;
  return false;
}

fs::path made(const fs::path &base) {
  make_directories(base);
  return base;
}

}  // namespace

LocalDirectory::LocalDirectory(const fs::path &base, const std::string &name)
    : name_(name),
      base_(made(base)),
      locks_(open_own(base_, locks_name())),
      lock_path_(locks_.name / (name + lock_mark + make_uuid())),
      lock_(OwnerLock::acquire(lock_path_)) {
  try {
    tree_.emplace(open_own(base_, name));
  } catch (...) {
    unlink(lock_path_.c_str());
    throw;
  }
}

LocalDirectory::~LocalDirectory() {
  if (guard_.in_child()) return;
  unlink(lock_path_.c_str());
  try {
    if (!is_locked(locks_, name_))
      storage::remove_beneath(base_.fd.get(), name_, base_.name / name_);
  } catch (const std::exception &) {
    // What could not be removed now cannot be removed at all.
  }
}

void sweep_local_directories(const fs::path &base, Logger &logger) {
  const Fd open(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat about {};
  if (!open || fstatat(open.get(), locks_name().c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return;
  const storage::Tree root(base);
  const storage::Tree locks = open_own(root, locks_name());
  std::map<std::string, std::vector<std::string>> locks_of;  // by directory
  for (const std::string &lock : entry_names(locks.name))
    if (!lock.starts_with('.')) locks_of[directory_of(lock)].push_back(lock);
  for (const auto &[name, names] : locks_of) try {
      std::vector<OwnerLock> taken;
      for (const std::string &lock : names)
        if (auto one = OwnerLock::take_over(locks.name / lock)) taken.push_back(*std::move(one));
      if (taken.size() == names.size())
        storage::remove_beneath(root.fd.get(), name, root.name / name);
      for (size_t i = 0; i < names.size() && taken.size() == names.size(); ++i)
        unlink((locks.name / names[i]).c_str());
    } catch (const Error &error) {
      logger.warning("cleaning up after a checkpoint: ", error.what());
    }
}

fs::path system_temporary_directory() {
  std::vector<fs::path> candidates;
  for (const char *name : {"TMPDIR", "TEMP", "TMP"})
    if (std::string value = environment_variable(name); !value.empty())
      candidates.emplace_back(std::move(value));
  for (const char *path : {"/tmp", "/var/tmp", "/usr/tmp"}) candidates.emplace_back(path);
  for (const fs::path &path : candidates) {
    std::error_code failed;
    if (fs::is_directory(path, failed) && access(path.c_str(), W_OK | X_OK) == 0)
      return fs::absolute(path);
  }
  return fs::current_path();
}

}  // namespace det::cloud

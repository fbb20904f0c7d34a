#include "core/storage/shared_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/error.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

struct stat status_of(int fd, const fs::path &shown) {
  struct stat about {};
  if (fstat(fd, &about) != 0) OsFailure{errno}.raise("looking at '" + shown.string() + "'");
  return about;
}

// Some file systems keep no modes, or none that we may set.
void set_mode(int fd, mode_t mode, const fs::path &shown) {
  if (fchmod(fd, mode) != 0 && errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
    OsFailure{errno}.raise("setting the permissions of '" + shown.string() + "'");
}

// mkdir(2) has applied the umask, which belongs to the whole process and is left alone; what the
// parent shares is added to that.
void share(int fd, int parent, Sharing sharing, const fs::path &shown) {
  const struct stat above = status_of(parent, shown.parent_path());
  struct stat about = status_of(fd, shown);
  const mode_t before = about.st_mode & 07777;
  mode_t mode = before & ~static_cast<mode_t>(S_IWOTH);
  // A place that is everybody's, such as /tmp, is no group's.
  const bool everybodys = (above.st_mode & S_IWOTH) != 0;
  if ((above.st_mode & S_IWGRP) != 0 && (sharing == Sharing::storage || !everybodys)) {
    // Works for a member of that group; others share nothing with it.
    if (about.st_gid != above.st_gid && fchown(fd, static_cast<uid_t>(-1), above.st_gid) == 0)
      about.st_gid = above.st_gid;
    if (about.st_gid == above.st_gid) mode |= above.st_mode & (S_IRWXG | S_ISGID);
  }
  if (sharing == Sharing::storage) mode |= above.st_mode & S_ISVTX;
  if (sharing == Sharing::storage && everybodys) mode |= (above.st_mode & S_IRWXO) | S_ISVTX;
  if (mode != before) set_mode(fd, mode, shown);
}

}  // namespace

Fd make_directory_at(int parent, const std::string &leaf, Sharing sharing, const fs::path &shown) {
  const bool made = mkdirat(parent, leaf.c_str(), default_directory_mode) == 0;
  if (!made && errno != EEXIST) OsFailure{errno}.raise("making directory '" + shown.string() + "'");
  Fd directory(openat(parent, leaf.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory && (errno == ELOOP || errno == ENOTDIR))
    throw Error(Code::access,
                "opening '" + shown.string() + "': not a directory but a file or a link; remove it",
                errno);
  if (!directory) OsFailure{errno}.raise("opening '" + shown.string() + "'");
  if (made) share(directory.get(), parent, sharing, shown);
  return directory;
}

void make_shared_directories(const fs::path &path) {
  struct stat found {};
  if (path.empty() || (stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode))) return;
  if (path.filename().empty()) return make_shared_directories(path.parent_path());
  make_shared_directories(path.parent_path());
  const fs::path above = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  const Fd parent = open_file(above, O_RDONLY | O_DIRECTORY);
  // Links that lead to the storage are the user's own; a file in its place is not.
  if (stat(path.c_str(), &found) == 0 && !S_ISDIR(found.st_mode))
    OsFailure{ENOTDIR}.raise("making directory '" + path.string() + "'");
  make_directory_at(parent.get(), path.filename().string(), Sharing::group, path);
  // Some file systems cannot sync a directory and say so.
  if (fsync(parent.get()) != 0 && errno != EINVAL)
    OsFailure{errno}.raise("syncing directory '" + above.string() + "'");
}

void tighten_directory(int fd, int parent) {
  struct stat about {
  }, above{};
  if (fstat(fd, &about) != 0 || fstat(parent, &above) != 0 || (about.st_mode & S_IWOTH) == 0)
    return;
  const mode_t before = about.st_mode & 07777;
  const mode_t mode =
      (above.st_mode & S_IWOTH) != 0 ? before | S_ISVTX : before & ~static_cast<mode_t>(S_IWOTH);
  // Another's cannot be changed: then the checks of what is renamed there have to do.
  if (mode != before) [[maybe_unused]]
    const int ignored = fchmod(fd, mode);
}

}  // namespace det::storage

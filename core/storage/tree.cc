#include "core/storage/tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/uuid.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

// Where the kernel cannot confine a path, no link is followed at all.
int open_without_links(int root, const std::string &path, int flags, unsigned mode) {
  Fd directory;
  int at = root;
  size_t begin = 0;
  for (size_t slash; (slash = path.find('/', begin)) != path.npos; begin = slash + 1) {
    const std::string component = path.substr(begin, slash - begin);
    Fd next(openat(at, component.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return -1;
    directory = std::move(next);
    at = directory.get();
  }
  Fd found(
      openat(at, path.c_str() + begin, flags | O_NOFOLLOW | O_CLOEXEC, static_cast<mode_t>(mode)));
  // With O_PATH a link itself is opened; anything else fails with ELOOP by itself.
  struct stat about {};
  if (found && (flags & O_PATH) != 0 && fstat(found.get(), &about) == 0 && S_ISLNK(about.st_mode)) {
    errno = ELOOP;
    return -1;
  }
  return found.release();
}

}  // namespace

Tree::Tree(fs::path path) : name(std::move(path)), fd(open_file(name, O_RDONLY | O_DIRECTORY)) {}

bool is_plain_path(const std::string &path) {
  if (path.empty() || path.find('\0') != path.npos) return false;
  for (size_t begin = 0;;) {
    const size_t slash = std::min(path.find('/', begin), path.size());
    const std::string component = path.substr(begin, slash - begin);
    if (component.empty() || component == "." || component == "..") return false;
    if (slash == path.size()) return true;
    begin = slash + 1;
  }
}

int open_beneath(int root, const std::string &path, int flags, unsigned mode) {
  if (!is_plain_path(path)) {
    errno = EXDEV;
    return -1;
  }
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: something was renamed meanwhile, so that the kernel could not be sure. What is said to
  // lead out is looked at twice, since that is taken for damage.
  for (int attempt = 0; attempt < 16; ++attempt) {
    const long fd = syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno != EAGAIN && (errno != EXDEV || attempt > 0)) break;
  }
  // EPERM: a container's filter that does not know the call.
  if (errno != ENOSYS && errno != EPERM) return -1;
  return open_without_links(root, path, flags, mode);
}

Fd open_parent_beneath(const Tree &root, const std::string &path, std::string *leaf) {
  const size_t slash = path.rfind('/');
  *leaf = slash == path.npos ? path : path.substr(slash + 1);
  const int flags = O_PATH | O_DIRECTORY;
  Fd parent(slash == path.npos ? openat(root.fd.get(), ".", flags | O_CLOEXEC)
                               : open_beneath(root.fd.get(), path.substr(0, slash), flags));
  if (!parent) OsFailure{errno}.raise("opening the directory of " + root.name_of(path));
  return parent;
}

Fd make_file_beneath(const Tree &root, const std::string &path, unsigned mode) {
  const int flags = O_RDWR | O_CREAT | O_EXCL;
  Fd file(open_beneath(root.fd.get(), path, flags, mode));
  if (!file && errno == EEXIST) {
    std::string leaf;
    const Fd parent = open_parent_beneath(root, path, &leaf);
    if (unlinkat(parent.get(), leaf.c_str(), 0) != 0)
      OsFailure{errno}.raise("replacing " + root.name_of(path));
    file = Fd(open_beneath(root.fd.get(), path, flags, mode));
  }
  if (!file) OsFailure{errno}.raise("making " + root.name_of(path));
  return file;
}

void remove_file_beneath(const Tree &root, const std::string &path) noexcept try {
  std::string leaf;
  const Fd parent = open_parent_beneath(root, path, &leaf);
  unlinkat(parent.get(), leaf.c_str(), 0);
} catch (const std::exception &) {
}

void make_directory_beneath(const Tree &root, const std::string &path, unsigned mode) {
  std::string leaf;
  const Fd parent = open_parent_beneath(root, path, &leaf);
  if (mkdirat(parent.get(), leaf.c_str(), mode) == 0) return;
  const int reason = errno;
  if (reason == EEXIST && Fd(open_beneath(root.fd.get(), path, O_PATH | O_DIRECTORY))) return;
  OsFailure{reason == EEXIST ? ENOTDIR : reason}.raise("making directory " + root.name_of(path));
}

void replace_file(const Tree &tree, const std::string &name, std::string_view text) {
  const int at = tree.fd.get();
  const std::string aside = "." + name + "." + make_uuid();
  const Fd file(
      openat(at, aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, default_file_mode));
  if (!file) OsFailure{errno}.raise("making " + tree.name_of(aside));
  try {
    write_all(file.get(), text, (tree.name / aside).string());
    if (fsync(file.get()) != 0) OsFailure{errno}.raise("syncing " + tree.name_of(aside));
    if (renameat(at, aside.c_str(), at, name.c_str()) != 0)
      OsFailure{errno}.raise("renaming to " + tree.name_of(name));
  } catch (...) {
    unlinkat(at, aside.c_str(), 0);
    throw;
  }
  if (fsync(at) != 0 && errno != EINVAL)
    OsFailure{errno}.raise("syncing '" + tree.name.string() + "'");
}

bool rename_new(const Tree &from, const Tree &to, const std::string &name) {
  if (renameat2(from.fd.get(), name.c_str(), to.fd.get(), name.c_str(), RENAME_NOREPLACE) == 0)
    return true;
  // Not every file system knows the flag, nor every kernel the call.
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return false;
  struct stat about {};
  if (fstatat(to.fd.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return false;
  }
  return renameat(from.fd.get(), name.c_str(), to.fd.get(), name.c_str()) == 0;
}

}  // namespace det::storage

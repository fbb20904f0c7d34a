#include "core/storage/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/storage/storage.h"

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

int open_beneath(int root, const std::string &path, int flags, unsigned mode, Links links) {
  if (!is_plain_path(path)) {
    errno = EXDEV;
    return -1;
  }
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  if (links == Links::none) how.resolve |= RESOLVE_NO_SYMLINKS;
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

std::vector<Name> names_in(const Fd &directory, const std::string &described) {
  // fdopendir takes over what it is given, and the caller still needs the directory.
  Fd copy(fcntl(directory.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) OsFailure{errno}.raise("reading directory " + described);
  std::unique_ptr<DIR, int (*)(DIR *)> open(fdopendir(copy.get()), closedir);
  if (!open) OsFailure{errno}.raise("reading directory " + described);
  static_cast<void>(copy.release());
  std::vector<Name> names;
  for (;;) {
    errno = 0;
    const dirent *entry = readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.push_back({entry->d_name, entry->d_type});
  }
  if (errno != 0) OsFailure{errno}.raise("reading directory " + described);
  std::sort(names.begin(), names.end(),
            [](const Name &a, const Name &b) { return a.text < b.text; });
  return names;
}

namespace {

// Walks a tree with one open directory at a time, so that depth costs no file descriptors.
class Scan {
 public:
  Scan(const Tree &root, const ScanOptions &options) : root_(root), options_(options) {
    struct stat about {};
    if (options.never != nullptr && fstat(options.never->fd.get(), &never_) != 0)
      OsFailure{errno}.raise("looking at '" + options.never->name.string() + "'");
    if (fstat(root.fd.get(), &about) != 0)
      OsFailure{errno}.raise("looking at '" + root.name.string() + "'");
    plan({}, about, none);
    while (!pending_.empty()) {
      const size_t next = pending_.back();
      pending_.pop_back();
      enter(next);
    }
  }

  std::vector<TreeEntry> entries;

 private:
  static constexpr size_t none = static_cast<size_t>(-1);

  struct Directory {
    std::string path;  // "" or ending in '/'
    dev_t device;
    ino_t inode;
    size_t parent;
  };

  void plan(const std::string &path, const struct stat &about, size_t parent) {
    if (options_.never != nullptr && about.st_dev == never_.st_dev && about.st_ino == never_.st_ino)
      throw Error(Code::invalid, "copying '" + root_.name.string() +
                                     "': the copy would contain itself, in " + root_.name_of(path) +
                                     "; choose a directory beside it");
    for (size_t above = parent; above != none; above = directories_[above].parent)
      if (directories_[above].device == about.st_dev && directories_[above].inode == about.st_ino)
        throw Error(Code::invalid, "walking " + root_.name_of(path) +
                                       ": the link leads back to its own directory; remove "
                                       "the link");
    directories_.push_back({path, about.st_dev, about.st_ino, parent});
    pending_.push_back(directories_.size() - 1);
  }

  Fd open_directory(const std::string &path) const {
    // Anew, since a duplicate would go on where an earlier reading of it ended.
    if (path.empty()) return Fd(openat(root_.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::string bare = path.substr(0, path.size() - 1);
    return Fd(options_.outside
                  ? open_beneath(root_.fd.get(), bare, O_RDONLY | O_DIRECTORY)
                  : openat(root_.fd.get(), bare.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  void enter(size_t index) {
    const std::string base = directories_[index].path;
    const Fd directory = open_directory(base);
    if (!directory) OsFailure{errno}.raise("opening directory " + root_.name_of(base));
    for (const Name &name : names_in(directory, root_.name_of(base)))
      if (!base.empty() ||
          (name.text != manifest_name && name.text != shares_name && name.text != chunks_directory))
        visit(index, base, directory, name);
  }

  void visit(size_t parent, const std::string &base, const Fd &directory, const Name &name) {
    TreeEntry entry{base + name.text, {}, name.type == DT_LNK};
    if (entry.path.size() >= PATH_MAX) refuse_depth(entry.path);
    if (name.type == DT_REG && !options_.sizes) {
      entry.about.st_mode = S_IFREG;
      entries.push_back(std::move(entry));
      return;
    }
    if (fstatat(directory.get(), name.text.c_str(), &entry.about, AT_SYMLINK_NOFOLLOW) != 0)
      OsFailure{errno}.raise("looking at " + root_.name_of(entry.path));
    entry.link = S_ISLNK(entry.about.st_mode);
    if (entry.link) follow(directory, name.text, &entry);
    const bool enter = S_ISDIR(entry.about.st_mode) && (!entry.link || options_.enter_links);
    if (S_ISDIR(entry.about.st_mode)) entry.path += '/';
    entries.push_back(std::move(entry));
    if (enter) plan(entries.back().path, entries.back().about, parent);
  }

  // Everything in a tree is reached from its root.
  [[noreturn]] static void refuse_depth(const std::string &path) {
    constexpr size_t shown = 32;
    throw Error(Code::invalid, "storing '" + path.substr(0, shown) +
                                   "...': its path has more than " + std::to_string(PATH_MAX - 1) +
                                   " bytes; put it into fewer directories");
  }

  void follow(const Fd &directory, const std::string &name, TreeEntry *entry) const {
    if (options_.outside) {
      const Fd target(open_beneath(root_.fd.get(), entry->path, O_PATH));
      if (target && fstat(target.get(), &entry->about) == 0) return;
      const int reason = errno;
      // Where links cannot be confined, none is followed; one that has no end leads nowhere at all.
      struct stat about {};
      const bool is_endless = fstatat(directory.get(), name.c_str(), &about, 0) != 0 &&
                              errno == ELOOP && reason == ELOOP;
      errno = reason;
      if (errno == EXDEV || (errno == ELOOP && !is_endless))
        throw Error(*options_.outside, "following the link " + root_.name_of(entry->path) +
                                           ": it leads out of the checkpoint; put what it names "
                                           "in its place");
    } else if (fstatat(directory.get(), name.c_str(), &entry->about, 0) == 0) {
      return;
    }
    OsFailure{errno}.raise("following the link " + root_.name_of(entry->path));
  }

  const Tree &root_;
  const ScanOptions &options_;
  struct stat never_ {};
  std::vector<Directory> directories_;
  std::vector<size_t> pending_;
};

}  // namespace

std::vector<TreeEntry> scan_tree(const Tree &root, const ScanOptions &options) {
  return std::move(Scan(root, options).entries);
}

Resources resources_of(const std::vector<TreeEntry> &entries) {
  Resources resources;
  for (const TreeEntry &entry : entries)
    resources[entry.path] =
        S_ISREG(entry.about.st_mode) ? static_cast<uint64_t>(entry.about.st_size) : 0;
  return resources;
}

Resources list_directory(const std::filesystem::path &root) {
  return resources_of(scan_tree(Tree(root), {}));
}

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

namespace {

Fd open_to_empty(int parent, const char *leaf) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd directory(openat(parent, leaf, flags));
  // Directories are stored with the mode they came with, perhaps without permissions for us.
  if (!directory && errno == EACCES && fchmodat(parent, leaf, S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0)
    directory = Fd(openat(parent, leaf, flags));
  struct stat about {};
  if (directory && fstat(directory.get(), &about) == 0 && (about.st_mode & S_IRWXU) != S_IRWXU)
      [[maybe_unused]]
    const int ignored = fchmod(directory.get(), (about.st_mode & 0777) | S_IRWXU);
  return directory;
}

// Deletes a tree through open directories, so that a link put in the way leads nowhere else.
class Removal {
 public:
  // 0, or the errno of what is the matter. Goes on behind what cannot be removed.
  int run(int parent, const char *leaf) {
    int failure = 0;
    do {
      is_moved_ = false;
      failure = remove(parent, leaf, -1, 0);
    } while (is_moved_ && (failure == ENOTEMPTY || failure == EEXIST));
    return failure;
  }

 private:
  // Each level that is being emptied is open. What lies deeper is moved up first, into `top`.
  static constexpr int deepest = 64;

  int remove(int parent, const char *leaf, int top, int depth) {
    struct stat about {};
    if (fstatat(parent, leaf, &about, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? 0 : errno;
    if (!S_ISDIR(about.st_mode))
      return unlinkat(parent, leaf, 0) == 0 || errno == ENOENT ? 0 : errno;
    Fd directory = open_to_empty(parent, leaf);
    if (!directory) return errno == ENOENT ? 0 : errno;
    if (depth == deepest && renameat(parent, leaf, top, make_uuid().c_str()) == 0) {
      is_moved_ = true;
      return 0;
    }
    const int fd = directory.get();
    std::unique_ptr<DIR, int (*)(DIR *)> names(fdopendir(fd), closedir);
    if (!names) return errno;
    static_cast<void>(directory.release());
    int failure = 0;
    for (;;) {
      errno = 0;
      const dirent *entry = readdir(names.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      const int reason = remove(fd, entry->d_name, depth == 0 ? fd : top, depth + 1);
      if (reason != 0) failure = reason;
    }
    if (errno != 0) failure = errno;
    if (failure != 0) return failure;
    return unlinkat(parent, leaf, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno;
  }

  bool is_moved_ = false;
};

}  // namespace

void remove_beneath(int parent, const std::string &leaf, const std::filesystem::path &shown) {
  constexpr int attempts = 6;
  for (int attempt = 0;; ++attempt) {
    const int failure = Removal().run(parent, leaf.c_str());
    if (failure == 0) return;
    const bool passes = failure == ENOTEMPTY || failure == EEXIST || failure == EBUSY;
    if (!passes || attempt + 1 == attempts)
      OsFailure{failure}.raise("removing '" + shown.string() + "'");
    std::this_thread::sleep_for(std::chrono::milliseconds(10 << attempt));
  }
}

void remove_tree(const std::filesystem::path &path) {
  remove_beneath(AT_FDCWD, path.string(), path);
}

}  // namespace det::storage

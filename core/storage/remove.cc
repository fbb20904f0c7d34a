// Deletes trees through open directories, so that a link put in the way leads nowhere else.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/storage/shared_directory.h"

namespace det::storage {

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

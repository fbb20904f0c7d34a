#include "core/tensorboard/beneath.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/storage/shared_directory.h"

namespace det::tensorboard {

namespace fs = std::filesystem;

namespace {

constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

void check_beneath(const fs::path &path, const std::string &what) {
  const bool escapes =
      path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
  if (escapes || !path.has_filename() || path.filename() == ".")
    throw Error(Code::invalid, what + " '" + path.string() +
                                   "': give the name of a file, relative and without \"..\"");
}

Fd make_directories_beneath(const Fd &root, const fs::path &path, const fs::path &name) {
  Fd directory(openat(root.get(), ".", directory_flags));
  if (!directory) OsFailure{errno}.raise("opening '" + name.string() + "'");
  fs::path reached = name;
  for (const fs::path &part : path) {
    if (part.empty() || part == ".") continue;
    reached /= part;
    directory = storage::make_directory_at(directory.get(), part.string(),
                                           storage::Sharing::storage, reached);
  }
  return directory;
}

void copy_beneath(const Fd &source, const Fd &root, const fs::path &path, const fs::path &name) {
  const Fd directory = make_directories_beneath(root, path.parent_path(), name);
  const std::string shown = (name / path).string();
  const std::string aside = "." + make_uuid();
  const Fd copy(
      openat(directory.get(), aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!copy) OsFailure{errno}.raise("making '" + shown + "'");
  try {
    ssize_t sent = 0;
    while ((sent = sendfile(copy.get(), source.get(), nullptr, 1U << 30U)) != 0)
      if (sent < 0 && errno != EINTR) OsFailure{errno}.raise("copying to '" + shown + "'");
    struct stat about {};
    if (fstat(source.get(), &about) != 0 || fchmod(copy.get(), about.st_mode & 0777U) != 0)
      OsFailure{errno}.raise("setting the permissions of '" + shown + "'");
    if (renameat(directory.get(), aside.c_str(), directory.get(), path.filename().c_str()) != 0)
      OsFailure{errno}.raise("renaming to '" + shown + "'");
  } catch (...) {
    unlinkat(directory.get(), aside.c_str(), 0);
    throw;
  }
}

}  // namespace det::tensorboard

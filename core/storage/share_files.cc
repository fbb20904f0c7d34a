#include "core/storage/share_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/storage/shared_directory.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

std::string leaf_of(int rank) { return std::string(shares_name) + "/" + std::to_string(rank); }

}  // namespace

fs::path ShareFiles::promise_of(int rank) const {
  return directory() / (std::to_string(rank) + ".lock");
}

void ShareFiles::promise(int rank) {
  if (mkdirat(tree_.fd.get(), shares_name, default_directory_mode) != 0 && errno != EEXIST)
    OsFailure{errno}.raise("making directory " + tree_.name_of(shares_name));
  promise_ = OwnerLock::acquire(promise_of(rank));
}

void ShareFiles::leave(int rank, const std::string &share) const {
  const std::string leaf = leaf_of(rank), aside = leaf + ".new";
  const int root = tree_.fd.get();
  const Fd file(openat(root, aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) OsFailure{errno}.raise("making " + tree_.name_of(aside));
  write_all(file.get(), share, (tree_.name / aside).string());
  if (renameat(root, aside.c_str(), root, leaf.c_str()) != 0)
    OsFailure{errno}.raise("renaming to " + tree_.name_of(leaf));
}

std::optional<std::string> ShareFiles::read(int rank) const {
  const std::string leaf = leaf_of(rank);
  const Fd file(openat(tree_.fd.get(), leaf.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) OsFailure{errno}.raise("opening " + tree_.name_of(leaf));
  return read_all(file.get(), (tree_.name / leaf).string());
}

std::optional<std::string> ShareFiles::take(int rank) const {
  std::optional<std::string> share = read(rank);
  if (share || owner_liveness(promise_of(rank)) != Liveness::dead) return share;
  share = read(rank);  // it may have left it and ended in between
  if (!share)
    throw Error(Code::unavailable, "saving in '" + tree_.name.string() + "': rank " +
                                       std::to_string(rank) +
                                       " ended before it had finished its part");
  return share;
}

void ShareFiles::remove() const {
  struct stat about {};
  if (fstatat(tree_.fd.get(), shares_name, &about, AT_SYMLINK_NOFOLLOW) == 0)
    remove_beneath(tree_.fd.get(), shares_name, directory());
}

}  // namespace det::storage

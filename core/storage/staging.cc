#include "core/storage/staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/uuid.h"
#include "core/storage/chunks/directory_chunks.h"
#include "core/storage/tree.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

constexpr const char *staging_name = ".partial";
constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

bool is_absent(int os_errno) { return os_errno == ENOENT || os_errno == ENOTDIR; }

void sync(const Tree &directory) {
  // Some file systems cannot sync a directory and say so; then there is nothing more to do.
  if (fsync(directory.fd.get()) != 0 && errno != EINVAL)
    OsFailure{errno}.raise("syncing directory '" + directory.name.string() + "'");
}

// Whether `name` in `directory` is the very thing that is open as `tree`.
bool names(const Tree &directory, const std::string &name, const Tree &tree) {
  struct stat named {
  }, open{};
  return fstatat(directory.fd.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         fstat(tree.fd.get(), &open) == 0 && named.st_dev == open.st_dev &&
         named.st_ino == open.st_ino;
}

[[noreturn]] void throw_replaced(const fs::path &path) {
  throw Error(Code::conflict, "publishing checkpoint '" + path.string() +
                                  "': somebody has moved its directory or put another in its "
                                  "place; see who may write to the storage");
}

}  // namespace

// A digest, since a cluster's id may be any text.
Staging::Staging(Tree base, Tree root, const std::string &cluster_id)
    : base_(std::move(base)), root_(std::move(root)), lock_suffix_(lock_ending) {
  if (cluster_id.empty()) return;
  Checksum sum;
  sum.add(cluster_id.data(), cluster_id.size());
  std::array<char, 17> digest{};
  std::snprintf(digest.data(), digest.size(), "%016llx",
                static_cast<unsigned long long>(sum.value()));
  lock_suffix_ = master_mark + std::string(digest.data()) + lock_ending;
}

Staging Staging::open(const fs::path &base, const std::string &cluster_id) {
  make_shared_directories(base);
  Tree outer(base);
  const fs::path root = base / staging_name;
  Tree inner(root, make_directory_at(outer.fd.get(), staging_name, Sharing::storage, root));
  tighten_directory(inner.fd.get(), outer.fd.get());
  return {std::move(outer), std::move(inner), cluster_id};
}

std::optional<Staging> Staging::find(const fs::path &base, const std::string &cluster_id) {
  Fd outer(::open(base.c_str(), directory_flags));
  if (!outer && is_absent(errno)) return std::nullopt;
  if (!outer) OsFailure{errno}.raise("opening '" + base.string() + "'");
  Fd inner(openat(outer.get(), staging_name, directory_flags | O_NOFOLLOW));
  if (!inner && is_absent(errno)) return std::nullopt;
  if (!inner) OsFailure{errno}.raise("opening '" + (base / staging_name).string() + "'");
  return Staging(Tree(base, std::move(outer)), Tree(base / staging_name, std::move(inner)),
                 cluster_id);
}

Tree Staging::claim(const std::string &id, std::optional<OwnerLock> &lock) const {
  const int root = root_.fd.get();
  struct stat about {};
  if (fstatat(root, lock_name(id).c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 ||
      fstatat(root, id.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0)
    throw Error(Code::conflict, "starting checkpoint '" + id + "' in '" + this->root().string() +
                                    "': it is being written already; use a new id");
  try {
    lock = OwnerLock::acquire(lock_of(id));
    const fs::path path = this->root() / id;
    if (mkdirat(root, id.c_str(), default_directory_mode) != 0)
      OsFailure{errno}.raise("making directory '" + path.string() + "'");
    Fd tree(openat(root, id.c_str(), directory_flags | O_NOFOLLOW));
    if (!tree || fstat(tree.get(), &about) != 0)
      OsFailure{errno}.raise("opening '" + path.string() + "'");
    // Another's directory would stay another's to write to, with our checkpoint in it.
    if (about.st_uid != lock->user())
      throw Error(Code::conflict, "starting checkpoint '" + path.string() +
                                      "': another user has put a directory in its place; "
                                      "see who may write to the storage");
    return {path, std::move(tree)};
  } catch (const Error &error) {
    if (error.code != Code::busy) release(id);
    throw;
  }
}

Tree Staging::join(const std::string &id) const {
  const fs::path path = root() / id;
  Fd tree(openat(root_.fd.get(), id.c_str(), directory_flags | O_NOFOLLOW));
  if (!tree && errno == ENOENT)
    throw Error(Code::not_found, "joining the checkpoint in '" + path.string() +
                                     "': it is missing; give all ranks the same storage "
                                     "directory, on a file system that all machines share");
  if (!tree) OsFailure{errno}.raise("opening '" + path.string() + "'");
  return {path, std::move(tree)};
}

void Staging::publish(const Tree &tree, const std::string &id) const {
  const fs::path target = base_.name / id;
  if (!names(root_, id, tree)) throw_replaced(tree.name);
  if (!rename_new(root_, base_, id)) {
    const int reason = errno;
    if (reason == EEXIST || reason == ENOTEMPTY)
      throw Error(Code::conflict,
                  "publishing checkpoint '" + target.string() + "': the id is taken; use a new id");
    OsFailure{reason}.raise("publishing checkpoint '" + target.string() + "'");
  }
  if (names(base_, id, tree)) return;
  try {
    discard_visible(id);
  } catch (const Error &) {
    // Another's directory, which has left the sight of readers at least, or could not be moved.
  }
  throw_replaced(target);
}

void Staging::seal(const std::string &id, const std::string &owner) const {
  const std::string name = id + seal_ending;
  const Fd file(
      openat(root_.fd.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) OsFailure{errno}.raise("making '" + (root() / name).string() + "'");
  const Json text{
      {"version", 1}, {"owner", owner}, {"boot_id", ProcessIdentity::current().boot_id}};
  write_all(file.get(), to_wire(text), (root() / name).string());
}

void Staging::release(const std::string &id) const {
  const auto remove = [this](const std::string &name) {
    if (unlinkat(root_.fd.get(), name.c_str(), 0) != 0 && !is_absent(errno))
      OsFailure{errno}.raise("removing '" + (root() / name).string() + "'");
  };
  remove(id + seal_ending);  // first: the lock tells that there is something to clean up
  remove(lock_name(id));
  // That of an earlier release, which named no master.
  if (const std::string former = id + lock_ending; former != lock_name(id)) remove(former);
}

void Staging::sync_base() const { sync(base_); }
void Staging::sync_locks() const { sync(root_); }

bool Staging::discard(const Tree &from, const std::string &id) const {
  const Tree tree{from.name / id, Fd(openat(from.fd.get(), id.c_str(),
                                            O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))};
  const std::optional<uid_t> owner = tree.fd ? chunk_owner_of(tree) : std::nullopt;
  note_garbage_of(base_, owner);
  const std::string removed = removed_prefix + make_uuid();
  if (renameat(from.fd.get(), id.c_str(), root_.fd.get(), removed.c_str()) != 0) {
    if (is_absent(errno)) return false;
    OsFailure{errno}.raise("removing '" + (from.name / id).string() + "'");
  }
  finish_removal(removed);
  return true;
}

// Its chunks are noted again: a sweep may have been since, and found them named.
void Staging::finish_removal(const std::string &name) const {
  const Tree tree{root() / name, Fd(openat(root_.fd.get(), name.c_str(),
                                           O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))};
  if (tree.fd) note_garbage_of(base_, chunk_owner_of(tree));
  remove_beneath(root_.fd.get(), name, root() / name);
}

}  // namespace det::storage

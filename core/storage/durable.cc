#include "core/storage/durable.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "core/storage/pool.h"

namespace det::storage {

namespace {

// From here on, one sync of the whole file system beats one of each file (docs/checkpoints.md).
constexpr size_t many_entries = 24;

bool kernel_is_at_least(int major, int minor) {
  utsname system{};
  int has_major = 0, has_minor = 0;
  if (uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &has_major, &has_minor) != 2)
    return false;
  return std::pair(has_major, has_minor) >= std::pair(major, minor);
}

// Local file systems whose syncfs(2) is known to wait for everything and to report failures;
// elsewhere, in particular over a network or FUSE, each file is synced by itself.
bool has_trusted_syncfs(const Tree &root) {
  static const bool reports_failures = kernel_is_at_least(5, 8);
  if (!reports_failures) return false;
  struct statfs about {};
  if (fstatfs(root.fd.get(), &about) != 0) return false;
  switch (static_cast<uint32_t>(about.f_type)) {
    case 0xEF53:      // ext4
    case 0x58465342:  // XFS
    case 0x9123683E:  // Btrfs
    case 0xF2F52010:  // F2FS
      return true;
    default:
      return false;
  }
}

void sync_entry(const Tree &root, const std::string &path, int flags) {
  const Fd file(open_beneath(root.fd.get(), path, flags));
  if (!file) OsFailure{errno}.raise("opening " + root.name_of(path) + " to sync it");
  // Some file systems cannot sync a directory and say so.
  if (fsync(file.get()) != 0 && !(errno == EINVAL && (flags & O_DIRECTORY) != 0))
    OsFailure{errno}.raise("syncing " + root.name_of(path));
}

// All at once where that is better; then nothing is left to sync.
bool sync_at_once(const Tree &root, const std::vector<TreeEntry> &entries) {
  if (entries.size() < many_entries || !has_trusted_syncfs(root)) return false;
  if (syncfs(root.fd.get()) == 0) return true;
  OsFailure{errno}.raise("syncing the file system of '" + root.name.string() + "'");
}

void sync_one_by_one(const Tree &root, const std::vector<TreeEntry> &entries) {
  Pool pool;
  Buffer unused;
  for (const TreeEntry &entry : entries) {
    if (entry.link) continue;  // what it names is an entry too, and the link lies in its directory
    pool.submit(
        [&root, &entry](Buffer &) {
          if (entry.is_directory())
            sync_entry(root, entry.path.substr(0, entry.path.size() - 1), O_RDONLY | O_DIRECTORY);
          else sync_entry(root, entry.path, O_RDONLY | O_NONBLOCK);
        },
        unused);
  }
  pool.wait(unused);
}

}  // namespace

void sync_entries(const Tree &root, const std::vector<TreeEntry> &entries) {
  if (!sync_at_once(root, entries)) sync_one_by_one(root, entries);
}

void sync_tree(const Tree &root, const std::vector<TreeEntry> &entries) {
  if (sync_at_once(root, entries)) return;
  sync_one_by_one(root, entries);
  sync_entry(root, manifest_name, O_RDONLY);
  if (fsync(root.fd.get()) != 0 && errno != EINVAL)
    OsFailure{errno}.raise("syncing '" + root.name.string() + "'");
}

}  // namespace det::storage

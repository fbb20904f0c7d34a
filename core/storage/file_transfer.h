// Copying and hashing files, and bringing them to the disk: several at once, large ones in pieces.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/storage/tree.h"

namespace det::storage {

class Progress;    // core/storage/progress.h
class SpareFiles;  // core/storage/spare_files.h

// Tells whether a file is still what it was when it was hashed.
struct FileStamp {
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  uint64_t inode = 0;

  static FileStamp of(const struct stat &about);
  bool operator==(const FileStamp &) const = default;
};

// What a file system keeps of a file beside its bytes.
struct FileAttributes {
  unsigned mode = 0;
  int64_t mtime_ns = 0;
  bool is_sparse = false;  // it has fewer blocks than bytes

  static FileAttributes of(const struct stat &about);
  struct stat as_stat() const;  // the mode and the times
};

struct HashedFile {
  std::string path;
  FileStamp stamp;  // of the copy, or of the file itself where it was only hashed
  uint64_t checksum = 0;
  std::optional<FileAttributes> attributes{};  // where the storage has to keep them
};

using HashedFiles = std::map<std::string, HashedFile>;  // by relative path

struct TransferOptions {
  bool confined = false;         // the source is a stored checkpoint: no link may lead out of it
  bool checksums = true;         // without, the checksums are 0
  bool start_writing = false;    // to disk, early: the caller will sync
  SpareFiles *spares = nullptr;  // to write over, where checksums are not asked for
  Progress *progress = nullptr;
};

// Adds every directory that a resource is or lies in, without a '/' at the end. In their order,
// parents come first.
void add_directories_of(const std::string &path, std::set<std::string> &directories);

// Throws Code::invalid, naming it, for an entry that is neither a file nor a directory.
void check_copyable(const Tree &source, const std::vector<TreeEntry> &entries);

// Throws Code::invalid for a directory that no storage takes, whatever of it is asked for: one with
// a file of a reserved name, and a deduplicated checkpoint as its storage keeps it. The manifest of
// a checkpoint that was restored is left out of the copy instead.
void check_source(const Tree &source);

// What a checkpoint takes of such a directory: all of it, links entered, or the entries with these
// paths, each of which must be there. `sizes` and `never` as in ScanOptions.
std::vector<TreeEntry> scan_source(const Tree &source,
                                   const std::optional<std::vector<std::string>> &paths, bool sizes,
                                   const Tree *never = nullptr);

// What a program has written into a checkpoint, links entered where `enter_links`. Throws
// Code::invalid for what none may have: a link that leads out of it or back, a pipe, a reserved
// name.
std::vector<TreeEntry> scan_written(const Tree &tree, bool enter_links);

// Whether it has fewer blocks than bytes.
bool is_sparse(const struct stat &about);

// Copies the entries of `source` into `target`, with mode and modification time, in the directories
// they need. Throws Code::conflict when a file changes meanwhile. What failed half way is removed.
// `besides` brings what else comes into the directories, before these get their modes.
std::vector<HashedFile> copy_tree(const Tree &source, const std::vector<TreeEntry> &entries,
                                  const Tree &target, const TransferOptions &options,
                                  const std::function<void()> &besides = nullptr);

// Reads the files at `paths` below `root`; unless `confined`, links may lead out of it.
std::vector<HashedFile> hash_files(const Tree &root, const std::vector<std::string> &paths,
                                   Progress *progress, bool confined = true);

// `confined`: the tree is a stored checkpoint, and no link may lead out of it.
Fd open_to_read(const Tree &tree, const std::string &path, bool confined);

[[noreturn]] void throw_changed(const std::string &described);

// Writes all of `bytes` at an offset, from any thread; `described` is for the error.
void write_all_at(int fd, std::string_view bytes, uint64_t offset, const std::string &described);

// The same into a new file, which gets no blocks for what are zeros in `bytes`.
void write_sparsely_at(int fd, std::string_view bytes, uint64_t offset,
                       const std::string &described);

// Gives a new file its size, so that its end may be a hole.
void resize(int fd, uint64_t size, const std::string &described);

// Gives `fd` the times and the permissions of `like`; what a file system does not keep is left out.
// Another's setuid, setgid and sticky bits would be ours here: what stands there of these stays.
// Returns what is there now, the mode aside.
struct stat set_attributes(int fd, const struct stat &like, const std::string &described);

// The mode alone.
void set_mode(int fd, unsigned mode, const std::string &described);

// What is finished is brought to the disk before it is shown to anybody.

// After this, a power cut takes nothing of these entries below `root`, which must have been opened
// before the writing began, so that errors of writing in the background are seen.
void sync_entries(const Tree &root, const std::vector<TreeEntry> &entries);

// The same for the entries, the manifest and `root` itself.
void sync_tree(const Tree &root, std::vector<TreeEntry> entries);

}  // namespace det::storage

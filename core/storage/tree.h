// Directory trees seen through an open root, so that nothing stored can lead out of them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"

namespace det::storage {

// Written into the root of each checkpoint; no resource, and reserved.
inline constexpr const char *manifest_name = ".detcore-manifest.json";

// In the root of one that is being written; no resource, and reserved.
inline constexpr const char *shares_name = ".detcore-shares";

// There too, of a checkpoint with files in chunks: their lists, and of an unfinished one also the
// chunks that have no name yet.
inline constexpr const char *chunks_directory = ".detcore-chunks";

// What a program says about its checkpoint, kept beside the files.
inline constexpr const char *metadata_name = "metadata.json";

// The open root of a tree, and its name for errors.
struct Tree {
  explicit Tree(std::filesystem::path path);
  Tree(std::filesystem::path path, Fd open) : name(std::move(path)), fd(std::move(open)) {}
  std::string name_of(const std::string &path) const { return "'" + (name / path).string() + "'"; }

  std::filesystem::path name;
  Fd fd;
};

// A relative path of plain components: not empty, no "." or "..", no NUL.
bool is_plain_path(const std::string &path);

enum class Links { within, none };  // that may lie on the way

// open(2) below `root`, whatever links lie on the way: one that leads out fails with EXDEV. On
// kernels without openat2, and with Links::none, every link fails, with ELOOP. Gives back -1 with
// errno as open(2) does.
int open_beneath(int root, const std::string &path, int flags, unsigned mode = 0,
                 Links links = Links::within);

// The open directory that holds `path` below `root`. `leaf` receives the last component.
Fd open_parent_beneath(const Tree &root, const std::string &path, std::string *leaf);

// Makes a file, in place of what has that name: neither a link nor another name of the old file is
// written through.
Fd make_file_beneath(const Tree &root, const std::string &path, unsigned mode);

// What cannot be removed stays: something else has failed already.
void remove_file_beneath(const Tree &root, const std::string &path) noexcept;

// Makes the directory where it is absent; what it lies in must be there.
void make_directory_beneath(const Tree &root, const std::string &path, unsigned mode);

// Writes a file of the root anew, in place of an old one, durably.
void replace_file(const Tree &root, const std::string &name, std::string_view text);

// rename(2) that replaces nothing: not even the empty directory that it otherwise would. False with
// errno.
bool rename_new(const Tree &from, const Tree &to, const std::string &name);

struct Name {
  std::string text;
  unsigned char type;  // DT_* of readdir(3)
};

// What an open directory holds, in the order of the names. It is read from where it was left.
std::vector<Name> names_in(const Fd &directory, const std::string &described);

struct TreeEntry {
  std::string path;   // relative; a directory ends in '/'
  struct stat about;  // of what a link leads to; with only the type where sizes are not asked for
  bool link = false;

  bool is_directory() const { return path.back() == '/'; }
};

struct ScanOptions {
  bool enter_links = false;  // links to directories are entered; else they are plain entries
  bool sizes = true;
  std::optional<Code> outside{};  // thrown for a link that leads out; without it they are followed
  const Tree *never = nullptr;    // a directory that must not be met (the target of a copy)
};

// Everything below `root` but what has a reserved name, each directory before its contents.
std::vector<TreeEntry> scan_tree(const Tree &root, const ScanOptions &options);

// Their paths and sizes; 0 for what is not a file.
std::map<std::string, uint64_t> resources_of(const std::vector<TreeEntry> &entries);

// Directories in which several users may keep things beside each other, and what may be done there.

// Who may write into a new directory besides those whom the umask lets.
enum class Sharing {
  group,    // the group of the parent, where it may write there
  storage,  // and everybody, where everybody may write there: each what is his own (sticky)
};

// Opens the directory `leaf` of `parent`, made where it is absent; never through a link. `shown` is
// its name for errors.
Fd make_directory_at(int parent, const std::string &leaf, Sharing sharing,
                     const std::filesystem::path &shown);

// mkdir -p for the base directory of a storage. What it makes is durable.
void make_shared_directories(const std::filesystem::path &path);

// Takes from the directory `fd`, made by an earlier release, what its parent does not give: the
// write permission of everybody, or everybody's right to move what is another's.
void tighten_directory(int fd, int parent);

// rm -r of `leaf` in `parent`, following no link. Absent is fine; tries again while a network file
// system keeps names of open files. `shown` is its name for errors.
void remove_beneath(int parent, const std::string &leaf, const std::filesystem::path &shown);

// The same for a path.
void remove_tree(const std::filesystem::path &path);

}  // namespace det::storage

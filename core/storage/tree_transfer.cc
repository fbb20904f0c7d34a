#include "core/storage/tree_transfer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <unordered_set>

#include "core/storage/file_transfer.h"
#include "core/storage/manifest.h"
#include "core/storage/storage.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

// Last, since filling a directory changes its time and may need a mode it will not have.
void copy_attributes(const Tree &source, const Tree &target, const std::string &path,
                     bool confined) {
  const Fd from(confined ? open_beneath(source.fd.get(), path, O_PATH)
                         : openat(source.fd.get(), path.c_str(), O_PATH | O_CLOEXEC));
  struct stat about {};
  if (!from || fstat(from.get(), &about) != 0)
    OsFailure{errno}.raise("looking at " + source.name_of(path));
  const Fd directory(open_beneath(target.fd.get(), path, O_RDONLY | O_DIRECTORY));
  if (!directory) OsFailure{errno}.raise("opening " + target.name_of(path));
  set_attributes(directory.get(), about, target.name_of(path));
}

}  // namespace

void add_directories_of(const std::string &path, std::set<std::string> &directories) {
  for (size_t slash = path.rfind('/'); slash != path.npos && slash > 0;
       slash = path.rfind('/', slash - 1))
    if (!directories.insert(path.substr(0, slash)).second) break;
}

std::vector<TreeEntry> only(std::vector<TreeEntry> entries, const std::vector<std::string> &paths,
                            const Tree &source) {
  std::unordered_set<std::string> wanted(paths.begin(), paths.end());
  std::erase_if(entries, [&](const TreeEntry &entry) { return wanted.erase(entry.path) == 0; });
  if (!wanted.empty())
    throw Error(Code::not_found, "storing " + source.name_of(*wanted.begin()) +
                                     ": it is not in the directory; list the directory again");
  return entries;
}

void check_copyable(const Tree &source, const std::vector<TreeEntry> &entries) {
  for (const TreeEntry &entry : entries)
    if (!entry.is_directory() && !S_ISREG(entry.about.st_mode))
      throw Error(Code::invalid, "storing " + source.name_of(entry.path) +
                                     ": neither a file nor a directory (a pipe, socket or device); "
                                     "take it out of the directory");
}

namespace {

[[noreturn]] void refuse_manifest(const Tree &tree) {
  throw Error(Code::invalid, "storing " + tree.name_of(manifest_name) +
                                 ": this name is reserved; give your file another name");
}

bool has(const Tree &tree, const char *name) {
  struct stat about {};
  return fstatat(tree.fd.get(), name, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

void check_source(const Tree &source) {
  if (has(source, chunks_directory))
    throw Error(Code::invalid,
                "storing '" + source.name.string() +
                    "': it is a deduplicated checkpoint as its storage keeps it, "
                    "without the large files; download the checkpoint, and store that");
  try {
    read_manifest(source);
  } catch (const Error &) {
    refuse_manifest(source);
  }
}

std::vector<TreeEntry> scan_written(const Tree &tree, bool enter_links) {
  const ScanOptions into_links{.enter_links = true, .outside = Code::invalid};
  std::vector<TreeEntry> entries = scan_tree(tree, {.outside = Code::invalid});
  const bool has_links = std::any_of(entries.begin(), entries.end(), [](const TreeEntry &entry) {
    return entry.link && entry.is_directory();
  });
  if (has_links) {
    std::vector<TreeEntry> all = scan_tree(tree, into_links);
    if (enter_links) entries = std::move(all);
  }
  check_copyable(tree, entries);
  if (has(tree, manifest_name)) refuse_manifest(tree);
  return entries;
}

bool is_sparse(const struct stat &about) {
  constexpr off_t block = 4096;  // what is smaller may have none on some file systems
  return about.st_size - about.st_blocks * 512 >= block;
}

FileAttributes FileAttributes::of(const struct stat &about) {
  return {about.st_mode & 0777, FileStamp::of(about).mtime_ns, storage::is_sparse(about)};
}

struct stat FileAttributes::as_stat() const {
  constexpr int64_t second = 1'000'000'000;
  const int64_t rest = (mtime_ns % second + second) % second;  // of times before 1970, too
  struct stat about {};
  about.st_mode = mode;
  about.st_mtim = {(mtime_ns - rest) / second, rest};
  about.st_atim = about.st_mtim;
  return about;
}

std::vector<HashedFile> copy_tree(const Tree &source, const std::vector<TreeEntry> &entries,
                                  const Tree &target, const TransferOptions &options,
                                  const std::function<void()> &besides) {
  check_copyable(source, entries);
  std::vector<std::string> files;
  std::set<std::string> directories;
  for (const TreeEntry &entry : entries) {
    if (!entry.is_directory()) files.push_back(entry.path);
    add_directories_of(entry.path, directories);
  }
  for (const std::string &path : directories) make_directory_beneath(target, path, 0700);
  std::vector<HashedFile> done = FileTransfer(source, &target, options).run(files);
  if (besides) besides();
  for (auto path = directories.rbegin(); path != directories.rend(); ++path)
    copy_attributes(source, target, *path, options.confined);
  return done;
}

std::vector<HashedFile> hash_files(const Tree &root, const std::vector<std::string> &paths,
                                   bool confined) {
  return FileTransfer(root, nullptr, {.confined = confined}).run(paths);
}

std::map<std::string, uint64_t> checksums_of(const fs::path &root,
                                             const std::vector<std::string> &paths) {
  std::map<std::string, uint64_t> checksums;
  for (const HashedFile &file : hash_files(Tree(root), paths, false))
    checksums[file.path] = file.checksum;
  return checksums;
}

}  // namespace det::storage

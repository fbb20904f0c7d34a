// Walks a tree with one open directory at a time, so that depth costs no file descriptors.
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/storage/storage.h"
#include "core/storage/tree.h"

namespace det::storage {

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
                                       ": the link leads back to a directory it lies in; remove "
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

}  // namespace det::storage

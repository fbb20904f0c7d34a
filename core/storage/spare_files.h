// Files of copies in memory that nobody needs any more, to be written over by the next copies: the
// kernel takes longer to find and clear pages for a new file than to fill them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/storage/tree.h"

namespace det::storage {

// One that is open, with its pages mapped into this process.
class SpareFile {
 public:
  // Null where it would not be faster, or cannot be had: on a disk, small, with holes, with another
  // name, out of descriptors.
  static std::unique_ptr<SpareFile> open(const Tree &tree, const std::string &path);
  ~SpareFile();
  SpareFile(const SpareFile &) = delete;
  SpareFile &operator=(const SpareFile &) = delete;

  int fd() const { return file_.get(); }
  ino_t inode() const { return inode_; }
  uint64_t size() const { return size_; }
  bool is_gone() const;  // it has no name any more

  // Null where no page is mapped for all of the range.
  char *range(uint64_t begin, uint64_t end) const {
    return end <= mapped_ ? data_ + begin : nullptr;
  }
  // What it is to hold next; what is beyond is given free.
  void resize(uint64_t size);

 private:
  friend class SpareFiles;
  SpareFile(Fd file, ino_t inode, uint64_t size, char *data);
  bool is_open_elsewhere() const;

  const Fd file_;
  const ino_t inode_;
  const uint64_t length_;  // of the mapping
  char *const data_;
  uint64_t size_, mapped_;
  std::string name_;  // where it is set aside
};

// Any thread.
class SpareFiles {
 public:
  ~SpareFiles();

  // Maps the files of a copy, which takes a while, so that they can be set aside later.
  void prepare(const Tree &copy);
  // Takes the files that were prepared out of a copy, into the directory `aside` under names that a
  // sweep removes. Those that somebody has open, or mapped, stay.
  void set_aside(const Tree &copy, const Tree &aside);
  // Gives free what they are more than that.
  void limit(uint64_t bytes);

  // For a file of that size: puts one of about the same at `path` in the tree, in place of what is
  // there; null where there is none. As many bytes as the file takes beyond it, others lose.
  std::shared_ptr<SpareFile> take(uint64_t size, const Tree &tree, const std::string &path);

 private:
  using Spares = std::multimap<uint64_t, std::shared_ptr<SpareFile>>;
  void give_free(Spares::iterator spare);
  void shrink(uint64_t bytes);
  void forget_what_is_gone();

  std::mutex mutex_;
  std::optional<Tree> aside_;
  Spares spares_;       // by size
  uint64_t small_ = 0;  // bytes of files that are too small, for which the spares have not shrunk
  std::map<ino_t, std::shared_ptr<SpareFile>> in_copies_;
};

}  // namespace det::storage

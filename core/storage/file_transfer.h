// The files of one transfer: each opened, moved block by block, and finished.
#pragma once

#include <string_view>

#include "core/storage/progress.h"
#include "core/storage/tree_transfer.h"

namespace det::storage {

class FileTransfer {
 public:
  // Without a target, files are only hashed.
  FileTransfer(const Tree &source, const Tree *target, const TransferOptions &options)
      : source_(source), target_(target), options_(options) {}

  // Once.
  std::vector<HashedFile> run(const std::vector<std::string> &paths);

 private:
  struct File;

  void expect(const std::vector<std::string> &paths);
  void start(const std::string &path, Buffer &buffer);

  void move_block(File &file, size_t block, Buffer &buffer);
  bool copy_in_kernel(File &file, uint64_t begin, uint64_t end);
  bool write_over(File &file, uint64_t begin, uint64_t end) const;
  void finish(File &file);

  const Tree &source_;
  const Tree *const target_;
  const TransferOptions options_;
  Progress *const progress_ = Progress::current();
  std::atomic<bool> clones_{true};  // until the file system says that it does not
  std::mutex mutex_;
  std::vector<HashedFile> done_;
  Pool pool_;  // last: its threads use what stands above
};

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

}  // namespace det::storage

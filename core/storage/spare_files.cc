#include "core/storage/spare_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <utility>

#include "core/base/uuid.h"
#include "core/storage/staging.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace det::storage {

namespace {

constexpr uint64_t smallest = uint64_t{1} << 20;
constexpr size_t most_files = 128;  // each holds a descriptor

bool is_in_memory(int fd) {
  struct statfs about {};
  return fstatfs(fd, &about) == 0 && about.f_type == TMPFS_MAGIC;
}

}  // namespace

SpareFile::SpareFile(Fd file, ino_t inode, uint64_t size, char *data)
    : file_(std::move(file)),
      inode_(inode),
      length_(size),
      data_(data),
      size_(size),
      mapped_(size) {}

SpareFile::~SpareFile() { munmap(data_, length_); }

std::unique_ptr<SpareFile> SpareFile::open(const Tree &tree, const std::string &path) {
  Fd file(open_beneath(tree.fd.get(), path, O_RDWR | O_NOFOLLOW | O_NONBLOCK));
  struct stat about {};
  if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink != 1)
    return nullptr;
  const auto size = static_cast<uint64_t>(about.st_size);
  // Where there are holes, mapping would fill them.
  if (size < smallest || static_cast<uint64_t>(about.st_blocks) * 512 < size ||
      !is_in_memory(file.get()))
    return nullptr;
  void *data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return nullptr;
  madvise(data, size, MADV_DONTFORK);
  madvise(data, size, MADV_POPULATE_WRITE);  // else each page is found when it is written to
  return std::unique_ptr<SpareFile>(
      new SpareFile(std::move(file), about.st_ino, size, static_cast<char *>(data)));
}

bool SpareFile::is_gone() const {
  struct stat about {};
  return fstat(fd(), &about) != 0 || about.st_nlink == 0;
}

void SpareFile::resize(uint64_t size) {
  if (size < size_ && ftruncate(fd(), static_cast<off_t>(size)) != 0)
    OsFailure{errno}.raise("cutting off a staged file");
  mapped_ = std::min(mapped_, size);
  size_ = size;
}

// Only the kernel can tell, also of other processes and of mappings: it gives a lease for writing
// to nobody else's descriptor. Should somebody open it in this instant, the signal does nothing.
bool SpareFile::is_open_elsewhere() const {
  fcntl(fd(), F_SETSIG, SIGURG);
  if (fcntl(fd(), F_SETLEASE, F_WRLCK) != 0) return true;
  fcntl(fd(), F_SETLEASE, F_UNLCK);
  return false;
}

SpareFiles::~SpareFiles() {
  while (!spares_.empty()) give_free(spares_.begin());
}

void SpareFiles::give_free(Spares::iterator spare) {
  unlinkat(aside_->fd.get(), spare->second->name_.c_str(), 0);
  spares_.erase(spare);
}

void SpareFiles::forget_what_is_gone() {
  std::erase_if(in_copies_, [](const auto &each) { return each.second->is_gone(); });
}

void SpareFiles::prepare(const Tree &copy) {
  for (const TreeEntry &entry : scan_tree(copy, {})) {
    {
      const std::lock_guard guard(mutex_);
      forget_what_is_gone();
      const auto known = in_copies_.find(entry.about.st_ino);
      const auto size = static_cast<uint64_t>(entry.about.st_size);
      if (known != in_copies_.end() && known->second->range(0, size) != nullptr) continue;
      in_copies_.erase(entry.about.st_ino);  // it has grown since it was mapped
      if (entry.is_directory() || in_copies_.size() + spares_.size() >= most_files) continue;
    }
    std::shared_ptr<SpareFile> file = SpareFile::open(copy, entry.path);
    if (!file) continue;
    const std::lock_guard guard(mutex_);
    in_copies_[file->inode()] = file;
  }
}

void SpareFiles::set_aside(const Tree &copy, const Tree &aside) {
  const std::lock_guard guard(mutex_);
  forget_what_is_gone();
  if (in_copies_.empty()) return;
  if (!aside_) aside_.emplace(aside.name);
  for (const TreeEntry &entry : scan_tree(copy, {})) {
    const auto found = in_copies_.find(entry.about.st_ino);
    if (entry.is_directory() || found == in_copies_.end()) continue;
    const std::shared_ptr<SpareFile> file = found->second;
    in_copies_.erase(found);
    std::string leaf;
    const Fd parent = open_parent_beneath(copy, entry.path, &leaf);
    file->name_ = Staging::removed_prefix + make_uuid();
    if (renameat(parent.get(), leaf.c_str(), aside_->fd.get(), file->name_.c_str()) != 0) continue;
    const auto spare = spares_.emplace(file->size(), file);
    if (file->is_open_elsewhere()) give_free(spare);
  }
}

void SpareFiles::limit(uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  uint64_t all = 0;
  for (const auto &[size, file] : spares_) all += size;
  if (all > bytes) shrink(all - bytes);
}

void SpareFiles::shrink(uint64_t bytes) {
  while (bytes > 0 && !spares_.empty()) {
    const auto largest = std::prev(spares_.end());
    const std::shared_ptr<SpareFile> file = largest->second;
    const uint64_t left = file->size() - std::min(bytes, file->size());
    if (left < smallest) {
      bytes -= std::min(bytes, file->size());
      give_free(largest);
      continue;
    }
    spares_.erase(largest);
    file->resize(left);
    spares_.emplace(left, file);
    return;
  }
}

std::shared_ptr<SpareFile> SpareFiles::take(uint64_t size, const Tree &tree,
                                            const std::string &path) {
  const std::lock_guard guard(mutex_);
  if (size < smallest) {
    small_ += size;
    if (small_ >= smallest) shrink(std::exchange(small_, 0));
    return nullptr;
  }
  if (spares_.empty()) return nullptr;
  auto best = spares_.lower_bound(size);
  if (best == spares_.end()) --best;
  const std::shared_ptr<SpareFile> file = best->second;
  spares_.erase(best);
  if (file->size() < size) shrink(size - file->size());
  std::string leaf;
  const Fd parent = open_parent_beneath(tree, path, &leaf);
  if (renameat(aside_->fd.get(), file->name_.c_str(), parent.get(), leaf.c_str()) != 0)
    return nullptr;  // a sweep has removed it
  if (size < file->size()) file->resize(size);
  in_copies_[file->inode()] = file;
  return file;
}

}  // namespace det::storage

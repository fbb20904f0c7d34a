#include "core/tensors/file_writer.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/storage/block_checksum.h"
#include "core/storage/progress.h"
#include "core/tensors/cuda_memory.h"

namespace det::tensors {

namespace {

// Bytes from many places in memory, written side by side with few calls and summed up meanwhile.
class GatheredWrite {
 public:
  GatheredWrite(int fd, uint64_t offset, std::string described, storage::Progress *progress)
      : fd_(fd), offset_(offset), described_(std::move(described)), progress_(progress) {}

  // `data` must stay until the flush.
  void add(const char *data, uint64_t size);
  void flush();

  // Of all that was added.
  uint64_t checksum() const { return sum_.value(); }

 private:
  const int fd_;
  uint64_t offset_;  // of what is pending
  const std::string described_;
  storage::Progress *const progress_;
  Checksum sum_;
  std::vector<iovec> pending_;
  size_t pending_size_ = 0;
};

// As much as stays in the processor's cache from the sum to the write; and pieces a call.
constexpr size_t most_bytes = size_t{256} << 10;
constexpr size_t most_pieces = 256;

void GatheredWrite::add(const char *data, uint64_t size) {
  while (size > 0) {
    const size_t now = std::min<uint64_t>(size, most_bytes - pending_size_);
    sum_.add(data, now);
    pending_.push_back({const_cast<char *>(data), now});
    pending_size_ += now;
    if (pending_size_ == most_bytes || pending_.size() == most_pieces) flush();
    data += now;
    size -= now;
  }
}

void GatheredWrite::flush() {
  for (size_t first = 0; first < pending_.size();) {
    const ssize_t put =
        pwritev(fd_, pending_.data() + first, static_cast<int>(pending_.size() - first),
                static_cast<off_t>(offset_));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) OsFailure{errno}.raise("writing " + described_);
    auto left = static_cast<size_t>(put);
    offset_ += left;
    if (progress_ != nullptr) progress_->add_bytes(left);
    for (; first < pending_.size() && left >= pending_[first].iov_len; ++first)
      left -= pending_[first].iov_len;
    if (left == 0) continue;
    pending_[first].iov_base = static_cast<char *>(pending_[first].iov_base) + left;
    pending_[first].iov_len -= left;
  }
  pending_.clear();
  pending_size_ = 0;
}

// What lies side by side in memory, and where it goes in the file.
struct Span {
  uint64_t begin;
  const char *data;
  uint64_t size;
  CudaDriver::Context context = nullptr;  // where it is memory of a device
};

class FileWriter {
 public:
  FileWriter(const storage::Tree &root, const std::string &path, std::vector<Span> spans,
             uint64_t size, bool start_writing, CudaMemory &cuda, storage::Progress *progress)
      : root_(root),
        path_(path),
        cuda_(cuda),
        spans_(std::move(spans)),
        size_(size),
        start_writing_(start_writing),
        progress_(progress),
        sums_(storage::checksum_blocks(size)) {}
  ~FileWriter() {
    if (file_ && !finished_) remove();
  }

  storage::HashedFile run() {
    open();
    if (progress_ != nullptr) progress_->expect(size_, 1);
    storage::Buffer buffer;
    for (size_t block = 0; block < sums_.size(); ++block)
      pool_.submit([this, block](storage::Buffer &) { write_block(block); }, buffer);
    storage::wait_for(pool_, buffer, progress_);
    return finish();
  }

 private:
  std::string described() const { return root_.name_of(path_); }
  void open();
  void remove() noexcept;
  void write_block(size_t block);
  void add(const Span &span, uint64_t begin, uint64_t end, GatheredWrite &out) const;
  storage::HashedFile finish();

  const storage::Tree &root_;
  const std::string &path_;
  CudaMemory &cuda_;
  const std::vector<Span> spans_;  // in the order of the file, without gaps
  const uint64_t size_;
  const bool start_writing_;
  storage::Progress *const progress_;
  std::vector<uint64_t> sums_;
  Fd file_;
  bool finished_ = false;
  storage::Pool pool_;  // last: its threads use what stands above
};

void FileWriter::open() {
  file_ = Fd(
      storage::open_beneath(root_.fd.get(), path_, O_RDWR | O_CREAT | O_EXCL, default_file_mode));
  if (!file_ && errno == EEXIST)
    throw Error(Code::conflict,
                "writing " + described() + ": it is there already; give the tensors another name");
  if (!file_) OsFailure{errno}.raise("making " + described());
  // All of it at once: a disk without room says so before anything is written, where it can.
  if (fallocate(file_.get(), 0, 0, static_cast<off_t>(size_)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    OsFailure{errno}.raise("making room for " + described());
}

void FileWriter::remove() noexcept {
  try {
    std::string leaf;
    const Fd parent = storage::open_parent_beneath(root_, path_, &leaf);
    unlinkat(parent.get(), leaf.c_str(), 0);
  } catch (const std::exception &) {
    // Already failing; the half file stays in a checkpoint that will not be committed.
  }
}

void FileWriter::add(const Span &span, uint64_t begin, uint64_t end, GatheredWrite &out) const {
  const char *data = span.data + (begin - span.begin);
  if (span.context == nullptr) return out.add(data, end - begin);
  out.flush();
  cuda_.staging(span.context)->fetch(data, end - begin, [&](const char *copied, size_t size) {
    out.add(copied, size);
    out.flush();  // the next copy takes its place
  });
}

void FileWriter::write_block(size_t block) {
  const uint64_t begin = block * storage::checksum_block;
  const uint64_t end = std::min(begin + storage::checksum_block, size_);
  GatheredWrite out(file_.get(), begin, described(), progress_);
  auto span = std::ranges::upper_bound(spans_, begin, {}, &Span::begin) - 1;
  for (uint64_t at = begin; at < end; ++span) {
    const uint64_t stop = std::min(end, span->begin + span->size);
    if (at < stop) add(*span, at, stop, out);
    at = std::max(at, stop);
  }
  out.flush();
  sums_[block] = out.checksum();
  if (start_writing_ && sums_.size() > 1)
    sync_file_range(file_.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                    SYNC_FILE_RANGE_WRITE);
}

storage::HashedFile FileWriter::finish() {
  struct stat about {};
  if (fstat(file_.get(), &about) != 0) OsFailure{errno}.raise("looking at " + described());
  if (progress_ != nullptr) progress_->add_file();
  finished_ = true;
  return {path_, storage::FileStamp::of(about), storage::combined_checksum(sums_)};
}

std::vector<const Tensor *> in_order(const std::vector<Tensor> &given) {
  std::vector<const Tensor *> ordered;
  for (const Tensor &tensor : given) ordered.push_back(&tensor);
  std::ranges::sort(ordered, [](const Tensor *one, const Tensor *other) {
    if (bits_of(one->dtype) != bits_of(other->dtype))
      return bits_of(one->dtype) > bits_of(other->dtype);
    return one->name < other->name;
  });
  return ordered;
}

}  // namespace

void check_names(const std::vector<Tensor> &given) {
  std::unordered_set<std::string> names;
  for (const Tensor &tensor : given)
    if (!names.insert(tensor.name).second)
      throw Error(Code::invalid, "tensor " + quoted_name(tensor.name) +
                                     " is given twice; a file has each name once");
}

storage::HashedFile write_file(const storage::Tree &root, const std::string &path,
                               const std::vector<Tensor> &given, const FileMetadata &metadata,
                               bool start_writing, storage::Progress *progress) {
  const std::vector<const Tensor *> ordered = in_order(given);
  std::vector<StoredTensor> stored;
  uint64_t data_size = 0;
  for (const Tensor *tensor : ordered) {
    const uint64_t begin = data_size;
    if (__builtin_add_overflow(data_size, tensor->bytes(), &data_size) || data_size > uint64_t{1}
                                                                                          << 62U)
      throw Error(Code::invalid,
                  "writing " + root.name_of(path) + ": more bytes than a file can have");
    stored.push_back({tensor->name, tensor->dtype, tensor->region.shape, begin, data_size});
  }
  const std::string header = format_header(stored, metadata);
  CudaMemory cuda;
  std::vector<Span> spans{{0, header.data(), header.size()}};
  for (size_t i = 0; i < stored.size(); ++i)
    if (stored[i].end > stored[i].begin)
      spans.push_back({header.size() + stored[i].begin, ordered[i]->data,
                       stored[i].end - stored[i].begin, cuda.context_of(*ordered[i])});
  return FileWriter(root, path, std::move(spans), header.size() + data_size, start_writing, cuda,
                    progress)
      .run();
}

std::vector<uint64_t> checksums_of(const std::vector<const Tensor *> &tensors) {
  CudaMemory cuda;
  std::vector<CudaDriver::Context> contexts;
  std::vector<std::vector<uint64_t>> blocks;
  for (const Tensor *tensor : tensors) {
    contexts.push_back(cuda.context_of(*tensor));
    blocks.emplace_back(storage::checksum_blocks(tensor->bytes()));
  }
  const auto sum_block = [&](size_t index, size_t block) {
    const uint64_t begin = block * storage::checksum_block;
    const uint64_t size = std::min(storage::checksum_block, tensors[index]->bytes() - begin);
    const char *data = tensors[index]->data + begin;
    Checksum sum;
    if (contexts[index] == nullptr) sum.add(data, size);
    else
      cuda.staging(contexts[index])->fetch(data, size, [&](const char *copied, size_t part) {
        sum.add(copied, part);
      });
    blocks[index][block] = sum.value();
  };
  storage::Buffer buffer;
  storage::Pool pool;
  for (size_t index = 0; index < tensors.size(); ++index)
    for (size_t block = 0; block < blocks[index].size(); ++block)
      pool.submit([&, index, block](storage::Buffer &) { sum_block(index, block); }, buffer);
  pool.wait(buffer);
  std::vector<uint64_t> sums;
  for (const std::vector<uint64_t> &of_blocks : blocks)
    sums.push_back(storage::combined_checksum(of_blocks));
  return sums;
}

}  // namespace det::tensors

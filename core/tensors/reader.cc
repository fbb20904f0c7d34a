#include "core/tensors/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/storage/pool.h"
#include "core/storage/progress.h"
#include "core/tensors/cuda_memory.h"
#include "core/tensors/shard_plan.h"
#include "core/tensors/sharding.h"

namespace det::tensors {

namespace {

constexpr uint64_t largest_index = 100'000'000;  // bytes, as of a header

std::string read_index(int fd, const std::string &described) {
  struct stat about {};
  if (fstat(fd, &about) != 0) OsFailure{errno}.raise("looking at " + described);
  if (!S_ISREG(about.st_mode) || static_cast<uint64_t>(about.st_size) > largest_index)
    throw Error(Code::corrupt,
                "reading " + described + ": it is no regular file of 100 MB at most");
  std::string text(static_cast<size_t>(about.st_size), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = pread(fd, text.data() + have, text.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + described);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  text.resize(have);
  return text;
}

std::string beside(const std::string &path, const std::string &name) {
  return path.substr(0, path.rfind('/') + 1) + name;
}

// Handed to a thread at once: enough that handing over does not count, and that all have some. On
// devices more, since the copies of one batch overlap with its reading.
constexpr uint64_t batch_size = uint64_t{4} << 20;
constexpr uint64_t device_batch_size = uint64_t{32} << 20;
static_assert(batch_size <= CudaStaging::size);

// Elements of less than a byte come only as whole tensors: then their bytes are what is counted.
uint64_t unit_of(Dtype dtype) { return bits_of(dtype) < 8 ? 1 : bits_of(dtype) / 8; }

Region in_units(Dtype dtype, const Region &region) {
  if (bits_of(dtype) >= 8) return region;
  return {{0}, {bytes_of(dtype, region.shape).value_or(0)}};
}

}  // namespace

// Pieces of a file, read into many places in memory with few calls.
class ScatteredRead {
 public:
  // Through `buffer` go pieces that are too small for a call of their own.
  ScatteredRead(int fd, std::string described, storage::Buffer &buffer)
      : fd_(fd), described_(std::move(described)), buffer_(buffer) {}

  // In the order of the file.
  void add(uint64_t offset, char *to, uint64_t size);
  void flush();

 private:
  struct Piece {
    uint64_t offset;
    char *to;
    uint64_t size;
  };

  void read(uint64_t offset, char *to, uint64_t size) const;

  const int fd_;
  const std::string described_;
  storage::Buffer &buffer_;
  std::vector<Piece> pending_;
};

// A call costs about as much as copying so many bytes.
constexpr uint64_t small = uint64_t{16} << 10;

void ScatteredRead::add(uint64_t offset, char *to, uint64_t size) {
  if (!pending_.empty()) {
    Piece &last = pending_.back();
    const uint64_t end = last.offset + last.size;
    if (end == offset && last.to + last.size == to) {
      last.size += size;
      return;
    }
    if (last.size > small || size > small || offset - end > small ||
        offset + size - pending_.front().offset > storage::Buffer::size)
      flush();
  }
  pending_.push_back({offset, to, size});
}

void ScatteredRead::flush() {
  if (pending_.empty()) return;
  const Piece &first = pending_.front();
  if (pending_.size() == 1) {
    read(first.offset, first.to, first.size);
  } else {
    const uint64_t end = pending_.back().offset + pending_.back().size;
    read(first.offset, buffer_.data(), end - first.offset);
    for (const Piece &piece : pending_)
      std::memcpy(piece.to, buffer_.data() + (piece.offset - first.offset), piece.size);
  }
  pending_.clear();
}

void ScatteredRead::read(uint64_t offset, char *to, uint64_t size) const {
  while (size > 0) {
    const ssize_t got = pread(fd_, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + described_);
    if (got == 0)
      throw Error(
          Code::corrupt,
          "reading " + described_ + ": it ended while it was read; leave the file alone meanwhile");
    to += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<uint64_t>(got);
  }
}

// Reads parts of tensors; most of those that come one after the other are from one file.
class PieceReader {
 public:
  PieceReader(const Reader &reader, storage::Buffer &buffer) : reader_(reader), buffer_(buffer) {}

  void read(const Reader::Entry &entry, const Region &region, char *to) {
    const uint64_t unit = unit_of(entry.dtype);
    for (const Reader::Part &part : entry.parts) {
      const Region of_part = in_units(entry.dtype, part.region);
      const std::optional<Region> common = common_of(region, of_part);
      if (!common) continue;
      const Reader::File &source = reader_.files_[part.file];
      if (open_ != part.file) file_ = reader_.reopen(source);
      open_ = part.file;
      ScatteredRead in(file_.get(), reader_.root_.name_of(source.path), buffer_);
      for_each_run(*common, of_part, region, [&](const Run &run) {
        in.add(part.begin + run.from * unit, to + run.to * unit, run.count * unit);
      });
      in.flush();
    }
  }

 private:
  const Reader &reader_;
  storage::Buffer &buffer_;
  std::optional<size_t> open_;
  Fd file_;
};

namespace {

// One call of Reader::read(): what is wanted, in pieces for several threads.
class ReadJob {
 public:
  ReadJob(const Reader &reader, storage::Progress *progress)
      : reader_(reader), progress_(progress) {}

  void add(const Reader::Entry &entry, const Tensor &wanted);
  void run();

 private:
  // Side by side in the caller's memory.
  struct Piece {
    const Reader::Entry *entry;
    Region region;
    char *to;
    uint64_t bytes;
    CudaDriver::Context context;  // where `to` is memory of a device
  };
  using Batch = std::vector<Piece>;

  void submit(Batch &batch);
  void fill(const Batch &batch, storage::Buffer &buffer);

  const Reader &reader_;
  struct Wanted {
    const Reader::Entry *entry;
    const Tensor *tensor;
    CudaDriver::Context context;
  };
  std::vector<Wanted> wanted_;
  CudaMemory cuda_;
  storage::Progress *const progress_;
  storage::Buffer buffer_;
  storage::Pool pool_;  // last: its threads use what stands above
};

void ReadJob::add(const Reader::Entry &entry, const Tensor &wanted) {
  wanted_.push_back({&entry, &wanted, cuda_.context_of(wanted)});
  if (progress_ != nullptr) progress_->expect(wanted.bytes(), 0);
}

void ReadJob::run() {
  Batch batch;
  uint64_t bytes = 0;
  CudaDriver::Context last = nullptr;
  for (const Wanted &wanted : wanted_) {
    if (wanted.context != last) submit(batch);
    last = wanted.context;
    const uint64_t unit = unit_of(wanted.entry->dtype);
    char *to = wanted.tensor->data;
    const auto take = [&](const Region &region) {
      const uint64_t size = *elements_of(region.shape) * unit;
      batch.push_back({wanted.entry, region, to, size, wanted.context});
      to += size;
      bytes += size;
      if (bytes < (wanted.context != nullptr ? device_batch_size : batch_size)) return;
      submit(batch);
      bytes = 0;
    };
    for_each_piece(in_units(wanted.entry->dtype, wanted.tensor->region), batch_size / unit, take);
  }
  submit(batch);
  storage::wait_for(pool_, buffer_, progress_);
}

void ReadJob::submit(Batch &batch) {
  if (batch.empty()) return;
  pool_.submit(
      [this, pieces = std::exchange(batch, {})](storage::Buffer &own) { fill(pieces, own); },
      buffer_);
}

// All of a batch goes to one device, or to none.
void ReadJob::fill(const Batch &batch, storage::Buffer &buffer) {
  PieceReader reader(reader_, buffer);
  CudaMemory::Staging staging;
  if (batch.front().context != nullptr) staging = cuda_.staging(batch.front().context);
  for (const Piece &piece : batch) {
    reader.read(*piece.entry, piece.region, staging ? staging->room() : piece.to);
    if (staging) staging->send(piece.to, piece.bytes);
    if (progress_ != nullptr) progress_->add_bytes(piece.bytes);
  }
  if (staging) staging->finish();
}

}  // namespace

Reader::Reader(storage::Tree root, const std::string &name, bool confined)
    : root_(std::move(root)), described_(root_.name_of(name)), confined_(confined) {
  if (confined && !storage::is_plain_path(name))
    throw Error(Code::invalid, "opening " + described_ +
                                   ": give the name of a file in the checkpoint, such as "
                                   "'model.safetensors'");
  std::unordered_map<std::string, size_t> places;
  const std::string index = name + index_ending;
  if (open_file(name)) {
    add_file(name, places);
  } else if (const Fd listed = open_file(index)) {
    const std::string index_name = root_.name_of(index);
    for (const std::string &file : parse_index(read_index(listed.get(), index_name), index_name))
      add_file(beside(name, file), places);
  } else {
    throw Error(Code::not_found, "opening " + described_ +
                                     ": there is no such file, and no index of that name (" +
                                     root_.name_of(index) + "); check the name");
  }
  std::ranges::sort(entries_, {}, &Entry::name);
  for (Entry &entry : entries_) settle(entry);
}

// Nothing where there is no such file.
Fd Reader::open_file(const std::string &path) const {
  const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;  // a pipe must not make us wait
  Fd file(confined_ ? storage::open_beneath(root_.fd.get(), path, flags)
                    : openat(root_.fd.get(), path.c_str(), flags));
  if (file || errno == ENOENT) return file;
  if (confined_ && (errno == EXDEV || errno == ELOOP))
    throw Error(Code::corrupt, "opening " + root_.name_of(path) +
                                   ": it leads out of the checkpoint; restore another checkpoint");
  OsFailure{errno}.raise("opening " + root_.name_of(path));
}

Fd Reader::reopen(const File &file) const {
  Fd opened = open_file(file.path);
  struct stat about {};
  if (!opened || fstat(opened.get(), &about) != 0 || storage::FileStamp::of(about) != file.stamp)
    throw Error(Code::conflict, "reading " + root_.name_of(file.path) +
                                    ": the file changed since it was opened; open it again");
  return opened;
}

void Reader::add_file(const std::string &path, std::unordered_map<std::string, size_t> &places) {
  const std::string described = root_.name_of(path);
  const Fd file = open_file(path);
  if (!file)
    throw Error(Code::corrupt, "opening " + described + ": it is missing, though the index of " +
                                   described_ + " lists it; restore another checkpoint");
  const Header header = read_header(file.get(), described);
  struct stat about {};
  if (fstat(file.get(), &about) != 0) OsFailure{errno}.raise("looking at " + described);
  if (files_.empty()) metadata_ = without_sharding(header.metadata);
  files_.push_back({path, storage::FileStamp::of(about)});
  const std::vector<TensorPart> parts = parts_of(header, described);
  for (size_t i = 0; i < parts.size(); ++i) {
    const TensorPart &part = parts[i];
    const auto [place, is_new] = places.try_emplace(part.name, entries_.size());
    if (is_new) entries_.push_back({part.name, part.dtype, part.whole, {}});
    Entry &entry = entries_[place->second];
    const bool alike = entry.dtype == part.dtype && entry.shape == part.whole &&
                       (is_new || entry.parts[0].region.shape.size() == part.region.shape.size());
    if (!alike)
      throw Error(Code::corrupt, "reading " + described + ": tensor " + quoted_name(part.name) +
                                     " is another one than in " +
                                     root_.name_of(files_[entry.parts[0].file].path));
    entry.parts.push_back({files_.size() - 1, part.region, header.size + header.tensors[i].begin});
  }
}

// Finds the shape where no file tells it, and makes sure that all of it is there.
void Reader::settle(Entry &entry) const {
  if (entry.shape.empty())
    for (const Part &part : entry.parts) {
      entry.shape.resize(part.region.shape.size());
      for (size_t d = 0; d < entry.shape.size(); ++d)
        entry.shape[d] = std::max(entry.shape[d], part.region.offset[d] + part.region.shape[d]);
    }
  const auto refuse = [&](const std::string &problem) {
    throw Error(Code::corrupt, "opening " + described_ + ": tensor " + quoted_name(entry.name) +
                                   " " + text_of(entry.shape) + ": " + problem +
                                   " (the numbers are files); restore another checkpoint");
  };
  if (!bytes_of(entry.dtype, entry.shape)) refuse("its size cannot be");
  std::vector<PlacedPart> parts;
  for (const Part &part : entry.parts) parts.push_back({part.region, part.file});
  check_cover(parts, entry.shape, refuse);
}

const Reader::Entry *Reader::find(const std::string &name) const {
  const auto found = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

const Reader::Entry &Reader::expect(const Tensor &wanted) const {
  const Entry *entry = find(wanted.name);
  if (entry == nullptr) {
    constexpr size_t most_names = 5;
    std::string names;
    for (size_t i = 0; i < std::min(entries_.size(), most_names); ++i)
      names += (names.empty() ? "" : ", ") + quoted_name(entries_[i].name);
    if (entries_.size() > most_names) names += ", ...";
    throw Error(Code::not_found, "reading tensor " + quoted_name(wanted.name) + ": not found in " +
                                     described_ +
                                     "; there are: " + (names.empty() ? "none" : names));
  }
  if (entry->dtype != wanted.dtype || entry->shape != wanted.whole)
    throw Error(Code::invalid, "reading tensor " + quoted_name(wanted.name) + " as " +
                                   name_of(wanted.dtype) + " " + text_of(wanted.whole) + ": in " +
                                   described_ + " it is " + name_of(entry->dtype) + " " +
                                   text_of(entry->shape));
  check(wanted);
  return *entry;
}

void Reader::read(const std::vector<Tensor> &wanted, storage::Progress *progress) const {
  ReadJob job(*this, progress);
  for (const Tensor &tensor : wanted) job.add(expect(tensor), tensor);
  job.run();
}

}  // namespace det::tensors

#include "core/tensors/read_job.h"

#include <optional>
#include <utility>

#include "core/tensors/scattered_read.h"

namespace det::tensors {

namespace {

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

void Reader::read(const std::vector<Tensor> &wanted) const {
  ReadJob job(*this);
  for (const Tensor &tensor : wanted) job.add(expect(tensor), tensor);
  job.run();
}

}  // namespace det::tensors

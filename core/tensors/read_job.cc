#include "core/tensors/read_job.h"

#include <optional>

#include "core/tensors/scattered_read.h"

namespace det::tensors {

namespace {

// Handed to a thread at once: enough that handing over does not count, and that all have some.
constexpr uint64_t batch_size = uint64_t{4} << 20;

// Elements of less than a byte come only as whole tensors: then their bytes are what is counted.
uint64_t unit_of(Dtype dtype) { return bits_of(dtype) < 8 ? 1 : bits_of(dtype) / 8; }

Region in_units(Dtype dtype, const Region &region) {
  if (bits_of(dtype) >= 8) return region;
  return {{0}, {bytes_of(dtype, region.shape).value_or(0)}};
}

}  // namespace

void ReadJob::add(const Reader::Entry &entry, const Tensor &wanted) {
  wanted_.emplace_back(&entry, &wanted);
  if (progress_ != nullptr) progress_->expect(wanted.bytes(), 0);
}

void ReadJob::run() {
  Batch batch;
  uint64_t bytes = 0;
  for (const auto &[entry, tensor] : wanted_) {
    const uint64_t unit = unit_of(entry->dtype);
    char *to = tensor->data;
    const auto take = [&, of = entry](const Region &region) {
      const uint64_t size = *elements_of(region.shape) * unit;
      batch.push_back({of, region, to, size});
      to += size;
      bytes += size;
      if (bytes < batch_size) return;
      submit(std::move(batch));
      batch = {};
      bytes = 0;
    };
    for_each_piece(in_units(entry->dtype, tensor->region), batch_size / unit, take);
  }
  if (!batch.empty()) submit(std::move(batch));
  storage::wait_for(pool_, buffer_, progress_);
}

void ReadJob::submit(Batch batch) {
  pool_.submit([this, batch = std::move(batch)](storage::Buffer &own) { fill(batch, own); },
               buffer_);
}

void ReadJob::fill(const Batch &batch, storage::Buffer &buffer) const {
  std::optional<size_t> open;  // most of a batch comes from one file
  Fd file;
  for (const Piece &piece : batch) {
    const Dtype dtype = piece.entry->dtype;
    const uint64_t unit = unit_of(dtype);
    for (const Reader::Part &part : piece.entry->parts) {
      const Region of_part = in_units(dtype, part.region);
      const std::optional<Region> common = common_of(piece.region, of_part);
      if (!common) continue;
      const Reader::File &source = reader_.files_[part.file];
      if (open != part.file) file = reader_.reopen(source);
      open = part.file;
      ScatteredRead in(file.get(), reader_.root_.name_of(source.path), buffer);
      for_each_run(*common, of_part, piece.region, [&](const Run &run) {
        in.add(part.begin + run.from * unit, piece.to + run.to * unit, run.count * unit);
      });
      in.flush();
    }
    if (progress_ != nullptr) progress_->add_bytes(piece.bytes);
  }
}

void Reader::read(const std::vector<Tensor> &wanted) const {
  ReadJob job(*this);
  for (const Tensor &tensor : wanted) job.add(expect(tensor), tensor);
  job.run();
}

}  // namespace det::tensors

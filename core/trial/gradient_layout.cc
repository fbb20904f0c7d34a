#include "core/trial/gradient_layout.h"

namespace det::trial {

namespace {

size_t rounded(size_t bytes) {
  constexpr size_t line = sizeof(CacheLine);
  return (bytes + line - 1) / line * line;
}

Dtype in_buffer(Dtype dtype, bool is_compressed) {
  return is_compressed && dtype != Dtype::bf16 ? Dtype::f16 : dtype;
}

}  // namespace

GradientLayout::GradientLayout(std::span<const GradientTensor> tensors, size_t threshold,
                               bool last_first, bool is_compressed)
    : places_(tensors.size()) {
  for (size_t turn = 0; turn < tensors.size(); ++turn) {
    const size_t index = last_first ? tensors.size() - 1 - turn : turn;
    const Dtype dtype = in_buffer(tensors[index].dtype, is_compressed);
    const size_t bytes = rounded(tensors[index].count * bytes_of(dtype));
    if (buckets_.empty() || buckets_.back().dtype != dtype ||
        buckets_.back().bytes() + bytes > threshold)
      buckets_.push_back({size_, 0, dtype, 0});
    places_[index] = {size_, tensors[index].count, dtype, buckets_.size() - 1};
    buckets_.back().count += bytes / bytes_of(dtype);
    ++buckets_.back().tensors;
    size_ += bytes;
  }
  if (!last_first) return;
  for (Place &place : places_)
    place.offset = size_ - place.offset - rounded(place.count * bytes_of(place.dtype));
  for (Bucket &bucket : buckets_) bucket.offset = size_ - bucket.offset - bucket.bytes();
}

}  // namespace det::trial

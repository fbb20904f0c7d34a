#include "core/trial/gradients/gradient_layout.h"

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
    if (groups_.empty() || groups_.back().dtype != dtype ||
        groups_.back().bytes() + bytes > threshold)
      groups_.push_back({size_, 0, dtype, 0});
    places_[index] = {size_, tensors[index].count, dtype, groups_.size() - 1};
    groups_.back().count += bytes / bytes_of(dtype);
    ++groups_.back().tensors;
    size_ += bytes;
  }
  if (!last_first) return;
  for (Place &place : places_)
    place.offset = size_ - place.offset - rounded(place.count * bytes_of(place.dtype));
  for (Group &group : groups_) group.offset = size_ - group.offset - group.bytes();
}

}  // namespace det::trial

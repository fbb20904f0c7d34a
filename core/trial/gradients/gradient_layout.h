// Where each gradient lies in one flat buffer, and which of them are reduced together.
#pragma once

#include <span>
#include <vector>

#include "core/trial/gradients/arithmetic.h"

namespace det::trial {

struct GradientTensor {
  size_t count = 0;  // elements
  Dtype dtype = Dtype::f32;
  bool is_sparse = false;  // made of rows, which the caller has spread out
};

// Of the cache: gradients begin with one.
struct alignas(64) CacheLine {
  char bytes[64];
};

class GradientLayout {
 public:
  struct Place {
    size_t offset = 0;  // in bytes
    size_t count = 0;
    Dtype dtype = Dtype::f32;  // in the buffer
    size_t group = 0;
  };
  // Neighbours of one dtype. With the gaps between them, which are zero.
  struct Group {
    size_t offset = 0;
    size_t count = 0;  // elements
    Dtype dtype = Dtype::f32;
    size_t tensors = 0;
    size_t bytes() const { return count * bytes_of(dtype); }
  };

  // All lie in their order, each at the next CacheLine. A group is filled up
  // to `threshold` bytes, by tensors in the order in which their gradients come: from the last to
  // the first, as a backward pass makes them, or as listed.
  // `is_compressed`: float and double as half precision.
  GradientLayout(std::span<const GradientTensor> tensors, size_t threshold, bool last_first,
                 bool is_compressed);

  const std::vector<Place> &places() const { return places_; }
  const std::vector<Group> &groups() const { return groups_; }
  size_t size() const { return size_; }

 private:
  std::vector<Place> places_;
  std::vector<Group> groups_;
  size_t size_ = 0;
};

}  // namespace det::trial

// The sum of all elements: losses, norms.
#pragma once

#include <algorithm>

#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

// Of one number of elements. In two steps, whose order depends on that number alone.
class Total {
 public:
  Total(CudaContext &context, size_t count)
      : context_(context), count_(count), parts_(std::clamp<size_t>(count / part, 1, 1024)) {
    partial_ = context.device_memory().allocate(parts_ * sizeof(float));
  }

  // *sum = the sum of value(i).
  template <class Value>
  void run(const Value &value, float *sum) const {
    auto *const partial = reinterpret_cast<float *>(partial_.get());
    const size_t count = count_;
    const size_t parts = parts_;
    float *const first = parts == 1 ? sum : partial;
    for_each_row(context_, parts, part, [=] DET_DEVICE(const RowGroup &group, size_t row) {
      const size_t own = count / parts + (row < count % parts ? 1 : 0);
      const float all = group.sum(own, [&](size_t i) { return value(row + i * parts); });
      if (group.is_first()) first[row] = all;
    });
    if (parts == 1) return;
    for_each_row(context_, 1, parts, [=] DET_DEVICE(const RowGroup &group, size_t) {
      const float all = group.sum(parts, [&](size_t i) { return partial[i]; });
      if (group.is_first()) *sum = all;
    });
  }

 private:
  static constexpr size_t part = 4096;  // elements, at least

  const CudaContext &context_;
  const size_t count_, parts_;
  std::shared_ptr<std::byte> partial_;
};

}  // namespace det::nn

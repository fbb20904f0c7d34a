// Sums on the GPU: of the columns of what has rows, and of all elements.
#pragma once

#include <algorithm>

#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

// Sums of the columns of what has rows: gradients of biases, moments of channels.

// Of one shape. Rows are added up in parts, and then the parts: in an order that depends on the
// shape alone, and so to the same bits each time.
class ColumnSums {
 public:
  ColumnSums(CudaContext &context, size_t rows, size_t columns)
      : context_(context), rows_(rows), columns_(columns), parts_(parts_for(rows, columns)) {
    const size_t bytes = std::max<size_t>(parts_ * columns_, 1) * sizeof(float);
    partial_ = context.device_memory().allocate(bytes);
  }

  // sums[column] = the sum of value(row, column) over the rows; 0 where there are none.
  template <class Value>
  void run(const Value &value, float *sums) const {
    auto *const partial = reinterpret_cast<float *>(partial_.get());
    const size_t rows = rows_;
    const size_t columns = columns_;
    const size_t parts = parts_;
    float *const first = parts == 1 ? sums : partial;
    for_each(context_, parts * columns, [=] DET_DEVICE(size_t i) {
      const size_t column = i % columns;
      float sum = 0;
      for (size_t row = i / columns; row < rows; row += parts) sum += value(row, column);
      first[i] = sum;
    });
    if (parts == 1) return;
    for_each(context_, columns, [=] DET_DEVICE(size_t column) {
      float sum = 0;
      for (size_t part = 0; part < parts; ++part) sum += partial[part * columns + column];
      sums[column] = sum;
    });
  }

 private:
  // So many that a GPU is busy, and that either sum is short.
  static size_t parts_for(size_t rows, size_t columns) {
    constexpr size_t wanted = size_t{1} << 15U;
    const size_t most = std::max<size_t>(wanted / std::max<size_t>(columns, 1), 1);
    return std::clamp<size_t>(rows / 16, 1, std::min<size_t>(most, 512));
  }

  const CudaContext &context_;
  const size_t rows_, columns_, parts_;
  std::shared_ptr<std::byte> partial_;
};

// The sum of all elements: losses, norms.

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

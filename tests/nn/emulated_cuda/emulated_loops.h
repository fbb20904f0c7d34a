// The loops of wrappers/nn/cuda/gpu_loops.h without a GPU: queued on an emulated stream, and run by
// the process.
#pragma once

#include "tests/nn/emulated_cuda/emulated_stream.h"
#include "wrappers/nn/cuda/cuda_context.h"

namespace det::nn {

class RowGroup {
 public:
  template <class Visit>
  void each(size_t count, const Visit &visit) const {
    for (size_t i = 0; i < count; ++i) visit(i);
  }
  template <class Value>
  float sum(size_t count, const Value &value) const {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += static_cast<double>(value(i));
    return static_cast<float>(sum);
  }
  template <class Value>
  float largest(size_t count, const Value &value) const {
    float largest = -__builtin_inff();
    for (size_t i = 0; i < count; ++i)
      if (const float one = value(i); one > largest || one != one) largest = one;
    return largest;
  }
  bool is_first() const { return true; }
};

template <class Visit>
void for_each(const CudaContext &context, size_t count, const Visit &visit) {
  const auto work = [=] {
    for (size_t i = 0; i < count; ++i) visit(i);
  };
  check_cuda(emulated::enqueue(context.stream(), work), giving_work);
}

template <class Visit>
void for_each_row(const CudaContext &context, size_t rows, size_t, const Visit &visit) {
  const auto work = [=] {
    for (size_t row = 0; row < rows; ++row) visit(RowGroup(), row);
  };
  check_cuda(emulated::enqueue(context.stream(), work), giving_work);
}

}  // namespace det::nn

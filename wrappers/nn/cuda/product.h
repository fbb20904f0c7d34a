// Products of matrices by cuBLASLt.
#pragma once

#include <initializer_list>

#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/cuda/cuda_context.h"

namespace det::nn {

// c (rows, columns) = alpha * a . b + beta * c, where a is (rows, depth) and b (depth, columns);
// each row-major, or with its axes exchanged.
struct ProductShape {
  size_t rows, columns, depth;
  bool transpose_a = false, transpose_b = false;  // as they lie
  // From one row to the next, as it lies; 0: side by side.
  size_t row_of_a = 0, row_of_b = 0, row_of_c = 0;
  size_t batch = 1;              // of products, whose matrices lie side by side
  Dtype precision = Dtype::f32;  // of a and b: F32, or BF16 and F16 for matrix units
  enum class Then { nothing, bias, relu, bias_and_relu } then = Then::nothing;
  uint32_t alignment = 16;  // of all addresses, in bytes
};

// Of addresses that are so many bytes from one of an array: the more of it, the quicker.
uint32_t alignment_of(std::initializer_list<size_t> bytes);

// Of one shape; made once, and run again and again with any addresses. None of its sizes is 0.
class Product {
 public:
  Product(const CudaContextPtr &context, const ProductShape &shape);

  // `bias` has as many numbers as c has columns, where shape.then takes one.
  void run(const void *a, const void *b, float *c, float alpha = 1, float beta = 0,
           const float *bias = nullptr) const;

 private:
  struct Plan;
  const CudaContextPtr context_;
  const std::shared_ptr<Plan> plan_;
};

}  // namespace det::nn

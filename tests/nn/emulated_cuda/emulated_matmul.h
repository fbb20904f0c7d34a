// Products of matrices, as cuBLASLt is told of them.
#pragma once

#include <cublasLt.h>

#include <optional>

#include "tests/nn/emulated_cuda/emulated_numbers.h"

namespace emulated {

struct MatrixLayout {
  int32_t type = CUDA_R_32F, order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0, columns = 0;
  int64_t leading_dimension = 0, batch_stride = 0;
  int32_t batches = 1;

  bool operator==(const MatrixLayout &) const = default;
};

struct Product {
  int32_t compute = CUBLAS_COMPUTE_32F, scale = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transposed[3] = {CUBLAS_OP_N, CUBLAS_OP_N, CUBLAS_OP_N};  // A, B, C
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int32_t bias_type = -1;  // that of D
  void *bias = nullptr;
  int64_t bias_stride = 0;
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};  // what A, B, C and D have at least
};

struct Algorithm {
  uint64_t mark = 0;  // of one that the heuristic gave
  uint64_t workspace = 0;
  uint32_t alignment[4] = {};  // what it needs
};

inline std::optional<Number> number_of(int32_t type) {
  switch (type) {
    case CUDA_R_32F:
      return Number::f32;
    case CUDA_R_16F:
      return Number::f16;
    case CUDA_R_16BF:
      return Number::bf16;
    default:
      return std::nullopt;
  }
}

// Whether there is a vector beside the matrices: one that is added, or sums that are written.
inline bool has_bias(const Product &product) {
  return product.epilogue == CUBLASLT_EPILOGUE_BIAS ||
         product.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}
inline bool has_bias_gradient(const Product &product) {
  return product.epilogue == CUBLASLT_EPILOGUE_BGRADA ||
         product.epilogue == CUBLASLT_EPILOGUE_BGRADB;
}

// A product of matrices, D = alpha op(A) op(B) + beta C, of one batch or many.
struct Call {
  Product product;
  MatrixLayout a, b, c, d;
};

// A product with its memory: all that is needed when it is done.
struct Task {
  Call call;
  float alpha, beta;
  void *a, *b, *c, *d, *workspace;
  size_t workspace_size;
};

// Does it, at once.
void multiply(const Task &task);

// Whether cuBLASLt takes it: what is wrong in itself is an invalid value.
cublasStatus_t check(const Call &call);

}  // namespace emulated

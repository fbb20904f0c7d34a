#include "wrappers/nn/cuda/product.h"

#include "core/base/error.h"

namespace det::nn {

namespace {

constexpr std::string_view preparing = "preparing a product of matrices on the GPU";

template <class Handle, cublasStatus_t (*destroy)(Handle)>
struct Destroy {
  using pointer = Handle;
  void operator()(Handle handle) const { destroy(handle); }
};
using Description = std::unique_ptr<cublasLtMatmulDescOpaque_t,
                                    Destroy<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t,
                               Destroy<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>>;
using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                    Destroy<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>>;

cudaDataType_t type_of(Dtype dtype) {
  return dtype == Dtype::bf16 ? CUDA_R_16BF : dtype == Dtype::f16 ? CUDA_R_16F : CUDA_R_32F;
}

template <class Value>
void set(const Description &description, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check_cublas(cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof value),
               preparing);
}

template <class Value>
void set(const Preference &preference, cublasLtMatmulPreferenceAttributes_t attribute,
         Value value) {
  check_cublas(
      cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
      preparing);
}

// What is row-major here is column-major there with rows and columns exchanged.
Layout make_layout(cudaDataType_t type, size_t rows, size_t columns, size_t row, size_t batch) {
  cublasLtMatrixLayout_t handle = nullptr;
  const size_t leading = row != 0 ? row : columns;
  check_cublas(
      cublasLtMatrixLayoutCreate(&handle, type, columns, rows, static_cast<int64_t>(leading)),
      preparing);
  Layout layout(handle);
  if (batch == 1) return layout;
  const auto count = static_cast<int32_t>(batch);
  const auto stride = static_cast<int64_t>(rows * leading);
  check_cublas(cublasLtMatrixLayoutSetAttribute(handle, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                sizeof count),
               preparing);
  check_cublas(cublasLtMatrixLayoutSetAttribute(handle, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &stride, sizeof stride),
               preparing);
  return layout;
}

cublasLtEpilogue_t epilogue_of(ProductShape::Then then) {
  switch (then) {
    case ProductShape::Then::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case ProductShape::Then::relu:
      return CUBLASLT_EPILOGUE_RELU;
    case ProductShape::Then::bias_and_relu:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    default:
      return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

}  // namespace

uint32_t alignment_of(std::initializer_list<size_t> bytes) {
  size_t common = 16;
  for (const size_t one : bytes)
    while (one % common != 0) common /= 2;
  return static_cast<uint32_t>(common);
}

struct Product::Plan {
  Plan(const CudaContext &context, const ProductShape &shape) {
    const cudaDataType_t type = type_of(shape.precision);
    a = make_layout(type, shape.transpose_a ? shape.depth : shape.rows,
                    shape.transpose_a ? shape.rows : shape.depth, shape.row_of_a, shape.batch);
    b = make_layout(type, shape.transpose_b ? shape.columns : shape.depth,
                    shape.transpose_b ? shape.depth : shape.columns, shape.row_of_b, shape.batch);
    c = make_layout(CUDA_R_32F, shape.rows, shape.columns, shape.row_of_c, shape.batch);
    cublasLtMatmulDesc_t handle = nullptr;
    // Whole floats, not those of fewer bits that matrix units take for them.
    check_cublas(cublasLtMatmulDescCreate(&handle, CUBLAS_COMPUTE_32F, CUDA_R_32F), preparing);
    description.reset(handle);
    // The transposed c is b's times a's.
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(shape.then));
    takes_bias =
        shape.then == ProductShape::Then::bias || shape.then == ProductShape::Then::bias_and_relu;
    choose(context, shape);
  }

  void choose(const CudaContext &context, const ProductShape &shape) {
    cublasLtMatmulPreference_t handle = nullptr;
    check_cublas(cublasLtMatmulPreferenceCreate(&handle), preparing);
    const Preference preference(handle);
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, CudaContext::workspace_bytes);
    for (const auto alignment :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(preference, alignment, shape.alignment);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(context.products(), description.get(), b.get(), a.get(),
                                       c.get(), c.get(), handle, 1, &found, &count);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0)
      throw Error(Code::unsupported,
                  std::string(preparing) + ": cuBLAS has no way to multiply (" +
                      std::to_string(shape.rows) + ", " + std::to_string(shape.depth) + ") by (" +
                      std::to_string(shape.depth) + ", " + std::to_string(shape.columns) + ")");
    algorithm = found.algo;
  }

  Description description;
  Layout a, b, c;
  cublasLtMatmulAlgo_t algorithm{};
  bool takes_bias = false;
};

Product::Product(const CudaContextPtr &context, const ProductShape &shape)
    : context_(context), plan_(std::make_shared<Plan>(*context, shape)) {}

void Product::run(const void *a, const void *b, float *c, float alpha, float beta,
                  const float *bias) const {
  if (plan_->takes_bias) set(plan_->description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  check_cublas(
      cublasLtMatmul(context_->products(), plan_->description.get(), &alpha, b, plan_->b.get(), a,
                     plan_->a.get(), &beta, c, plan_->c.get(), c, plan_->c.get(), &plan_->algorithm,
                     context_->workspace(), CudaContext::workspace_bytes, context_->stream()),
      "multiplying matrices on the GPU");
}

}  // namespace det::nn

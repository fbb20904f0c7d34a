#include "tests/nn/emulated_cuda/emulated_matmul.h"

#include <algorithm>

#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_opaque.h"

namespace emulated {

namespace {

constexpr uint64_t algorithm_mark = 0x616c676f726974;
constexpr uint64_t wanted_workspace = 64;
constexpr uint32_t widest_access = 16;  // bytes that a device reads at once

bool is_aligned(const void *pointer, uint32_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

// An algorithm was chosen for memory of some alignment, and for a workspace.
bool algorithm_fits(const Algorithm &algorithm, const Task &task) {
  const void *const memory[] = {task.a, task.b, task.c, task.d};
  for (size_t i = 0; i < 4; ++i)
    if (!is_aligned(memory[i], algorithm.alignment[i])) return false;
  if (algorithm.workspace > 0 && task.workspace == nullptr) return false;
  return algorithm.mark == algorithm_mark && task.workspace_size >= algorithm.workspace &&
         is_aligned(task.workspace, widest_access);
}

}  // namespace

}  // namespace emulated

using namespace emulated;

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                     size_t size) {
  return initialize<Preference>(preference, size);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  return create<Preference>(preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t opaque,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size) {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto &preference = inside<Preference>(opaque);
  return Setting(attribute, value, size)
      .of(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, preference.workspace)
      .of(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, preference.alignment[0])
      .of(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, preference.alignment[1])
      .of(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, preference.alignment[2])
      .of(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, preference.alignment[3])
      .status();
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results,
                                              int *count) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!product || !a || !b || !c || !d || !preference || !results || !count || wanted < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  *count = 0;
  const auto status =
      check({inside<Product>(product), inside<MatrixLayout>(a), inside<MatrixLayout>(b),
             inside<MatrixLayout>(c), inside<MatrixLayout>(d)});
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const auto &preferred = inside<Preference>(preference);
  results[0] = {};
  results[0].workspaceSize = std::min(wanted_workspace, preferred.workspace);
  results[0].wavesCount = 1;
  auto *const algorithm =
      new (&results[0].algo) Algorithm{algorithm_mark, results[0].workspaceSize};
  for (size_t i = 0; i < 4; ++i)
    algorithm->alignment[i] = std::clamp(preferred.alignment[i], 1U, widest_access);
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout,
                              const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                              size_t workspace_size, cudaStream_t stream) {
  const auto lock = locked();
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (device_error() != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (!product || !alpha || !a || !a_layout || !b || !b_layout || !beta || !c || !c_layout || !d ||
      !d_layout)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Task task{
      {inside<Product>(product), inside<MatrixLayout>(a_layout), inside<MatrixLayout>(b_layout),
       inside<MatrixLayout>(c_layout), inside<MatrixLayout>(d_layout)},
      *static_cast<const float *>(alpha),
      *static_cast<const float *>(beta),
      const_cast<void *>(a),
      const_cast<void *>(b),
      const_cast<void *>(c),
      d,
      workspace,
      workspace_size};
  if (const auto status = check(task.call); status != CUBLAS_STATUS_SUCCESS) return status;
  const Product &said = task.call.product;
  if ((has_bias(said) || has_bias_gradient(said)) && said.bias == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  // In its own place C has the layout of D.
  if (c == d && task.call.c != task.call.d) return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm != nullptr && !algorithm_fits(inside<const Algorithm>(algorithm), task))
    return CUBLAS_STATUS_INVALID_VALUE;
  enqueue(stream, [task] { multiply(task); });
  return CUBLAS_STATUS_SUCCESS;
}

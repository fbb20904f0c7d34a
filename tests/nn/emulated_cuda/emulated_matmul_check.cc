// What products cuBLASLt takes. Where its documentation leaves a case open, it is refused.
#include "tests/nn/emulated_cuda/emulated_matmul.h"

namespace emulated {

namespace {

bool is_overlapping(const MatrixLayout &layout) {
  const bool by_columns = layout.order == CUBLASLT_ORDER_COL;
  const uint64_t side_by_side = by_columns ? layout.rows : layout.columns;
  return layout.leading_dimension < 0 ||
         static_cast<uint64_t>(layout.leading_dimension) < side_by_side;
}

cublasStatus_t check_layout(const MatrixLayout &layout, int32_t batches) {
  if (!number_of(layout.type).has_value()) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool wrong = layout.rows == 0 || layout.columns == 0 || is_overlapping(layout) ||
                     layout.batches < 1 || layout.batches != batches || layout.batch_stride < 0;
  return wrong ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

bool fits(const Call &call) {
  const auto &[product, a, b, c, d] = call;
  const bool turned_a = product.transposed[0] != CUBLAS_OP_N;
  const bool turned_b = product.transposed[1] != CUBLAS_OP_N;
  return (turned_a ? a.columns : a.rows) == d.rows &&
         (turned_b ? b.rows : b.columns) == d.columns &&
         (turned_a ? a.rows : a.columns) == (turned_b ? b.columns : b.rows) && c.rows == d.rows &&
         c.columns == d.columns;
}

// What comes out is of the type of what goes in, or F32; of one order with C.
bool types_fit(const Call &call) {
  const auto &[product, a, b, c, d] = call;
  return a.type == b.type && c.type == d.type && (d.type == a.type || d.type == CUDA_R_32F) &&
         c.order == d.order && product.scale == CUDA_R_32F;
}

bool is_known_compute_type(int32_t compute) {
  return compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
         compute == CUBLAS_COMPUTE_32F_FAST_TF32 || compute == CUBLAS_COMPUTE_32F_FAST_16BF ||
         compute == CUBLAS_COMPUTE_32F_FAST_16F;
}

bool is_known_epilogue(const Call &call) {
  switch (call.product.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      return true;
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      return call.d.order == CUBLASLT_ORDER_COL;
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      return call.d.order == CUBLASLT_ORDER_COL && call.d.batches == 1;
    default:
      return false;
  }
}

}  // namespace

cublasStatus_t check(const Call &call) {
  const auto &[product, a, b, c, d] = call;
  for (const auto &layout : {a, b, c, d})
    if (const auto status = check_layout(layout, d.batches); status != CUBLAS_STATUS_SUCCESS)
      return status;
  // The results of a batch must not be written into each other.
  if (!fits(call) || (d.batches > 1 && d.batch_stride == 0)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool supported =
      types_fit(call) && is_known_compute_type(product.compute) && is_known_epilogue(call) &&
      product.pointer_mode == CUBLASLT_POINTER_MODE_HOST && product.transposed[2] == CUBLAS_OP_N &&
      (product.bias_type == -1 || product.bias_type == d.type);
  return supported ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace emulated

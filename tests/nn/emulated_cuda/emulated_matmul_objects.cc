// The objects that describe a product to cuBLASLt.
#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_matmul.h"
#include "tests/nn/emulated_cuda/emulated_opaque.h"

using namespace emulated;

struct cublasLtContext {};

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  const auto lock = locked();
  if (device_error() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

const char *cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "unknown status";
  }
}

const char *cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t columns,
                                                 int64_t leading_dimension) {
  return initialize<MatrixLayout>(layout, size, int32_t{type}, int32_t{CUBLASLT_ORDER_COL}, rows,
                                  columns, leading_dimension);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns,
                                          int64_t leading_dimension) {
  return create<MatrixLayout>(layout, int32_t{type}, int32_t{CUBLASLT_ORDER_COL}, rows, columns,
                              leading_dimension);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t opaque,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void *value, size_t size) {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto &layout = inside<MatrixLayout>(opaque);
  return Setting(attribute, value, size)
      .of(CUBLASLT_MATRIX_LAYOUT_TYPE, layout.type)
      .of(CUBLASLT_MATRIX_LAYOUT_ORDER, layout.order)
      .of(CUBLASLT_MATRIX_LAYOUT_ROWS, layout.rows)
      .of(CUBLASLT_MATRIX_LAYOUT_COLS, layout.columns)
      .of(CUBLASLT_MATRIX_LAYOUT_LD, layout.leading_dimension)
      .of(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, layout.batches)
      .of(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, layout.batch_stride)
      .status();
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t product, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  return initialize<Product>(product, size, int32_t{compute}, int32_t{scale});
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  return create<Product>(product, int32_t{compute}, int32_t{scale});
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) { return destroy(product); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t opaque,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size) {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto &product = inside<Product>(opaque);
  return Setting(attribute, value, size)
      .of(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, product.compute)
      .of(CUBLASLT_MATMUL_DESC_SCALE_TYPE, product.scale)
      .of(CUBLASLT_MATMUL_DESC_POINTER_MODE, product.pointer_mode)
      .of(CUBLASLT_MATMUL_DESC_TRANSA, product.transposed[0])
      .of(CUBLASLT_MATMUL_DESC_TRANSB, product.transposed[1])
      .of(CUBLASLT_MATMUL_DESC_TRANSC, product.transposed[2])
      .of(CUBLASLT_MATMUL_DESC_EPILOGUE, product.epilogue)
      .of(CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias)
      .of(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, product.bias_stride)
      .of(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, product.bias_type)
      .status();
}

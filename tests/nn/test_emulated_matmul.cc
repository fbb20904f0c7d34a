// What stands for cuBLASLt in tests, against sums that are written out here.
#include <cublasLt.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/base/half.h"
#include "tests/cmocka.h"
#include "tests/nn/emulated_cuda/managed_numbers.h"

namespace det::test {
namespace {

using Layout = cublasLtMatrixLayoutOpaque_t;

Layout layout(uint64_t rows, uint64_t columns, int64_t leading, cudaDataType type = CUDA_R_32F) {
  Layout made;
  cublasLtMatrixLayoutInit(&made, type, rows, columns, leading);
  return made;
}

template <class T>
void set(Layout &layout, cublasLtMatrixLayoutAttribute_t attribute, T value) {
  assert_equal(cublasLtMatrixLayoutSetAttribute(&layout, attribute, &value, sizeof value),
               CUBLAS_STATUS_SUCCESS);
}

Layout batched(Layout layout, int32_t batches, int64_t stride) {
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batches);
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  return layout;
}

struct Product {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDescOpaque_t described;
  float alpha = 1, beta = 0;

  Product() {
    cublasLtCreate(&handle);
    cublasLtMatmulDescInit(&described, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  }
  Product(const Product &) = delete;
  Product &operator=(const Product &) = delete;
  ~Product() { cublasLtDestroy(handle); }

  template <class T>
  Product &with(cublasLtMatmulDescAttributes_t attribute, T value) {
    assert_equal(cublasLtMatmulDescSetAttribute(&described, attribute, &value, sizeof value),
                 CUBLAS_STATUS_SUCCESS);
    return *this;
  }
  Product &with_epilogue(uint32_t epilogue, void *bias) {
    return with(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue)
        .with(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  // Into d, which is C as well.
  cublasStatus_t multiply(const void *a, Layout of_a, const void *b, Layout of_b, float *d,
                          Layout of_d, const cublasLtMatmulAlgo_t *algorithm = nullptr,
                          size_t workspace_size = 0) {
    const auto status =
        cublasLtMatmul(handle, &described, &alpha, a, &of_a, b, &of_b, &beta, d, &of_d, d, &of_d,
                       algorithm, nullptr, workspace_size, nullptr);
    cudaDeviceSynchronize();
    return status;
  }
};

// Row by row, in memory: [1 2 3; 4 5 6], [1 2; 3 4; 5 6] and their product.
const std::vector<float> two_by_three = {1, 2, 3, 4, 5, 6}, three_by_two = {1, 2, 3, 4, 5, 6},
                         product = {22, 28, 49, 64};

void test_rows_are_multiplied_by_exchanged_operands(void **) {
  const ManagedNumbers a(two_by_three), b(three_by_two);
  const ManagedNumbers d = no_numbers(4);
  Product by_columns;
  // D' = B' A', where memory by rows is that of the transposed by columns.
  assert_equal(by_columns.multiply(b.data(), layout(2, 3, 2), a.data(), layout(3, 2, 3), d.data(),
                                   layout(2, 2, 2)),
               CUBLAS_STATUS_SUCCESS);
  assert_equal(d.values(), product);
}

void test_rows_are_multiplied_as_they_are(void **) {
  const ManagedNumbers a(two_by_three), b(three_by_two);
  const ManagedNumbers d = no_numbers(4);
  Layout of_a = layout(2, 3, 3), of_b = layout(3, 2, 2), of_d = layout(2, 2, 2);
  for (Layout *each : {&of_a, &of_b, &of_d})
    set(*each, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{CUBLASLT_ORDER_ROW});
  Product by_rows;
  by_rows.alpha = 2;
  assert_equal(by_rows.multiply(a.data(), of_a, b.data(), of_b, d.data(), of_d),
               CUBLAS_STATUS_SUCCESS);
  assert_equal(d.values(), (std::vector<float>{44, 56, 98, 128}));
  // What was there is added.
  by_rows.beta = 1;
  by_rows.alpha = 1;
  by_rows.multiply(a.data(), of_a, b.data(), of_b, d.data(), of_d);
  assert_equal(d.values(), (std::vector<float>{66, 84, 147, 192}));
}

void test_factors_are_transposed(void **) {
  // By columns, memory of 2x3 by rows is a 3x2 matrix: A' A, and A A' with gaps between columns.
  const ManagedNumbers a(two_by_three);
  const ManagedNumbers d = no_numbers(4);
  const ManagedNumbers e = no_numbers(12);
  Product first;
  first.with(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T});
  first.multiply(a.data(), layout(3, 2, 3), a.data(), layout(3, 2, 3), d.data(), layout(2, 2, 2));
  assert_equal(d.values(), (std::vector<float>{14, 32, 32, 77}));
  Product second;
  second.with(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{CUBLAS_OP_T});
  second.multiply(a.data(), layout(3, 2, 3), a.data(), layout(3, 2, 3), e.data(), layout(3, 3, 4));
  assert_equal(e[0], 17.0F);
  assert_equal(e[1], 22.0F);
  assert_equal(e[5], 29.0F);
  assert_equal(e[10], 45.0F);
  assert_true(std::isnan(e[3]) && std::isnan(e[11]));
}

void test_batches_have_strides(void **) {
  // Two matrices of 1x2 with one of 2x1 that both use, into every second number.
  const ManagedNumbers a({1, 2, 3, 4}), b({10, 1}), d({0, 0, 0, 0});
  Product each;
  each.multiply(a.data(), batched(layout(1, 2, 1), 2, 2), b.data(), batched(layout(2, 1, 2), 2, 0),
                d.data(), batched(layout(1, 1, 1), 2, 2));
  assert_equal(d.values(), (std::vector<float>{12, 0, 34, 0}));
}

void test_epilogues(void **) {
  const ManagedNumbers a(two_by_three), b(three_by_two), bias({-40, 1}), sums({0, 0});
  const ManagedNumbers d = no_numbers(4);
  const Layout of_b = layout(2, 3, 2), of_a = layout(3, 2, 3), of_d = layout(2, 2, 2);
  Product with_bias;
  with_bias.with_epilogue(CUBLASLT_EPILOGUE_BIAS, bias.data());
  with_bias.multiply(b.data(), of_b, a.data(), of_a, d.data(), of_d);
  assert_equal(d.values(), (std::vector<float>{-18, 29, 9, 65}));
  Product with_relu;
  with_relu.with_epilogue(CUBLASLT_EPILOGUE_RELU_BIAS, bias.data());
  with_relu.multiply(b.data(), of_b, a.data(), of_a, d.data(), of_d);
  assert_equal(d.values(), (std::vector<float>{0, 29, 9, 65}));
  Product of_first;
  of_first.with_epilogue(CUBLASLT_EPILOGUE_BGRADA, sums.data());
  of_first.multiply(b.data(), of_b, a.data(), of_a, d.data(), of_d);
  assert_equal(sums.values(), (std::vector<float>{9, 12}));
  Product of_second;
  of_second.with_epilogue(CUBLASLT_EPILOGUE_BGRADB, sums.data());
  of_second.multiply(b.data(), of_b, a.data(), of_a, d.data(), of_d);
  assert_equal(sums.values(), (std::vector<float>{6, 15}));
  assert_equal(d.values(), product);
}

void test_factors_may_have_16_bits(void **) {
  const ManagedNumbers a = no_numbers(1);
  const ManagedNumbers b = no_numbers(1);
  const ManagedNumbers d = no_numbers(1);
  const uint16_t ones[] = {to_bf16(1.5F), to_bf16(-2)}, twos[] = {to_half(3), to_half(0.25F)};
  std::memcpy(a.data(), ones, sizeof ones);
  std::memcpy(b.data(), twos, sizeof twos);
  Product each;
  each.multiply(a.data(), layout(1, 2, 1, CUDA_R_16BF), a.data(), layout(2, 1, 2, CUDA_R_16BF),
                d.data(), layout(1, 1, 1));
  assert_equal(d[0], 6.25F);
  each.multiply(b.data(), layout(1, 2, 1, CUDA_R_16F), b.data(), layout(2, 1, 2, CUDA_R_16F),
                d.data(), layout(1, 1, 1));
  assert_equal(d[0], 9.0625F);
  assert_equal(each.multiply(a.data(), layout(1, 2, 1, CUDA_R_16BF), b.data(),
                             layout(2, 1, 2, CUDA_R_16F), d.data(), layout(1, 1, 1)),
               CUBLAS_STATUS_NOT_SUPPORTED);
}

void test_what_does_not_fit_is_refused(void **) {
  const ManagedNumbers a(two_by_three), b(three_by_two);
  const ManagedNumbers d = no_numbers(6);
  const ManagedNumbers bias = no_numbers(2);
  Product each;
  const auto status = [&](Layout of_a, Layout of_b, Layout of_d) {
    return each.multiply(b.data(), of_b, a.data(), of_a, d.data(), of_d);
  };
  const Layout of_b = layout(2, 3, 2), of_a = layout(3, 2, 3), of_d = layout(2, 2, 2);
  assert_equal(status(of_a, of_b, of_d), CUBLAS_STATUS_SUCCESS);
  assert_equal(status(layout(2, 2, 2), of_b, of_d), CUBLAS_STATUS_INVALID_VALUE);
  assert_equal(status(layout(3, 2, 2), of_b, of_d), CUBLAS_STATUS_INVALID_VALUE);
  assert_equal(status(of_a, of_b, layout(2, 3, 2)), CUBLAS_STATUS_INVALID_VALUE);
  assert_equal(status(of_a, layout(0, 3, 2), of_d), CUBLAS_STATUS_INVALID_VALUE);
  assert_equal(status(of_a, batched(of_b, 2, 0), of_d), CUBLAS_STATUS_INVALID_VALUE);
  Layout by_rows = of_d;
  set(by_rows, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{CUBLASLT_ORDER_ROW});
  assert_equal(status(of_a, of_b, by_rows), CUBLAS_STATUS_SUCCESS);
  each.with_epilogue(CUBLASLT_EPILOGUE_BIAS, bias.data());
  assert_equal(status(of_a, of_b, by_rows), CUBLAS_STATUS_NOT_SUPPORTED);
  each.with_epilogue(CUBLASLT_EPILOGUE_BIAS, nullptr);
  assert_equal(status(of_a, of_b, of_d), CUBLAS_STATUS_INVALID_VALUE);
}

void test_an_algorithm_wants_alignment_and_its_workspace(void **) {
  const ManagedNumbers a(two_by_three);
  const ManagedNumbers d = no_numbers(5);
  Layout of_a = layout(3, 2, 3), of_d = layout(2, 2, 2);
  Product each;
  each.with(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T});
  cublasLtMatmulPreferenceOpaque_t preference;
  cublasLtMatmulPreferenceInit(&preference);
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  const auto look_up = [&] {
    return cublasLtMatmulAlgoGetHeuristic(each.handle, &each.described, &of_a, &of_a, &of_d, &of_d,
                                          &preference, 1, &found, &count);
  };
  const auto multiply = [&](float *to) {
    return each.multiply(a.data(), of_a, a.data(), of_a, to, of_d, &found.algo);
  };
  assert_equal(look_up(), CUBLAS_STATUS_SUCCESS);
  assert_equal(count, 1);
  assert_equal(multiply(d.data()), CUBLAS_STATUS_SUCCESS);
  assert_equal(multiply(d.data() + 1), CUBLAS_STATUS_INVALID_VALUE);
  const uint32_t four = 4;
  for (const auto which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    cublasLtMatmulPreferenceSetAttribute(&preference, which, &four, sizeof four);
  look_up();
  assert_equal(multiply(d.data() + 1), CUBLAS_STATUS_SUCCESS);
  const uint64_t workspace = 1024;
  cublasLtMatmulPreferenceSetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &workspace, sizeof workspace);
  look_up();
  assert_true(found.workspaceSize > 0);
  assert_equal(multiply(d.data()), CUBLAS_STATUS_INVALID_VALUE);
  // Nor is its size enough.
  assert_equal(each.multiply(a.data(), of_a, a.data(), of_a, d.data(), of_d, &found.algo, 1024),
               CUBLAS_STATUS_INVALID_VALUE);
  of_a = layout(3, 2, 2);
  assert_equal(look_up(), CUBLAS_STATUS_INVALID_VALUE);
  assert_equal(count, 0);
}

// On the host, or behind the end of what was allocated.
void test_memory_out_of_reach_makes_the_device_fail(void **) {
  std::vector<float> on_host(6);
  const ManagedNumbers a(two_by_three), d(product), short_by_one({1, 2, 3, 4, 5});
  const Layout of_b = layout(2, 3, 2), of_a = layout(3, 2, 3), of_d = layout(2, 2, 2);
  for (const float *b : {on_host.data(), short_by_one.data()}) {
    setenv("EMULATED_CUDA_FAIL", "work=1000", 1);
    Product each;
    assert_equal(each.multiply(b, of_b, a.data(), of_a, d.data(), of_d), CUBLAS_STATUS_SUCCESS);
    assert_equal(cudaGetLastError(), cudaErrorIllegalAddress);
    assert_equal(each.multiply(a.data(), of_b, a.data(), of_a, d.data(), of_d),
                 CUBLAS_STATUS_EXECUTION_FAILED);
    unsetenv("EMULATED_CUDA_FAIL");
    assert_equal(cudaDeviceSynchronize(), cudaSuccess);
  }
  assert_equal(d.values(), product);
}

}  // namespace
}  // namespace det::test

int test_emulated_matmul() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_are_multiplied_by_exchanged_operands),
      cmocka_unit_test(test_rows_are_multiplied_as_they_are),
      cmocka_unit_test(test_factors_are_transposed),
      cmocka_unit_test(test_batches_have_strides),
      cmocka_unit_test(test_epilogues),
      cmocka_unit_test(test_factors_may_have_16_bits),
      cmocka_unit_test(test_what_does_not_fit_is_refused),
      cmocka_unit_test(test_an_algorithm_wants_alignment_and_its_workspace),
      cmocka_unit_test(test_memory_out_of_reach_makes_the_device_fail),
  };
  return cmocka_run_group_tests_name("emulated_matmul", tests, nullptr, nullptr);
}

#include <algorithm>
#include <array>

#include "wrappers/nn/reference/matrix.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class BatchedMatMulKernel : public OperationKernel<BatchedMatMulOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override {
    for_each_batch(output(), [&](size_t batch, const Matrix &c) {
      add_product(a(input(0), batch), b(input(1), batch), c, op_.scale);
    });
  }

  // dA = dC . B^T and dB = A^T . dC, each transposed where it lies so.
  void backward() override {
    const Array &dc = output_gradient();
    if (const Array &da = input_gradient(0))
      for_each_batch(da, [&](size_t batch, const Matrix &) {
        add_product(matrix_of(dc, batch), b(input(1), batch).transposed(), a(da, batch), op_.scale);
      });
    if (const Array &db = input_gradient(1))
      for_each_batch(db, [&](size_t batch, const Matrix &) {
        add_product(a(input(0), batch).transposed(), matrix_of(dc, batch), b(db, batch), op_.scale);
      });
  }

 private:
  static Matrix matrix_of(const Array &array, size_t batch) {
    const Shape &shape = array.shape();
    const auto rows = static_cast<size_t>(shape[shape.size() - 2]);
    const auto columns = static_cast<size_t>(shape.back());
    return matrix(array.data() + batch * rows * columns, rows, columns);
  }
  Matrix a(const Array &array, size_t batch) const {
    const Matrix one = matrix_of(array, batch);
    return op_.transpose_a ? one.transposed() : one;
  }
  Matrix b(const Array &array, size_t batch) const {
    const Matrix one = matrix_of(array, batch);
    return op_.transpose_b ? one.transposed() : one;
  }

  // Of an array that is written: it begins with zeros.
  template <class Visit>
  static void for_each_batch(const Array &written, const Visit &visit) {
    std::fill_n(written.data(), written.size(), 0.0F);
    const Matrix first = matrix_of(written, 0);
    const size_t size = first.rows * first.columns;
    for (size_t batch = 0; size > 0 && batch < written.size() / size; ++batch)
      visit(batch, matrix_of(written, batch));
  }
};

class AttentionMaskKernel : public OperationKernel<AttentionMaskOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override {
    const Shape &sizes = output().shape();
    size_t i = 0;
    for (int64_t batch = 0; batch < sizes[0]; ++batch)
      for (int64_t head = 0; head < sizes[1]; ++head)
        for (int64_t query = 0; query < sizes[2]; ++query)
          for (int64_t key = 0; key < sizes[3]; ++key, ++i)
            output().data()[i] =
                input(0).data()[i] + (is_seen({batch, head, query, key}) ? 0 : hidden);
  }

  void backward() override {
    if (const Array &dx = input_gradient(0))
      std::copy_n(output_gradient().data(), dx.size(), dx.data());
  }

 private:
  static constexpr float hidden = -1e9F;

  bool is_seen(const std::array<int64_t, 4> &at) const {
    if (op_.is_causal && at[3] > at[2]) return false;
    if (inputs() == 1) return true;
    const Shape &mask = input(1).shape();
    int64_t place = 0;
    for (size_t axis = 0; axis < mask.size(); ++axis)
      place = place * mask[axis] + (mask[axis] == 1 ? 0 : at[axis]);
    return input(1).data<int32_t>()[place] != 0;
  }
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const BatchedMatMulOp &op, const Operands &operands) {
  return std::make_unique<BatchedMatMulKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const AttentionMaskOp &op, const Operands &operands) {
  return std::make_unique<AttentionMaskKernel>(op, operands);
}

}  // namespace det::nn

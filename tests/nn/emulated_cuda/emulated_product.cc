// What a product of cuBLASLt computes, in double.
#include <cstring>
#include <utility>
#include <vector>

#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_matmul.h"
#include "tests/nn/emulated_cuda/emulated_memory.h"

namespace emulated {

namespace {

// The matrices of a batch, where they are.
struct Matrices {
  const MatrixLayout &layout;
  void *data;
  Number type = *number_of(layout.type);

  int64_t place(int64_t batch, int64_t row, int64_t column) const {
    const bool by_columns = layout.order == CUBLASLT_ORDER_COL;
    return batch * layout.batch_stride + (by_columns ? column : row) * layout.leading_dimension +
           (by_columns ? row : column);
  }
  float read(int64_t batch, int64_t row, int64_t column) const {
    return read_number(type, data, place(batch, row, column));
  }
  bool reachable() const {
    const int64_t last = place(layout.batches - 1, static_cast<int64_t>(layout.rows) - 1,
                               static_cast<int64_t>(layout.columns) - 1);
    return is_reachable(data, static_cast<size_t>(last + 1) * size_of(type));
  }
};

// A factor, row by row.
struct Factor {
  int64_t rows, columns;
  std::vector<double> numbers;

  Factor(const Matrices &from, int32_t transposed, int64_t batch)
      : rows(static_cast<int64_t>(from.layout.rows)),
        columns(static_cast<int64_t>(from.layout.columns)) {
    if (transposed != CUBLAS_OP_N) std::swap(rows, columns);
    numbers.reserve(static_cast<size_t>(rows * columns));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        numbers.push_back(transposed != CUBLAS_OP_N ? from.read(batch, j, i)
                                                    : from.read(batch, i, j));
  }
  const double *row(int64_t i) const { return numbers.data() + i * columns; }
};

// The sums of the rows of op(A), or of the columns of op(B).
void write_bias_gradient(const Task &task, const Factor &a, const Factor &b) {
  const bool of_a = task.call.product.epilogue == CUBLASLT_EPILOGUE_BGRADA;
  for (int64_t i = 0; i < (of_a ? a.rows : b.columns); ++i) {
    double sum = 0;
    for (int64_t k = 0; k < a.columns; ++k) sum += of_a ? a.row(i)[k] : b.row(k)[i];
    write_number(*number_of(task.call.d.type), task.call.product.bias, i, static_cast<float>(sum));
  }
}

// One row of D, of the sums of products.
void write_row(const Task &task, int64_t batch, int64_t row, const std::vector<double> &sums) {
  const Matrices c{task.call.c, task.c}, d{task.call.d, task.d};
  const Product &product = task.call.product;
  const bool relu =
      product.epilogue == CUBLASLT_EPILOGUE_RELU || product.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  const double bias =
      has_bias(product) ? read_number(d.type, product.bias, batch * product.bias_stride + row) : 0;
  for (size_t j = 0; j < sums.size(); ++j) {
    const auto column = static_cast<int64_t>(j);
    double value = task.alpha * sums[j] + bias;
    // What is not added is not read: it may be no number.
    if (task.beta != 0) value += task.beta * c.read(batch, row, column);
    if (relu && value < 0) value = 0;
    write_number(d.type, d.data, d.place(batch, row, column), static_cast<float>(value));
  }
}

bool all_reachable(const Task &task) {
  const auto &[product, a, b, c, d] = task.call;
  size_t bias = 0;
  if (has_bias(product)) bias = d.rows + static_cast<size_t>(product.bias_stride * (d.batches - 1));
  if (has_bias_gradient(product))
    bias = product.epilogue == CUBLASLT_EPILOGUE_BGRADA ? d.rows : d.columns;
  return Matrices{a, task.a}.reachable() && Matrices{b, task.b}.reachable() &&
         Matrices{d, task.d}.reachable() && (task.beta == 0 || Matrices{c, task.c}.reachable()) &&
         (bias == 0 || is_reachable(product.bias, bias * size_of(*number_of(d.type)))) &&
         (task.workspace_size == 0 || is_reachable(task.workspace, task.workspace_size));
}

}  // namespace

void multiply(const Task &task) {
  if (!all_reachable(task)) return access_illegal_address();
  // Whoever keeps something there learns of it.
  if (task.workspace_size > 0) std::memset(task.workspace, 0xff, task.workspace_size);
  const auto &[product, a_layout, b_layout, c_layout, d_layout] = task.call;
  for (int64_t batch = 0; batch < d_layout.batches; ++batch) {
    const Factor a({a_layout, task.a}, product.transposed[0], batch);
    const Factor b({b_layout, task.b}, product.transposed[1], batch);
    std::vector<double> sums;
    for (int64_t i = 0; i < a.rows; ++i) {
      sums.assign(static_cast<size_t>(b.columns), 0.0);
      for (int64_t k = 0; k < a.columns; ++k)
        for (size_t j = 0; j < sums.size(); ++j) sums[j] += a.row(i)[k] * b.row(k)[j];
      write_row(task, batch, i, sums);
    }
    if (has_bias_gradient(product)) write_bias_gradient(task, a, b);
  }
}

}  // namespace emulated

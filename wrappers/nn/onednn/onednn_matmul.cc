#include <optional>

#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

constexpr int64_t few_matmul_products = 1 << 14;  // oneDNN needs some microseconds to begin

// An array as matrices of its last two axes, one for each of the axes before them.
struct Matrices {
  int64_t count, rows, columns;
  bool is_by_columns;  // as it lies in memory
  void *data;

  Matrices(const Array &array, bool is_transposed)
      : count(1),
        rows(array.shape()[array.shape().size() - 2]),
        columns(array.shape().back()),
        is_by_columns(is_transposed),
        data(array.raw()) {
    if (rows * columns > 0) count = static_cast<int64_t>(array.size()) / (rows * columns);
    if (is_transposed) std::swap(rows, columns);
  }

  Matrices transposed() const {
    Matrices other = *this;
    std::swap(other.rows, other.columns);
    other.is_by_columns = !is_by_columns;
    return other;
  }
  MemoryDesc desc() const {
    using Dims = dnnl::memory::dims;
    return {{count, rows, columns},
            dnnl::memory::data_type::f32,
            is_by_columns ? Dims{rows * columns, 1, rows} : Dims{rows * columns, columns, 1}};
  }
};

class OnednnMatMul : public OperationKernel<BatchedMatMulOp> {
 public:
  OnednnMatMul(const BatchedMatMulOp &op, const Operands &operands, const OnednnContextPtr &context)
      : OperationKernel(op, operands), context_(context) {
    const Matrices a(input(0), op.transpose_a);
    const Matrices b(input(1), op.transpose_b);
    forward_ = product(a, b, output());
    if (!operands.has_gradients()) return;
    const Matrices dc(output_gradient(), false);
    // dA = dC . B^T and dB = A^T . dC, each as its array lies.
    if (const Array &da = input_gradient(0))
      of_a_ = op.transpose_a ? product(b, dc.transposed(), da) : product(dc, b.transposed(), da);
    if (const Array &db = input_gradient(1))
      of_b_ = op.transpose_b ? product(dc.transposed(), a, db) : product(a.transposed(), dc, db);
  }

  void forward() override { forward_->run(); }
  void backward() override {
    if (of_a_) of_a_->run();
    if (of_b_) of_b_->run();
  }

 private:
  // All of them are scaled.
  OnednnPrimitive product(const Matrices &x, const Matrices &y, const Array &into) const {
    dnnl::primitive_attr attributes = usual_attributes();
    dnnl::post_ops after;
    if (op_.scale != 1) append_function(after, dnnl::algorithm::eltwise_linear, op_.scale);
    attributes.set_post_ops(after);
    const Matrices z(into, false);
    const auto prepared =
        describe_product(context_->engine, x.desc(), y.desc(), MemoryDesc(), z.desc(), attributes);
    OnednnPrimitive made(context_, dnnl::matmul(prepared), prepared.scratchpad_desc());
    made.with(DNNL_ARG_SRC, x.desc(), x.data)
        .with(DNNL_ARG_WEIGHTS, y.desc(), y.data)
        .with(DNNL_ARG_DST, z.desc(), z.data);
    return made;
  }

  const OnednnContextPtr context_;
  std::optional<OnednnPrimitive> forward_, of_a_, of_b_;
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const BatchedMatMulOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  const auto results = static_cast<int64_t>(operands.outputs.at(0).size());
  const int64_t summed = Matrices(operands.inputs.at(0), op.transpose_a).columns;
  if (results == 0 || summed == 0 || results <= few_matmul_products / summed) return nullptr;
  return std::make_unique<OnednnMatMul>(op, operands, context);
}

}  // namespace det::nn

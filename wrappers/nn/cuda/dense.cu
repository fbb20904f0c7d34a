#include "wrappers/nn/cuda/activation_gradient.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/narrowed.h"
#include "wrappers/nn/cuda/product.h"
#include "wrappers/nn/cuda/sums.h"

namespace det::nn {

namespace {

struct DenseSizes {
  explicit DenseSizes(const Operands &operands)
      : in(static_cast<size_t>(operands.inputs.at(1).shape()[0])),
        out(static_cast<size_t>(operands.inputs[1].shape()[1])),
        rows(operands.outputs.at(0).size() / std::max<size_t>(out, 1)) {}
  bool is_empty() const { return in == 0 || out == 0 || rows == 0; }

  size_t in, out, rows;
};

class DenseKernel : public CudaKernel<DenseOp> {
 public:
  DenseKernel(const DenseOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel(op, operands, context),
        sizes_(operands),
        is_relu_fused_(op.activation == Activation::relu),
        x_(context, input(0).size(), operands.precision),
        kernel_(context, input(1).size(), operands.precision),
        narrow_gradient_(context, output().size(), operands.precision),
        gradient_(context, op.activation, output().size()),
        product_(context, forward_shape()),
        of_input_(context, {.rows = sizes_.rows,
                            .columns = sizes_.in,
                            .depth = sizes_.out,
                            .transpose_b = true,
                            .precision = operands.precision}),
        of_kernel_(context, {.rows = sizes_.in,
                             .columns = sizes_.out,
                             .depth = sizes_.rows,
                             .transpose_a = true,
                             .precision = operands.precision}),
        of_bias_(*context, sizes_.rows, sizes_.out) {}

  void forward() override {
    const float *bias = inputs() == 3 ? input(2).data() : nullptr;
    product_.run(x_.run(input(0).data()), kernel_.run(input(1).data()), output().data(), 1, 0,
                 bias);
    if (!is_relu_fused_) gradient_.apply(output().data(), Result(operands_));
  }

  void backward() override {
    const float *sums = gradient_.run(output().data(), output_gradient().data());
    const void *narrow = narrow_gradient_.run(sums);
    if (float *dx = data_or_null(input_gradient(0)))
      of_input_.run(narrow, kernel_.of(input(1).data()), dx);
    if (float *dkernel = data_or_null(input_gradient(1)))
      of_kernel_.run(x_.of(input(0).data()), narrow, dkernel);
    if (inputs() < 3 || !input_gradient(2)) return;
    const size_t out = sizes_.out;
    of_bias_.run([=] DET_DEVICE(size_t row, size_t column) { return sums[row * out + column]; },
                 input_gradient(2).data());
  }

 private:
  ProductShape forward_shape() const {
    using Then = ProductShape::Then;
    const bool has_bias = inputs() == 3;
    return {.rows = sizes_.rows,
            .columns = sizes_.out,
            .depth = sizes_.in,
            .precision = operands_.precision,
            .then = is_relu_fused_ ? (has_bias ? Then::bias_and_relu : Then::relu)
                                   : (has_bias ? Then::bias : Then::nothing)};
  }

  const DenseSizes sizes_;
  const bool is_relu_fused_;
  const Narrowed x_, kernel_, narrow_gradient_;
  const ActivationGradient gradient_;
  const Product product_, of_input_, of_kernel_;
  const ColumnSums of_bias_;
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const DenseOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (DenseSizes(operands).is_empty()) return nullptr;
  return std::make_unique<DenseKernel>(op, operands, context);
}

}  // namespace det::nn

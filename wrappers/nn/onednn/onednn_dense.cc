#include <optional>

#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/onednn/shares.h"
#include "wrappers/nn/onednn/small_products.h"
#include "wrappers/nn/onednn/sums_gradient.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

constexpr size_t few_rows = 3;            // fewer and the kernel is read but once or twice
constexpr size_t few_products = 1 << 14;  // of all rows: oneDNN needs some microseconds to begin

// What both ways of computing share.
class OnednnDenseKernel : public OperationKernel<DenseOp> {
 public:
  OnednnDenseKernel(const DenseOp &op, const Operands &operands, const OnednnContext &context)
      : OperationKernel(op, operands),
        products_{output().size() / static_cast<size_t>(output().shape().back()),
                  static_cast<size_t>(input(1).shape()[0]),
                  static_cast<size_t>(input(1).shape()[1])},
        sums_gradient_(op.activation, output(), output_gradient(), operands.has_gradients(),
                       context),
        bias_shares_(shares_of(context, output().size())) {}

 protected:
  bool has_bias() const { return inputs() == 3; }

  void find_bias_gradient() const {
    if (!has_bias() || !input_gradient(2)) return;
    const float *dy = sums_gradient_.array().data();
    float *dbias = input_gradient(2).data();
    for_each_share(bias_shares_, products_.out, [&](size_t, size_t begin, size_t end) {
      products_.of_bias(dy, dbias, begin, end);
    });
  }

  const SmallProducts products_;
  const SumsGradient sums_gradient_;

 private:
  const size_t bias_shares_;
};

class SmallDense : public OnednnDenseKernel {
 public:
  using OnednnDenseKernel::OnednnDenseKernel;

  void forward() override {
    products_.forward(input(0).data(), input(1).data(), has_bias() ? input(2).data() : nullptr,
                      output().data());
    if (op_.activation == Activation::linear) return;
    for (float &y : output().elements()) y = activate(op_.activation, y);
  }

  void backward() override {
    sums_gradient_.find();
    const float *dy = sums_gradient_.array().data();
    if (input_gradient(0)) products_.of_input(dy, input(1).data(), input_gradient(0).data());
    if (input_gradient(1)) products_.of_kernel(input(0).data(), dy, input_gradient(1).data());
    find_bias_gradient();
  }
};

class OnednnDense : public OnednnDenseKernel {
 public:
  OnednnDense(const DenseOp &op, const Operands &operands, const OnednnContextPtr &context)
      : OnednnDenseKernel(op, operands, *context), context_(context), forward_(make_forward()) {
    const auto [rows, in, out] = sizes();
    if (input_gradient(0))
      of_input_ =
          product({row_major({rows, out}), sums_gradient_.array()},
                  {column_major(out, in), input(1)}, {row_major({rows, in}), input_gradient(0)});
    if (input_gradient(1))
      of_kernel_ = product({column_major(in, rows), input(0)},
                           {row_major({rows, out}), sums_gradient_.array()},
                           {row_major({in, out}), input_gradient(1)});
  }

  void forward() override { forward_.run(); }

  void backward() override {
    sums_gradient_.find();
    if (of_input_) of_input_->run();
    if (of_kernel_) of_kernel_->run();
    find_bias_gradient();
  }

 private:
  struct DenseMatrix {
    MemoryDesc desc;
    const Array &array;
  };
  struct Sizes {
    int64_t rows, in, out;
  };

  Sizes sizes() const {
    return {static_cast<int64_t>(products_.rows), static_cast<int64_t>(products_.in),
            static_cast<int64_t>(products_.out)};
  }

  OnednnPrimitive make_forward() const {
    const auto [rows, in, out] = sizes();
    dnnl::primitive_attr attributes = usual_attributes();
    dnnl::post_ops after;
    if (op_.activation != Activation::linear) append_function(after, function_of(op_.activation));
    attributes.set_post_ops(after);
    return *product({row_major({rows, in}), input(0)}, {row_major({in, out}), input(1)},
                    {row_major({rows, out}), output()}, has_bias() ? &input(2) : nullptr,
                    attributes);
  }

  std::optional<OnednnPrimitive> product(
      const DenseMatrix &x, const DenseMatrix &y, const DenseMatrix &product,
      const Array *bias = nullptr,
      const dnnl::primitive_attr &attributes = usual_attributes()) const {
    const MemoryDesc bias_desc = bias != nullptr ? row_major({1, bias->shape()[0]}) : MemoryDesc();
    const auto prepared =
        describe_product(context_->engine, x.desc, y.desc, bias_desc, product.desc, attributes);
    OnednnPrimitive made(context_, dnnl::matmul(prepared), prepared.scratchpad_desc());
    made.with(DNNL_ARG_SRC, x.desc, x.array.raw())
        .with(DNNL_ARG_WEIGHTS, y.desc, y.array.raw())
        .with(DNNL_ARG_DST, product.desc, product.array.raw());
    if (bias != nullptr) made.with(DNNL_ARG_BIAS, bias_desc, bias->raw());
    return made;
  }

  const OnednnContextPtr context_;
  const OnednnPrimitive forward_;
  std::optional<OnednnPrimitive> of_input_, of_kernel_;
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const DenseOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  const size_t kernel = operands.inputs.at(1).size();
  const size_t results = operands.outputs.at(0).size();
  if (kernel == 0 || results == 0) return nullptr;
  const auto out = static_cast<size_t>(operands.inputs[1].shape()[1]);
  const size_t rows = results / out;
  if (rows <= few_rows || rows * kernel <= few_products)
    return std::make_unique<SmallDense>(op, operands, *context);
  return std::make_unique<OnednnDense>(op, operands, context);
}

}  // namespace det::nn

// The normalization of rows.
#include <optional>

#include "wrappers/nn/onednn/onednn_kernels.h"

namespace det::nn {

namespace {

using Forward = dnnl::layer_normalization_forward;
using Backward = dnnl::layer_normalization_backward;

class OnednnLayerNormalization : public OperationKernel<LayerNormalizationOp> {
 public:
  OnednnLayerNormalization(const LayerNormalizationOp &op, const Operands &operands,
                           const OnednnContextPtr &context, int64_t rows, int64_t length)
      : OperationKernel(op, operands),
        mean_({{rows}, Dtype::f32}),
        variance_({{rows}, Dtype::f32}) {
    const MemoryDesc x = row_major({rows, length});
    const Forward::primitive_desc forward = described(*context, x);
    forward_.emplace(context, Forward(forward), forward.scratchpad_desc());
    forward_->with(DNNL_ARG_SRC, x, input(0).raw()).with(DNNL_ARG_DST, x, output().raw());
    add_common(*forward_, forward);
    if (!operands.has_gradients()) return;
    const Backward::primitive_desc backward = described_gradient(*context, x, forward);
    backward_.emplace(context, Backward(backward), backward.scratchpad_desc());
    backward_->with(DNNL_ARG_SRC, x, input(0).raw())
        .with(DNNL_ARG_DIFF_DST, x, output_gradient().raw())
        .with(DNNL_ARG_DIFF_SRC, x, gradient_of(0));
    add_common(*backward_, forward);
    if (op.has_scale) backward_->with(DNNL_ARG_DIFF_SCALE, of_weights(), gradient_of(1));
    if (op.has_center)
      backward_->with(DNNL_ARG_DIFF_SHIFT, of_weights(), gradient_of(1 + op.has_scale));
  }

  void forward() override { forward_->run(); }
  void backward() override { backward_->run(); }

 private:
  dnnl::normalization_flags flags() const {
    auto flags = dnnl::normalization_flags::none;
    if (op_.has_scale) flags |= dnnl::normalization_flags::use_scale;
    if (op_.has_center) flags |= dnnl::normalization_flags::use_shift;
    return flags;
  }
  Forward::primitive_desc described(const OnednnContext &context, const MemoryDesc &x) const {
    return describe<Forward>(context.engine, usual_attributes(), dnnl::prop_kind::forward_training,
                             x,
#if DNNL_VERSION_MAJOR >= 3
                             x,
#endif
                             op_.epsilon, flags());
  }
  Backward::primitive_desc described_gradient(const OnednnContext &context, const MemoryDesc &x,
                                              const Forward::primitive_desc &forward) const {
    return describe_gradient<Backward>(context.engine, usual_attributes(), forward,
                                       dnnl::prop_kind::backward, x, x,
#if DNNL_VERSION_MAJOR >= 3
                                       x,
#endif
                                       op_.epsilon, flags());
  }
  void add_common(OnednnPrimitive &primitive, const Forward::primitive_desc &forward) const {
    primitive.with(DNNL_ARG_MEAN, forward.mean_desc(), mean_.raw())
        .with(DNNL_ARG_VARIANCE, forward.variance_desc(), variance_.raw());
    if (op_.has_scale) primitive.with(DNNL_ARG_SCALE, of_weights(), input(1).raw());
    // oneDNN 2 asks for it backward, too.
    if (op_.has_center)
      primitive.with(DNNL_ARG_SHIFT, of_weights(), input(1 + op_.has_scale).raw());
  }
  MemoryDesc of_weights() const { return row_major({input(0).shape().back()}); }
  // Where oneDNN writes a gradient, which nobody may have asked for.
  void *gradient_of(size_t input_number) {
    if (const Array &asked = input_gradient(input_number)) return asked.raw();
    unasked_.emplace_back(input(input_number).type());
    return unasked_.back().raw();
  }

  const Array mean_, variance_;
  std::vector<Array> unasked_;
  std::optional<OnednnPrimitive> forward_, backward_;
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const LayerNormalizationOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  const Array &x = operands.inputs.at(0);
  if (x.size() == 0) return nullptr;
  const int64_t length = x.shape().back();
  return std::make_unique<OnednnLayerNormalization>(
      op, operands, context, static_cast<int64_t>(x.size()) / length, length);
}

}  // namespace det::nn

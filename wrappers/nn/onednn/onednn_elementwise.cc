#include <optional>

#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

constexpr size_t few_elements = 1024;

// Where oneDNN 2 is told of an array once, oneDNN 3 is told of what goes in and what comes out.
#if DNNL_VERSION_MAJOR >= 3

dnnl::eltwise_forward::primitive_desc describe_function(const dnnl::engine &engine,
                                                        dnnl::algorithm function,
                                                        const MemoryDesc &array, float alpha) {
  return describe<dnnl::eltwise_forward>(engine, usual_attributes(),
                                         dnnl::prop_kind::forward_training, function, array, array,
                                         alpha, 0.0F);
}

dnnl::eltwise_backward::primitive_desc describe_derivative(const dnnl::engine &engine,
                                                           dnnl::algorithm function,
                                                           const MemoryDesc &array, float alpha) {
  return describe_gradient<dnnl::eltwise_backward>(
      engine, usual_attributes(), describe_function(engine, function, array, alpha), function,
      array, array, array, alpha, 0.0F);
}

dnnl::softmax_forward::primitive_desc describe_softmax(const dnnl::engine &engine,
                                                       const MemoryDesc &array) {
  return describe<dnnl::softmax_forward>(engine, usual_attributes(),
                                         dnnl::prop_kind::forward_training,
                                         dnnl::algorithm::softmax_accurate, array, array, 1);
}

dnnl::softmax_backward::primitive_desc describe_softmax_derivative(const dnnl::engine &engine,
                                                                   const MemoryDesc &array) {
  return describe_gradient<dnnl::softmax_backward>(
      engine, usual_attributes(), describe_softmax(engine, array),
      dnnl::algorithm::softmax_accurate, array, array, array, 1);
}

#else

dnnl::eltwise_forward::primitive_desc describe_function(const dnnl::engine &engine,
                                                        dnnl::algorithm function,
                                                        const MemoryDesc &array, float alpha) {
  return describe<dnnl::eltwise_forward>(
      engine, usual_attributes(), dnnl::prop_kind::forward_training, function, array, alpha, 0.0F);
}

dnnl::eltwise_backward::primitive_desc describe_derivative(const dnnl::engine &engine,
                                                           dnnl::algorithm function,
                                                           const MemoryDesc &array, float alpha) {
  return describe_gradient<dnnl::eltwise_backward>(
      engine, usual_attributes(), describe_function(engine, function, array, alpha), function,
      array, array, alpha, 0.0F);
}

dnnl::softmax_forward::primitive_desc describe_softmax(const dnnl::engine &engine,
                                                       const MemoryDesc &array) {
  return describe<dnnl::softmax_forward>(engine, usual_attributes(),
                                         dnnl::prop_kind::forward_training, array, 1);
}

dnnl::softmax_backward::primitive_desc describe_softmax_derivative(const dnnl::engine &engine,
                                                                   const MemoryDesc &array) {
  return describe_gradient<dnnl::softmax_backward>(
      engine, usual_attributes(), describe_softmax(engine, array), array, array, 1);
}

#endif

class OnednnActivation : public OperationKernel<ActivationOp> {
 public:
  OnednnActivation(const ActivationOp &op, const Operands &operands,
                   const OnednnContextPtr &context)
      : OperationKernel(op, operands) {
    const dnnl::algorithm function = function_of(op.activation);
    const float alpha = op.activation == Activation::leaky_relu || op.activation == Activation::elu
                            ? op.alpha
                            : of_oneself(op.activation);
    const MemoryDesc array = row_major({static_cast<int64_t>(output().size())});
    const auto forward = describe_function(context->engine, function, array, alpha);
    forward_.emplace(context, dnnl::eltwise_forward(forward), forward.scratchpad_desc());
    forward_->with(DNNL_ARG_SRC, array, input(0).raw()).with(DNNL_ARG_DST, array, output().raw());
    if (!input_gradient(0)) return;
    const auto backward = describe_derivative(context->engine, function, array, alpha);
    backward_.emplace(context, dnnl::eltwise_backward(backward), backward.scratchpad_desc());
    backward_->with(DNNL_ARG_SRC, array, input(0).raw())
        .with(DNNL_ARG_DIFF_DST, array, output_gradient().raw())
        .with(DNNL_ARG_DIFF_SRC, array, input_gradient(0).raw());
  }

  void forward() override { forward_->run(); }
  void backward() override { backward_->run(); }

 private:
  // What oneDNN asks for where Keras has nothing to choose.
  static float of_oneself(Activation activation) {
    return activation == Activation::silu || activation == Activation::softplus ? 1 : 0;
  }

  std::optional<OnednnPrimitive> forward_, backward_;
};

class OnednnSoftmax : public OperationKernel<SoftmaxOp> {
 public:
  OnednnSoftmax(const SoftmaxOp &op, const Operands &operands, const OnednnContextPtr &context)
      : OperationKernel(op, operands) {
    const int64_t length = output().shape().back();
    const MemoryDesc array = row_major({static_cast<int64_t>(output().size()) / length, length});
    const auto forward = describe_softmax(context->engine, array);
    forward_.emplace(context, dnnl::softmax_forward(forward), forward.scratchpad_desc());
    forward_->with(DNNL_ARG_SRC, array, input(0).raw()).with(DNNL_ARG_DST, array, output().raw());
    if (!input_gradient(0)) return;
    const auto backward = describe_softmax_derivative(context->engine, array);
    backward_.emplace(context, dnnl::softmax_backward(backward), backward.scratchpad_desc());
    backward_->with(DNNL_ARG_DST, array, output().raw())
        .with(DNNL_ARG_DIFF_DST, array, output_gradient().raw())
        .with(DNNL_ARG_DIFF_SRC, array, input_gradient(0).raw());
  }

  void forward() override { forward_->run(); }
  void backward() override { backward_->run(); }

 private:
  std::optional<OnednnPrimitive> forward_, backward_;
};

}  // namespace

dnnl::algorithm function_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
    case Activation::leaky_relu:
      return dnnl::algorithm::eltwise_relu;
    case Activation::sigmoid:
      return dnnl::algorithm::eltwise_logistic;
    case Activation::tanh:
      return dnnl::algorithm::eltwise_tanh;
    case Activation::elu:
      return dnnl::algorithm::eltwise_elu;
    case Activation::softplus:
      return dnnl::algorithm::eltwise_soft_relu;
    case Activation::silu:
      return dnnl::algorithm::eltwise_swish;
    case Activation::gelu:
      return dnnl::algorithm::eltwise_gelu_erf;
    case Activation::gelu_approximate:
      return dnnl::algorithm::eltwise_gelu_tanh;
    default:
      return dnnl::algorithm::undef;
  }
}

std::unique_ptr<Kernel> onednn_kernel(const ActivationOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (operands.outputs.at(0).size() < few_elements ||
      function_of(op.activation) == dnnl::algorithm::undef)
    return nullptr;
  return std::make_unique<OnednnActivation>(op, operands, context);
}

std::unique_ptr<Kernel> onednn_kernel(const SoftmaxOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (op.is_logarithm || operands.outputs.at(0).size() < few_elements) return nullptr;
  return std::make_unique<OnednnSoftmax>(op, operands, context);
}

}  // namespace det::nn

#include "wrappers/nn/cuda/activation_gradient.h"
#include "wrappers/nn/cuda/column_sums.h"
#include "wrappers/nn/cuda/convolution_plan.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/direct_convolution.h"
#include "wrappers/nn/cuda/moves.h"
#include "wrappers/nn/cuda/narrowed.h"

namespace det::nn {

namespace {

// One of x, the kernel and y as cuDNN is given it: what is computed there comes out in 16 bits
// where it cannot be had in more.
struct Written {
  std::unique_ptr<ConvolutionPlan> plan;
  std::optional<Narrowed> narrow;

  explicit operator bool() const { return plan != nullptr; }
  void run(float *to) const {
    plan->run();
    if (narrow) narrow->widen(to);
  }
};

class ConvolutionKernel : public CudaKernel<ConvolutionOp> {
 public:
  ConvolutionKernel(const ConvolutionOp &op, const Operands &operands,
                    const CudaContextPtr &context)
      : CudaKernel(op, operands, context),
        direct_(context, op.window, op.groups, input(0).shape(), input(1).shape(),
                output().shape()),
        gradient_(context, op.activation, output().size()),
        of_bias_(*context, output().size() / std::max<size_t>(channels(), 1), channels()) {
    // Of groups cuDNN has ways for few shapes.
    if (op.groups == 1) prepare();
  }

  void forward() override {
    if (forward_) {
      give_image();
      kernel_narrow_->run(turned_kernel_.data());
      forward_.run(output().data());
    } else {
      direct_.forward(input(0).data(), input(1).data(), bias(), output().data());
    }
    if (!forward_ || !is_fused_) finish(forward_ && inputs() == 3);
  }

  void backward() override {
    const float *sums = gradient_.run(output().data(), output_gradient().data());
    if (of_input_ || of_kernel_) give_gradient(sums);
    if (const Array &dx = input_gradient(0)) {
      if (!of_input_) direct_.of_input(sums, input(1).data(), dx.data());
      else take_image_gradient(dx);
    }
    if (const Array &dkernel = input_gradient(1)) {
      if (!of_kernel_) direct_.of_kernel(input(0).data(), sums, dkernel.data());
      else take_kernel_gradient(dkernel);
    }
    if (inputs() < 3 || !input_gradient(2)) return;
    const size_t channels = this->channels();
    of_bias_.run(
        [=] DET_DEVICE(size_t row, size_t channel) { return sums[row * channels + channel]; },
        input_gradient(2).data());
  }

  // The bias, where it is still to come, and the activation.
  void finish(bool adds_bias) const {
    if (adds_bias) {
      const float *bias = this->bias();
      float *y = output().data();
      const size_t channels = this->channels();
      for_each(*context_, output().size(),
               [=] DET_DEVICE(size_t i) { y[i] += bias[i % channels]; });
    }
    gradient_.apply(output().data(), Result(operands_));
  }

 private:
  size_t channels() const { return static_cast<size_t>(output().shape()[3]); }
  const float *bias() const { return inputs() == 3 ? input(2).data() : nullptr; }
  bool is_padded_evenly() const { return op_.window.before == op_.window.after; }

  // cuDNN pads alike at both edges: what is not is padded before it.
  void prepare() {
    const Shape &x = input(0).shape();
    const Shape &kernel = input(1).shape();
    ConvolutionShape shape{x,
                           {kernel[3], kernel[0], kernel[1], kernel[2]},
                           output().shape(),
                           op_.window,
                           operands_.precision,
                           Dtype::f32};
    image_ = input(0);
    image_gradient_ = input_gradient(0);
    if (!is_padded_evenly()) {
      const Window &window = op_.window;
      shape.x[1] += window.before[0] + window.after[0];
      shape.x[2] += window.before[1] + window.after[1];
      shape.window.before = shape.window.after = {0, 0};
      const Shape strides = strides_of(shape.x);
      in_padded_ =
          make_places(x, strides, window.before[0] * strides[1] + window.before[1] * strides[2]);
      image_ = scratch(static_cast<size_t>(elements_of(shape.x)));
      clear(*context_, image_);
      if (image_gradient_) image_gradient_ = scratch(image_.size());
    }
    turned_kernel_ = scratch(input(1).size()).reshaped(shape.kernel);
    turned_gradient_ = scratch(input(1).size()).reshaped(shape.kernel);
    in_kernel_ = make_places(
        shape.kernel, {1, kernel[1] * kernel[2] * kernel[3], kernel[2] * kernel[3], kernel[3]});
    image_narrow_.emplace(context_, image_.size(), shape.precision);
    kernel_narrow_.emplace(context_, turned_kernel_.size(), shape.precision);
    gradient_narrow_.emplace(context_, output().size(), shape.precision);
    plan_all(shape);
  }

  void plan_all(const ConvolutionShape &shape) {
    const bool is_relu = op_.activation == Activation::relu;
    ConvolutionArrays arrays{image_narrow_->of(image_.data()),
                             kernel_narrow_->of(turned_kernel_.data()), output().data()};
    if (inputs() == 3 && (is_relu || op_.activation == Activation::linear)) {
      ConvolutionArrays fused = arrays;
      fused.bias = bias();
      fused.is_relu = is_relu;
      forward_.plan = ConvolutionPlan::make(context_, ConvolutionPart::forward, shape, fused);
      is_fused_ = forward_.plan != nullptr;
    }
    if (!forward_)
      forward_ = plan(ConvolutionPart::forward, shape, arrays, &ConvolutionArrays::y, output());
    // The gradient of the sums lies in dy itself, or where it is multiplied or narrowed.
    arrays.y = gradient_narrow_->of(const_cast<float *>(gradient_.place(output_gradient())));
    if (!output_gradient()) return;
    if (image_gradient_)
      of_input_ =
          plan(ConvolutionPart::of_input, shape, arrays, &ConvolutionArrays::x, image_gradient_);
    if (input_gradient(1))
      of_kernel_ = plan(ConvolutionPart::of_kernel, shape, arrays, &ConvolutionArrays::kernel,
                        turned_gradient_);
  }

  Written plan(ConvolutionPart part, ConvolutionShape shape, ConvolutionArrays arrays,
               void *ConvolutionArrays::*written, const Array &to) const {
    arrays.*written = to.raw();
    Written found{ConvolutionPlan::make(context_, part, shape, arrays), std::nullopt};
    if (found || shape.precision == Dtype::f32) return found;
    shape.result = shape.precision;
    found.narrow.emplace(context_, to.size(), shape.precision);
    arrays.*written = found.narrow->of(to.data());
    found.plan = ConvolutionPlan::make(context_, part, shape, arrays);
    return found;
  }

  void give_image() const {
    if (!is_padded_evenly()) scatter(*context_, input(0), image_.data(), in_padded_);
    image_narrow_->run(image_.data());
    gather(*context_, input(1).data(), turned_kernel_, in_kernel_);
  }
  void give_gradient(const float *sums) const {
    gradient_narrow_->run(sums);
    if (forward_) return;
    // Nobody has given them yet.
    give_image();
    kernel_narrow_->run(turned_kernel_.data());
  }
  void take_image_gradient(const Array &dx) const {
    of_input_.run(image_gradient_.data());
    if (!is_padded_evenly()) gather(*context_, image_gradient_.data(), dx, in_padded_);
  }
  void take_kernel_gradient(const Array &dkernel) const {
    of_kernel_.run(turned_gradient_.data());
    scatter(*context_, turned_gradient_, dkernel.data(), in_kernel_);
  }

  const DirectConvolution direct_;
  const ActivationGradient gradient_;
  const ColumnSums of_bias_;
  // For cuDNN: the image with what is padded, and the kernel with its results first.
  Array image_, image_gradient_, turned_kernel_, turned_gradient_;
  Places in_padded_, in_kernel_;
  std::optional<Narrowed> image_narrow_, kernel_narrow_, gradient_narrow_;
  Written forward_, of_input_, of_kernel_;
  bool is_fused_ = false;  // forward_ adds the bias and has the activation
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const ConvolutionOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (operands.outputs.at(0).size() == 0 || operands.inputs.at(1).size() == 0) return nullptr;
  return std::make_unique<ConvolutionKernel>(op, operands, context);
}

}  // namespace det::nn

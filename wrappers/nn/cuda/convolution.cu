#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/cuda/activation_gradient.h"
#include "wrappers/nn/cuda/convolution_plan.h"
#include "wrappers/nn/cuda/cuda_context.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/moves.h"
#include "wrappers/nn/cuda/narrowed.h"
#include "wrappers/nn/cuda/sums.h"
#include "wrappers/nn/operations/operations.h"

namespace det::nn {

// Convolutions by plain loops on the GPU: of groups, and where cuDNN has no way.

// Of one shape: images (batch, height, width, channels), the kernel (height, width, in / groups,
// out). `sums` is y before its activation, or the gradient of that.
class DirectConvolution {
 public:
  struct Dimension;
  struct Sizes;

  DirectConvolution(CudaContextPtr context, const Window &window, int64_t groups, const Shape &x,
                    const Shape &kernel, const Shape &y);

  // y = x * kernel + bias, which may be null.
  void forward(const float *x, const float *kernel, const float *bias, float *y) const;
  void of_input(const float *sums, const float *kernel, float *dx) const;
  void of_kernel(const float *x, const float *sums, float *dkernel) const;

 private:
  const CudaContextPtr context_;
  const std::shared_ptr<const Sizes> sizes_;
};

// One dimension of the image, and of its windows.
struct DirectConvolution::Dimension {
  int64_t size, stride, dilation, before, image, count;

  // The element of the image that a place of a window is on, or -1 where that is padded.
  DET_HOST_DEVICE int64_t element(int64_t window, int64_t place) const {
    const int64_t at = window * stride - before + place * dilation;
    return at < image ? at : -1;
  }
  // The window whose `place` is on an element, or -1.
  DET_HOST_DEVICE int64_t window(int64_t element, int64_t place) const {
    const int64_t begin = element + before - place * dilation;
    if (begin < 0 || begin % stride != 0) return -1;
    return begin / stride < count ? begin / stride : -1;
  }
};

struct DirectConvolution::Sizes {
  Dimension down, across;
  int64_t batch, groups, in, out;  // channels of one group

  DET_HOST_DEVICE int64_t x(int64_t n, int64_t row, int64_t column) const {
    return ((n * down.image + row) * across.image + column) * groups * in;
  }
  DET_HOST_DEVICE int64_t y(int64_t n, int64_t row, int64_t column) const {
    return ((n * down.count + row) * across.count + column) * groups * out;
  }
  DET_HOST_DEVICE int64_t kernel(int64_t i, int64_t j, int64_t channel) const {
    return ((i * across.size + j) * in + channel) * groups * out;
  }
};

DirectConvolution::DirectConvolution(CudaContextPtr context, const Window &window, int64_t groups,
                                     const Shape &x, const Shape &kernel, const Shape &y)
    : context_(std::move(context)),
      sizes_(std::make_shared<Sizes>(Sizes{
          {window.size[0], window.strides[0], window.dilation[0], window.before[0], x[1], y[1]},
          {window.size[1], window.strides[1], window.dilation[1], window.before[1], x[2], y[2]},
          x[0],
          groups,
          kernel[2],
          kernel[3] / groups})) {}

void DirectConvolution::forward(const float *x, const float *kernel, const float *bias,
                                float *y) const {
  const Sizes s = *sizes_;
  const auto count = static_cast<size_t>(s.y(s.batch, 0, 0));
  for_each(*context_, count, [=] DET_DEVICE(size_t at) {
    const auto i = static_cast<int64_t>(at);
    const int64_t channels = s.groups * s.out;
    const int64_t channel = i % channels;
    const int64_t column = i / channels % s.across.count;
    const int64_t row = i / channels / s.across.count % s.down.count;
    const int64_t n = i / channels / s.across.count / s.down.count;
    float sum = bias != nullptr ? bias[channel] : 0;
    for (int64_t p = 0; p < s.down.size; ++p)
      for (int64_t q = 0; q < s.across.size; ++q) {
        const int64_t r = s.down.element(row, p);
        const int64_t c = s.across.element(column, q);
        if (r < 0 || c < 0) continue;
        const float *from = x + s.x(n, r, c) + channel / s.out * s.in;
        for (int64_t k = 0; k < s.in; ++k) sum += from[k] * kernel[s.kernel(p, q, k) + channel];
      }
    y[i] = sum;
  });
}

void DirectConvolution::of_input(const float *sums, const float *kernel, float *dx) const {
  const Sizes s = *sizes_;
  const auto count = static_cast<size_t>(s.x(s.batch, 0, 0));
  for_each(*context_, count, [=] DET_DEVICE(size_t at) {
    const auto i = static_cast<int64_t>(at);
    const int64_t channels = s.groups * s.in;
    const int64_t group = i % channels / s.in;
    const int64_t column = i / channels % s.across.image;
    const int64_t row = i / channels / s.across.image % s.down.image;
    const int64_t n = i / channels / s.across.image / s.down.image;
    float sum = 0;
    for (int64_t p = 0; p < s.down.size; ++p)
      for (int64_t q = 0; q < s.across.size; ++q) {
        const int64_t r = s.down.window(row, p);
        const int64_t c = s.across.window(column, q);
        if (r < 0 || c < 0) continue;
        const float *from = sums + s.y(n, r, c) + group * s.out;
        const float *of = kernel + s.kernel(p, q, i % s.in) + group * s.out;
        for (int64_t k = 0; k < s.out; ++k) sum += from[k] * of[k];
      }
    dx[i] = sum;
  });
}

// A row of threads for each element of the kernel, which share the windows.
void DirectConvolution::of_kernel(const float *x, const float *sums, float *dkernel) const {
  const Sizes s = *sizes_;
  const auto count = static_cast<size_t>(s.kernel(s.down.size, 0, 0));
  const auto windows = static_cast<size_t>(s.batch * s.down.count * s.across.count);
  for_each_row(*context_, count, windows, [=] DET_DEVICE(const RowGroup &group, size_t at) {
    const auto i = static_cast<int64_t>(at);
    const int64_t channels = s.groups * s.out;
    const int64_t channel = i % channels;
    const int64_t k = i / channels % s.in;
    const int64_t q = i / channels / s.in % s.across.size;
    const int64_t p = i / channels / s.in / s.across.size;
    const float sum = group.sum(windows, [&](size_t w) {
      const auto window = static_cast<int64_t>(w);
      const int64_t column = window % s.across.count;
      const int64_t row = window / s.across.count % s.down.count;
      const int64_t n = window / s.across.count / s.down.count;
      const int64_t r = s.down.element(row, p);
      const int64_t c = s.across.element(column, q);
      if (r < 0 || c < 0) return 0.0F;
      return x[s.x(n, r, c) + channel / s.out * s.in + k] * sums[s.y(n, row, column) + channel];
    });
    if (group.is_first()) dkernel[i] = sum;
  });
}

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

#include <cstring>
#include <optional>

#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/onednn/onednn_primitive.h"
#include "wrappers/nn/onednn/sums_gradient.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

// An array of ours, or where a primitive wants another layout, a copy of it.
class Reordered {
 public:
  Reordered(const std::shared_ptr<OnednnContext> &context, const MemoryDesc &ours,
            const Array &array, const MemoryDesc &theirs)
      : theirs_(theirs), array_(array) {
    if (ours == theirs) return;
    // Blocks may be filled up behind the last element.
    const auto floats = static_cast<int64_t>(theirs.get_size() / sizeof(float));
    copy_ = Array({{floats}, Dtype::f32});
    in_.emplace(reordering(context, ours, array.raw(), theirs, copy_.raw()));
    out_.emplace(reordering(context, theirs, copy_.raw(), ours, array.raw()));
  }

  // What the primitive works on.
  const MemoryDesc &desc() const { return theirs_; }
  void *raw() const { return copy_ ? copy_.raw() : array_.raw(); }

  // Before a primitive that reads it, and after one that writes it.
  void bring_in() const {
    if (in_) in_->run();
  }
  void bring_out() const {
    if (out_) out_->run();
  }

 private:
  const MemoryDesc theirs_;
  const Array array_;
  Array copy_;
  std::optional<OnednnPrimitive> in_, out_;
};

constexpr auto f32 = dnnl::memory::data_type::f32;

constexpr int64_t few_channels = 4;

// (batch, height, width, channels), in the order in which oneDNN counts dimensions.
MemoryDesc image_desc(const Shape &shape) {
  const int64_t height = shape[1], width = shape[2], channels = shape[3];
  return {{shape[0], channels, height, width},
          f32,
          dnnl::memory::dims{height * width * channels, 1, width * channels, channels}};
}

// (height, width, in, out), of each group by itself.
MemoryDesc kernel_desc(const Shape &shape, int64_t groups) {
  const int64_t height = shape[0], width = shape[1], in = shape[2], out = shape[3];
  return {{groups, out / groups, in, height, width},
          f32,
          dnnl::memory::dims{out / groups, 1, out, width * in * out, in * out}};
}

MemoryDesc any_layout(const MemoryDesc &desc) {
#if DNNL_VERSION_MAJOR >= 3
  return {desc.get_dims(), f32, dnnl::memory::format_tag::any};
#else
  return {desc.dims(), f32, dnnl::memory::format_tag::any};
#endif
}

// oneDNN's own plain loops.
template <class Prepared>
bool is_slow(const Prepared &prepared) {
  return std::strstr(prepared.impl_info_str(), "ref") != nullptr;
}

ConvolutionShape shape_of(const Window &window) {
  const auto pair = [](const Window::Sizes &sizes, int64_t less) {
    return dnnl::memory::dims{sizes[0] - less, sizes[1] - less};
  };
  return {pair(window.strides, 0), pair(window.dilation, 1), pair(window.before, 0),
          pair(window.after, 0)};
}

class OnednnConvolution : public OperationKernel<ConvolutionOp> {
  // Channels last, unless only plain loops can do that.
  template <class Describe>
  auto in_best_layout(const Describe &describe) const {
    auto prepared = describe(x_, y_);
    return is_slow(prepared) ? describe(any_layout(x_), any_layout(y_)) : prepared;
  }
  // Of so few channels laying out the results takes less than filling vectors up with zeros. And a
  // kernel of one pixel with strides first gathers the pixels that count, in whole blocks of
  // channels: where channels are last and fewer than a block, oneDNN 2.6 writes behind its memory.
  template <class Describe>
  auto in_best_layout_of_kernel(const Describe &describe) const {
    constexpr Window::Sizes one{1, 1};
    const bool has_few_channels = op_.groups == 1 && input(0).shape()[3] < few_channels;
    const bool gathers = op_.window.size == one && op_.window.strides != one;
    return has_few_channels || gathers ? describe(any_layout(x_), any_layout(y_))
                                       : in_best_layout(describe);
  }

 public:
  OnednnConvolution(const ConvolutionOp &op, const Operands &operands,
                    const OnednnContextPtr &context)
      : OperationKernel(op, operands),
        context_(context),
        shape_(shape_of(op.window)),
        x_(image_desc(input(0).shape())),
        kernel_(kernel_desc(input(1).shape(), op.groups)),
        y_(image_desc(output().shape())),
        bias_(has_bias() ? row_major(input(2).shape()) : MemoryDesc()),
        sums_gradient_(op.activation, output(), output_gradient(), operands.has_gradients(),
                       *context) {
    prepare_forward();
    const auto plain = in_best_layout([&](const MemoryDesc &x, const MemoryDesc &y) {
      return describe_convolution(context_->engine, shape_, x, any_layout(kernel_), bias_, y,
                                  usual_attributes());
    });
    if (input_gradient(0)) prepare_of_input(plain);
    if (input_gradient(1) || gives_bias_gradient()) prepare_of_kernel(plain);
  }

  void forward() override { forward_.run(); }

  void backward() override {
    sums_gradient_.find();
    of_input_.run();
    of_kernel_.run();
  }

 private:
  // A primitive between arrays that are brought to it and from it.
  struct Stage {
    std::vector<std::unique_ptr<Reordered>> read, written;
    std::optional<OnednnPrimitive> primitive;

    void run() const {
      if (!primitive) return;
      for (const auto &array : read) array->bring_in();
      primitive->run();
      for (const auto &array : written) array->bring_out();
    }
  };

  bool has_bias() const { return inputs() == 3; }
  bool gives_bias_gradient() const { return has_bias() && input_gradient(2); }

  void add(Stage &stage, bool is_written, int argument, const MemoryDesc &ours, const Array &array,
           const MemoryDesc &theirs) const {
    auto &list = is_written ? stage.written : stage.read;
    list.push_back(std::make_unique<Reordered>(context_, ours, array, theirs));
    stage.primitive->with(argument, list.back()->desc(), list.back()->raw());
  }

  void prepare_forward() {
    dnnl::primitive_attr attributes = usual_attributes();
    dnnl::post_ops after;
    if (op_.activation != Activation::linear) append_function(after, function_of(op_.activation));
    attributes.set_post_ops(after);
    const auto prepared = in_best_layout([&](const MemoryDesc &x, const MemoryDesc &y) {
      return describe_convolution(context_->engine, shape_, x, any_layout(kernel_), bias_, y,
                                  attributes);
    });
    forward_.primitive.emplace(context_, dnnl::convolution_forward(prepared),
                               prepared.scratchpad_desc());
    add(forward_, false, DNNL_ARG_SRC, x_, input(0), prepared.src_desc());
    add(forward_, false, DNNL_ARG_WEIGHTS, kernel_, input(1), prepared.weights_desc());
    if (has_bias()) forward_.primitive->with(DNNL_ARG_BIAS, bias_, input(2).raw());
    add(forward_, true, DNNL_ARG_DST, y_, output(), prepared.dst_desc());
  }

  void prepare_of_input(const dnnl::convolution_forward::primitive_desc &plain) {
    const auto prepared = in_best_layout([&](const MemoryDesc &x, const MemoryDesc &y) {
      return describe_convolution_of_input(context_->engine, shape_, x, any_layout(kernel_), y,
                                           plain, usual_attributes());
    });
    of_input_.primitive.emplace(context_, dnnl::convolution_backward_data(prepared),
                                prepared.scratchpad_desc());
    add(of_input_, false, DNNL_ARG_DIFF_DST, y_, sums_gradient_.array(), prepared.diff_dst_desc());
    add(of_input_, false, DNNL_ARG_WEIGHTS, kernel_, input(1), prepared.weights_desc());
    add(of_input_, true, DNNL_ARG_DIFF_SRC, x_, input_gradient(0), prepared.diff_src_desc());
  }

  void prepare_of_kernel(const dnnl::convolution_forward::primitive_desc &plain) {
    const auto prepared = in_best_layout_of_kernel([&](const MemoryDesc &x, const MemoryDesc &y) {
      return describe_convolution_of_kernel(context_->engine, shape_, x, any_layout(kernel_), bias_,
                                            y, plain, usual_attributes());
    });
    of_kernel_.primitive.emplace(context_, dnnl::convolution_backward_weights(prepared),
                                 prepared.scratchpad_desc());
    add(of_kernel_, false, DNNL_ARG_SRC, x_, input(0), prepared.src_desc());
    add(of_kernel_, false, DNNL_ARG_DIFF_DST, y_, sums_gradient_.array(), prepared.diff_dst_desc());
    unasked_kernel_ = input_gradient(1) ? input_gradient(1) : Array(input(1).type());
    add(of_kernel_, true, DNNL_ARG_DIFF_WEIGHTS, kernel_, unasked_kernel_,
        prepared.diff_weights_desc());
    if (!has_bias()) return;
    unasked_bias_ = input_gradient(2) ? input_gradient(2) : Array(input(2).type());
    of_kernel_.primitive->with(DNNL_ARG_DIFF_BIAS, bias_, unasked_bias_.raw());
  }

  const OnednnContextPtr context_;
  const ConvolutionShape shape_;
  const MemoryDesc x_, kernel_, y_, bias_;
  const SumsGradient sums_gradient_;
  Stage forward_, of_input_, of_kernel_;
  Array unasked_kernel_, unasked_bias_;  // oneDNN gives both, or the caller's own
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const ConvolutionOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (operands.outputs.at(0).size() == 0 || operands.inputs[1].size() == 0) return nullptr;
  return std::make_unique<OnednnConvolution>(op, operands, context);
}

}  // namespace det::nn

// Convolutions of one and two spatial dimensions, and those the other way round, in which each
// pixel becomes a window of the result.
#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/layers/activation_layers.h"
#include "wrappers/nn/layers/layer_table.h"
#include "wrappers/nn/layers/window_fields.h"

namespace det::nn {

namespace {

// What all of them do, with the names of their weights' fields.
class ConvolutionLayer : public Layer {
 protected:
  ConvolutionLayer(Fields &fields, size_t dimensions, const std::string &kernel)
      : Layer(fields),
        window_(WindowFields::of_kernel(fields, dimensions, dimensions == 1 && kernel == "kernel")),
        activation_(fields, "activation"),
        has_bias_(fields.flag("use_bias", true)),
        kernel_name_(kernel == "kernel" ? kernel : kernel + "_kernel"),
        kernel_(fields, kernel, "glorot_uniform"),
        bias_(fields, "bias", "zeros") {
    read_activity_regularizer(fields);
  }

  // Of an input with so many channels: the kernel's last two sizes, and its groups.
  struct Channels {
    int64_t in_group;
    int64_t out;
    int64_t groups;
    Shape kernel;  // the last two sizes of the weight, as Keras has it
  };
  virtual Channels channels_of(int64_t in) const = 0;
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = as_image(builder, only_input(call, name()), window_.dimensions(), name());
    const Channels channels = channels_of(builder.shape(x)[3]);
    const Window window = window_.over(builder.shape(x));
    Shape shape = window_.size();
    shape.insert(shape.end(), channels.kernel.begin(), channels.kernel.end());
    Value kernel = weight(builder, kernel_name_, shape, kernel_);
    const Shape wanted{window.size[0], window.size[1], channels.in_group, channels.out};
    if (wanted != shape) kernel = builder.add(ReshapeOp{wanted}, {kernel});
    std::vector<Value> inputs{x, kernel};
    if (has_bias_) inputs.push_back(weight(builder, "bias", {channels.out}, bias_));
    const ConvolutionOp op{window, channels.groups, activation_.fused()};
    return {from_image(builder, activation_.add(builder, op, inputs), window_.dimensions())};
  }

 private:
  const WindowFields window_;
  const NamedActivation activation_;
  const bool has_bias_;
  const std::string kernel_name_;
  const WeightStyle kernel_, bias_;
};

// Conv1D and Conv2D.
class Convolution : public ConvolutionLayer {
 public:
  Convolution(Fields &fields, size_t dimensions)
      : ConvolutionLayer(fields, dimensions, "kernel"),
        filters_(positive_size(fields, "filters")),
        groups_(positive_size(fields, "groups", 1)) {
    if (filters_ % groups_ != 0)
      throw Error(Code::invalid, "reading " + fields.where() + ": " + std::to_string(filters_) +
                                     " 'filters' cannot be shared out to " +
                                     std::to_string(groups_) + " 'groups'");
  }

 protected:
  Channels channels_of(int64_t in) const override {
    if (in % groups_ != 0)
      throw Error(Code::invalid, "calling the layer '" + name() + "' with an input of " +
                                     std::to_string(in) +
                                     " channels: they cannot be shared out to " +
                                     std::to_string(groups_) + " 'groups'");
    return {in / groups_, filters_, groups_, {in / groups_, filters_}};
  }

 private:
  const int64_t filters_, groups_;
};

// Each channel by itself, into `depth_multiplier` of them.
class DepthwiseConvolution : public ConvolutionLayer {
 public:
  DepthwiseConvolution(Fields &fields, size_t dimensions)
      : ConvolutionLayer(fields, dimensions, "depthwise"),
        depth_multiplier_(positive_size(fields, "depth_multiplier", 1)) {
    fields.only("groups", 1);
  }

 protected:
  Channels channels_of(int64_t in) const override {
    return {1, elements_of({in, depth_multiplier_}), in, {in, depth_multiplier_}};
  }

 private:
  const int64_t depth_multiplier_;
};

// Each channel by itself, and then all of them at each place by a kernel of one pixel.
class SeparableConvolution : public Layer {
 public:
  SeparableConvolution(Fields &fields, size_t dimensions)
      : Layer(fields),
        window_(WindowFields::of_kernel(fields, dimensions, dimensions == 1)),
        activation_(fields, "activation"),
        has_bias_(fields.flag("use_bias", true)),
        filters_(positive_size(fields, "filters")),
        depth_multiplier_(positive_size(fields, "depth_multiplier", 1)),
        depthwise_(fields, "depthwise", "glorot_uniform"),
        pointwise_(fields, "pointwise", "glorot_uniform"),
        bias_(fields, "bias", "zeros") {
    fields.only("groups", 1);
    // Keras writes them as well, of a kernel that there is not.
    for (const char *key : {"kernel_initializer", "kernel_regularizer", "kernel_constraint"})
      fields.without_effect(key);
    read_activity_regularizer(fields);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const size_t dimensions = window_.dimensions();
    const Value x = as_image(builder, only_input(call, name()), dimensions, name());
    const int64_t in = builder.shape(x)[3];
    const int64_t between = elements_of({in, depth_multiplier_});
    const Window window = window_.over(builder.shape(x));
    const auto kernel = [&](const char *weight_name, Shape sizes, const Shape &channels,
                            const WeightStyle &style, const Shape &wanted) {
      sizes.insert(sizes.end(), channels.begin(), channels.end());
      const Value own = weight(builder, weight_name, sizes, style);
      return wanted == sizes ? own : builder.add(ReshapeOp{wanted}, {own});
    };
    const Value apart =
        builder.add(ConvolutionOp{window, in},
                    {x, kernel("depthwise_kernel", window_.size(), {in, depth_multiplier_},
                               depthwise_, {window.size[0], window.size[1], 1, between})});
    std::vector<Value> inputs{
        apart, kernel("pointwise_kernel", Shape(dimensions, 1), {between, filters_}, pointwise_,
                      {1, 1, between, filters_})};
    if (has_bias_) inputs.push_back(weight(builder, "bias", {filters_}, bias_));
    const ConvolutionOp op{{}, 1, activation_.fused()};
    return {from_image(builder, activation_.add(builder, op, inputs), dimensions)};
  }

 private:
  const WindowFields window_;
  const NamedActivation activation_;
  const bool has_bias_;
  const int64_t filters_, depth_multiplier_;
  const WeightStyle depthwise_, pointwise_, bias_;
};

class TransposedConvolution : public Layer {
 public:
  TransposedConvolution(Fields &fields, size_t dimensions)
      : Layer(fields),
        window_(WindowFields::of_kernel(fields, dimensions, false)),
        activation_(fields, "activation"),
        has_bias_(fields.flag("use_bias", true)),
        filters_(positive_size(fields, "filters")),
        kernel_(fields, "kernel", "glorot_uniform"),
        bias_(fields, "bias", "zeros") {
    fields.only("groups", 1);
    const Window window = window_.without_padding();
    if (fields.has("output_padding")) {
      const Shape sizes = fields.integers("output_padding", dimensions);
      output_padding_ = dimensions == 1 ? Window::Sizes{0, sizes[0]} : height_and_width(sizes);
      for (size_t d = 2 - dimensions; d < 2; ++d)
        if ((*output_padding_)[d] < 0 || (*output_padding_)[d] >= window.strides[d])
          throw Error(Code::invalid, "reading " + fields.where() + ": 'output_padding' is " +
                                         to_wire(fields.any("output_padding")) +
                                         ", and must be from 0 to below 'strides'");
    } else {
      fields.any("output_padding");
    }
    read_activity_regularizer(fields);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = as_image(builder, only_input(call, name()), window_.dimensions(), name());
    const Window window = window_.without_padding();
    const Shape given = builder.shape(x);
    Shape sizes = window_.size();
    sizes.insert(sizes.end(), {filters_, given[3]});
    Value kernel = weight(builder, "kernel", sizes, kernel_);
    if (window_.dimensions() == 1)
      kernel = builder.add(ReshapeOp{{1, sizes[0], filters_, given[3]}}, {kernel});
    Value y = whole(builder, x, kernel, window);
    PaddingOp cut{Shape(4), Shape(4)};
    for (size_t d = 0; d < 2; ++d) {
      const Kept part = kept(window, d, given[d + 1]);
      cut.before[d + 1] = -part.before;
      cut.after[d + 1] = part.size + part.before - builder.shape(y)[d + 1];
    }
    if (cut.before != Shape(4) || cut.after != Shape(4)) y = builder.add(cut, {y});
    if (has_bias_)
      y = builder.add(ArithmeticOp{Arithmetic::add},
                      {y, weight(builder, "bias", {filters_}, bias_)});
    return {from_image(builder, activation_.add(builder, y), window_.dimensions())};
  }

 private:
  // Of one dimension of the result: how long it is, and how much of all windows is before it.
  struct Kept {
    int64_t size, before;
  };
  // As Keras has it: of a convolution that makes `in` of what comes out here.
  Kept kept(const Window &window, size_t dimension, int64_t in) const {
    const int64_t extent = window.extent(dimension), stride = window.strides[dimension];
    const bool is_same = window_.padding() == Padding::same;
    const int64_t strides = elements_of({in, stride});
    int64_t size = is_same ? strides : strides + std::max<int64_t>(extent - stride, 0);
    if (output_padding_) {
      const int64_t cut = is_same ? extent / 2 * 2 : 0;
      size = strides - stride + extent - cut + (*output_padding_)[dimension];
    }
    const int64_t windows = is_same ? (size + stride - 1) / stride : (size - extent) / stride + 1;
    if (size < 1 || windows != in)
      throw Error(Code::invalid, "calling the layer '" + name() + "' (" + class_name() +
                                     ") with an input of " + std::to_string(in) +
                                     " places: with this 'output_padding' there is no convolution "
                                     "that it is the inverse of");
    const int64_t all = strides - stride + extent;
    return {size, is_same ? std::max<int64_t>(all - size, 0) / 2 : 0};
  }
  // All windows added up, from where the first begins; behind the last there may be zeros.
  // Places of the result that are a stride apart are computed of the same pixels: they are channels
  // of a plain convolution, with a part of the kernel each, and are put side by side afterwards.
  Value whole(ProgramBuilder &builder, Value x, Value kernel, const Window &window) const {
    const int64_t in = builder.shape(x)[3];
    const auto [down, across] = window.strides;
    Window parts;
    parts.dilation = window.dilation;
    Shape missing(4);
    for (size_t d = 0; d < 2; ++d) {
      parts.size[d] = (window.size[d] + window.strides[d] - 1) / window.strides[d];
      missing[d] = parts.size[d] * window.strides[d] - window.size[d];
      parts.before[d] = parts.after[d] = (parts.size[d] - 1) * window.dilation[d];
    }
    if (missing != Shape(4)) kernel = builder.add(PaddingOp{Shape(4), missing}, {kernel});
    kernel = builder.add(ReshapeOp{{parts.size[0], down, parts.size[1], across, filters_, in}},
                         {kernel});
    for (const size_t axis : {0, 2})
      if (builder.shape(kernel)[axis] > 1) kernel = builder.add(ReverseOp{axis}, {kernel});
    kernel = builder.add(TransposeOp{{0, 2, 5, 1, 3, 4}}, {kernel});
    const int64_t channels = elements_of({down, across, filters_});
    kernel = builder.add(ReshapeOp{{parts.size[0], parts.size[1], in, channels}}, {kernel});
    const Value y = builder.add(ConvolutionOp{parts}, {x, kernel});
    if (down == 1 && across == 1) return y;
    const Shape shape = builder.shape(y);
    const Value apart =
        builder.add(ReshapeOp{{shape[0], shape[1], shape[2], down, across, filters_}}, {y});
    const Value together = builder.add(TransposeOp{{0, 1, 3, 2, 4, 5}}, {apart});
    const int64_t rows = elements_of({shape[1], down}), columns = elements_of({shape[2], across});
    return builder.add(ReshapeOp{{shape[0], rows, columns, filters_}}, {together});
  }

  const WindowFields window_;
  const NamedActivation activation_;
  const bool has_bias_;
  const int64_t filters_;
  std::optional<Window::Sizes> output_padding_;
  const WeightStyle kernel_, bias_;
};

}  // namespace

LayerTable convolution_layers() {
  return {
      {"Conv1D", making<Convolution>(size_t{1})},
      {"Conv1DTranspose", making<TransposedConvolution>(size_t{1})},
      {"Conv2D", making<Convolution>(size_t{2})},
      {"Conv2DTranspose", making<TransposedConvolution>(size_t{2})},
      {"DepthwiseConv1D", making<DepthwiseConvolution>(size_t{1})},
      {"DepthwiseConv2D", making<DepthwiseConvolution>(size_t{2})},
      {"SeparableConv1D", making<SeparableConvolution>(size_t{1})},
      {"SeparableConv2D", making<SeparableConvolution>(size_t{2})},
  };
}

}  // namespace det::nn

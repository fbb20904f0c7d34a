#include "wrappers/nn/layers/convolution.h"

#include "core/base/error.h"

namespace det::nn {

ConvolutionLayer::ConvolutionLayer(Fields &fields, size_t dimensions, const std::string &kernel)
    : Layer(fields),
      window_(WindowFields::of_kernel(fields, dimensions, dimensions == 1 && kernel == "kernel")),
      activation_(fields, "activation"),
      has_bias_(fields.flag("use_bias", true)),
      kernel_name_(kernel == "kernel" ? kernel : kernel + "_kernel"),
      kernel_(fields, kernel, "glorot_uniform"),
      bias_(fields, "bias", "zeros") {
  read_activity_regularizer(fields);
}

std::vector<Value> ConvolutionLayer::compute(ProgramBuilder &builder, const LayerCall &call) const {
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

Convolution::Convolution(Fields &fields, size_t dimensions)
    : ConvolutionLayer(fields, dimensions, "kernel"),
      filters_(positive_size(fields, "filters")),
      groups_(positive_size(fields, "groups", 1)) {
  if (filters_ % groups_ != 0)
    throw Error(Code::invalid, "reading " + fields.where() + ": " + std::to_string(filters_) +
                                   " 'filters' cannot be shared out to " + std::to_string(groups_) +
                                   " 'groups'");
}

ConvolutionLayer::Channels Convolution::channels_of(int64_t in) const {
  if (in % groups_ != 0)
    throw Error(Code::invalid, "calling the layer '" + name() + "' with an input of " +
                                   std::to_string(in) + " channels: they cannot be shared out to " +
                                   std::to_string(groups_) + " 'groups'");
  return {in / groups_, filters_, groups_, {in / groups_, filters_}};
}

DepthwiseConvolution::DepthwiseConvolution(Fields &fields, size_t dimensions)
    : ConvolutionLayer(fields, dimensions, "depthwise"),
      depth_multiplier_(positive_size(fields, "depth_multiplier", 1)) {
  fields.only("groups", 1);
}

ConvolutionLayer::Channels DepthwiseConvolution::channels_of(int64_t in) const {
  return {1, elements_of({in, depth_multiplier_}), in, {in, depth_multiplier_}};
}

SeparableConvolution::SeparableConvolution(Fields &fields, size_t dimensions)
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

std::vector<Value> SeparableConvolution::compute(ProgramBuilder &builder,
                                                 const LayerCall &call) const {
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

}  // namespace det::nn

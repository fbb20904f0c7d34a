#include "wrappers/nn/layers/transposed_convolution.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

TransposedConvolution::TransposedConvolution(Fields &fields, size_t dimensions)
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

// As Keras has it: of a convolution that makes `in` of what comes out here.
TransposedConvolution::Kept TransposedConvolution::kept(const Window &window, size_t dimension,
                                                        int64_t in) const {
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

// Places of the result that are a stride apart are computed of the same pixels: they are channels
// of a plain convolution, with a part of the kernel each, and are put side by side afterwards.
Value TransposedConvolution::whole(ProgramBuilder &builder, Value x, Value kernel,
                                   const Window &window) const {
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
  kernel =
      builder.add(ReshapeOp{{parts.size[0], down, parts.size[1], across, filters_, in}}, {kernel});
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

std::vector<Value> TransposedConvolution::compute(ProgramBuilder &builder,
                                                  const LayerCall &call) const {
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
    y = builder.add(ArithmeticOp{Arithmetic::add}, {y, weight(builder, "bias", {filters_}, bias_)});
  return {from_image(builder, activation_.add(builder, y), window_.dimensions())};
}

}  // namespace det::nn

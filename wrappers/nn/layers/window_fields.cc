#include "wrappers/nn/layers/window_fields.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace det::nn {

namespace {

void check_positive(const Fields &fields, const char *key, int64_t size) {
  if (size < 1 || size > std::numeric_limits<int32_t>::max())
    throw Error(Code::invalid, "reading " + fields.where() + ": '" + key + "' has a " +
                                   std::to_string(size) + ", where a size of 1 or more is needed");
}

Padding padding_named(Fields &fields, bool takes_causal) {
  const std::string name = fields.text("padding", "valid");
  if (name == "valid") return Padding::valid;
  if (name == "same") return Padding::same;
  if (name == "causal" && takes_causal) return Padding::causal;
  throw Error(Code::invalid, "reading " + fields.where() + ": there is no padding '" + name +
                                 "'; there are 'valid'" +
                                 (takes_causal ? ", 'same' and 'causal'" : " and 'same'"));
}

}  // namespace

Shape positive_sizes(Fields &fields, const char *key, size_t count, std::optional<Shape> usual) {
  Shape sizes = fields.integers(key, count, std::move(usual));
  for (const int64_t size : sizes) check_positive(fields, key, size);
  return sizes;
}

int64_t positive_size(Fields &fields, const char *key, std::optional<int64_t> usual) {
  const int64_t size = fields.positive_integer(key, usual);
  check_positive(fields, key, size);
  return size;
}

Window::Sizes height_and_width(const Shape &sizes) {
  return sizes.size() == 1 ? Window::Sizes{1, sizes[0]} : Window::Sizes{sizes.at(0), sizes.at(1)};
}

Value as_image(ProgramBuilder &builder, Value x, size_t dimensions, const std::string &layer) {
  const Shape shape = builder.shape(x);
  if (shape.size() != dimensions + 2)
    throw Error(Code::invalid, "calling the layer '" + layer + "' with an input of " +
                                   text_of(shape) + ": it takes " +
                                   (dimensions == 1 ? "sequences (batch, steps, features)"
                                                    : "images (batch, height, width, channels)"));
  return dimensions == 2 ? x : builder.add(ReshapeOp{{shape[0], 1, shape[1], shape[2]}}, {x});
}

Value from_image(ProgramBuilder &builder, Value y, size_t dimensions) {
  if (dimensions == 2) return y;
  const Shape &shape = builder.shape(y);
  return builder.add(ReshapeOp{{shape[0], shape[2], shape[3]}}, {y});
}

WindowFields::WindowFields(Fields &fields, size_t dimensions, const char *size_key, bool is_pool,
                           bool takes_causal)
    : dimensions_(dimensions),
      size_(is_pool ? positive_sizes(fields, size_key, dimensions, Shape(dimensions, 2))
                    : positive_sizes(fields, size_key, dimensions)),
      // Pools whose strides are null have those of their size.
      strides_(is_pool && !fields.has("strides")
                   ? (fields.any("strides", size_), size_)
                   : positive_sizes(fields, "strides", dimensions, Shape(dimensions, 1))),
      dilation_(dimensions, 1),
      padding_(padding_named(fields, takes_causal)) {
  if (!is_pool)
    dilation_ = positive_sizes(fields, "dilation_rate", dimensions, Shape(dimensions, 1));
  if (*std::max_element(dilation_.begin(), dilation_.end()) > 1 &&
      *std::max_element(strides_.begin(), strides_.end()) > 1)
    throw Error(Code::invalid, "reading " + fields.where() +
                                   ": of 'strides' and 'dilation_rate' only one can be above 1");
  fields.only("data_format", "channels_last");
}

WindowFields WindowFields::of_kernel(Fields &fields, size_t dimensions, bool takes_causal) {
  return {fields, dimensions, "kernel_size", false, takes_causal};
}

WindowFields WindowFields::of_pool(Fields &fields, size_t dimensions) {
  return {fields, dimensions, "pool_size", true, false};
}

Window WindowFields::without_padding() const {
  Window window;
  window.size = height_and_width(size_);
  window.strides = height_and_width(strides_);
  window.dilation = height_and_width(dilation_);
  return window;
}

Window WindowFields::over(const Shape &image) const {
  Window window = without_padding();
  if (padding_ == Padding::same) window.pad_same(image);
  if (padding_ == Padding::causal) window.before[1] = window.extent(1) - 1;
  return window;
}

}  // namespace det::nn

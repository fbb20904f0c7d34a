// What the layers of images and of sequences of one spatial dimension have in common.
#pragma once

#include "wrappers/nn/layers/layer.h"
#include "wrappers/nn/operations/operations.h"

namespace det::nn {

// Sizes of 1 and more, one for each dimension. Throws Code::invalid for others.
Shape positive_sizes(Fields &fields, const char *key, size_t count,
                     std::optional<Shape> usual = {});
int64_t positive_size(Fields &fields, const char *key, std::optional<int64_t> usual = {});

// Of height and width; what has one dimension has height 1.
Window::Sizes height_and_width(const Shape &sizes);

// A sequence (batch, steps, features) as an image of height 1; an image stays as it is. Throws
// Code::invalid, naming the layer, for what is neither.
Value as_image(ProgramBuilder &builder, Value x, size_t dimensions, const std::string &layer);
// And back.
Value from_image(ProgramBuilder &builder, Value y, size_t dimensions);

enum class Padding { valid, same, causal };

// A window as the fields of a layer describe it.
class WindowFields {
 public:
  // "kernel_size" with "dilation_rate", or "pool_size", which is also what its strides are by
  // default.
  static WindowFields of_kernel(Fields &fields, size_t dimensions, bool takes_causal);
  static WindowFields of_pool(Fields &fields, size_t dimensions);

  size_t dimensions() const { return dimensions_; }
  const Shape &size() const { return size_; }
  Padding padding() const { return padding_; }
  // Over an image of this shape, with what is padded.
  Window over(const Shape &image) const;
  Window without_padding() const;

 private:
  WindowFields(Fields &fields, size_t dimensions, const char *size_key, bool is_pool,
               bool takes_causal);

  size_t dimensions_;
  Shape size_, strides_, dilation_;
  Padding padding_ = Padding::valid;
};

}  // namespace det::nn

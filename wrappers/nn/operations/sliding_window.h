// A window that moves over the two spatial dimensions of images (batch, height, width, channels).
// What has one such dimension is an image of height 1.
#pragma once

#include <array>

#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

struct Window {
  using Sizes = std::array<int64_t, 2>;  // of height and width

  Sizes size{1, 1};
  Sizes strides{1, 1};
  Sizes dilation{1, 1};  // from one element of the window to the next
  Sizes before{0, 0};    // what is padded
  Sizes after{0, 0};

  // What it covers of a dimension, with the elements that dilation leaves out.
  int64_t extent(size_t dimension) const { return (size[dimension] - 1) * dilation[dimension] + 1; }
  // Pads so that there are ceil(size / stride) windows, evenly, and where this cannot be with one
  // more after than before. `image` is (batch, height, width, channels).
  void pad_same(const Shape &image);
  // (batch, windows down, windows across, `channels`). Throws Code::invalid for an input that is no
  // image, or that has not room for one window.
  Shape over(const Shape &image, int64_t channels) const;
};

}  // namespace det::nn

#include "wrappers/nn/operations/sliding_window.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

namespace {

void expect_image(const Shape &shape) {
  if (shape.size() != 4)
    throw Error(Code::invalid, "an input of " + text_of(shape) +
                                   " is no batch of images: height, width and channels");
}

}  // namespace

void Window::pad_same(const Shape &image) {
  expect_image(image);
  for (size_t d = 0; d < 2; ++d) {
    const int64_t in = image[d + 1];
    const int64_t windows = (in + strides[d] - 1) / strides[d];
    const int64_t padded = std::max<int64_t>((windows - 1) * strides[d] + extent(d) - in, 0);
    before[d] = padded / 2;
    after[d] = padded - padded / 2;
  }
}

Shape Window::over(const Shape &image, int64_t channels) const {
  expect_image(image);
  Shape shape{image[0], 0, 0, channels};
  for (size_t d = 0; d < 2; ++d) {
    if (size[d] < 1 || strides[d] < 1 || dilation[d] < 1 || before[d] < 0 || after[d] < 0 ||
        before[d] >= extent(d) || after[d] >= extent(d))
      throw Error(Code::invalid, "a window of " + text_of({size[0], size[1]}) +
                                     " has a stride, dilation or padding that cannot be");
    const int64_t room = image[d + 1] + before[d] + after[d] - extent(d);
    if (room < 0 || image[d + 1] < 1)
      throw Error(Code::invalid, "an input of " + text_of(image) +
                                     " has not room for a window of " +
                                     text_of({extent(0), extent(1)}));
    shape[d + 1] = room / strides[d] + 1;
  }
  return shape;
}

}  // namespace det::nn

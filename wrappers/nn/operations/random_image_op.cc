#include "wrappers/nn/operations/random_image_op.h"

#include <cmath>

#include "core/base/error.h"

namespace det::nn {

ArrayTypes RandomImageOp::infer(const ArrayTypes &inputs) const {
  expect_inputs(inputs, 1, 1, "random image");
  expect_float(inputs[0], "the input");
  if (inputs[0].shape.size() != 4)
    throw Error(Code::invalid,
                "an input of " + text_of(inputs[0].shape) + " is no batch of images");
  return inputs;
}

ImagePlaces RandomImageOp::places(float first, float second, int64_t rows, int64_t columns) const {
  const auto right = static_cast<float>(columns - 1), bottom = static_cast<float>(rows - 1);
  const auto within = [](const Range &range, float at) {
    return range.low + (range.high - range.low) * at;
  };
  ImagePlaces at;
  switch (change) {
    case Change::mirror:
      if (across && first < 0.5F) at.xx = -1, at.x = right;
      if (down && second < 0.5F) at.yy = -1, at.y = bottom;
      break;
    case Change::turn: {
      const float angle_drawn = within(angle, first);
      at.xx = at.yy = std::cos(angle_drawn);
      at.yx = std::sin(angle_drawn);
      at.xy = -at.yx;
      at.x = (right - (at.xx * right + at.xy * bottom)) / 2;
      at.y = (bottom - (at.yx * right + at.yy * bottom)) / 2;
      break;
    }
    case Change::zoom:
      at.yy = within(height, first);
      at.xx = keeps_proportions ? at.yy : within(width, second);
      at.x = right / 2 * (1 - at.xx);
      at.y = bottom / 2 * (1 - at.yy);
      break;
  }
  return at;
}

}  // namespace det::nn

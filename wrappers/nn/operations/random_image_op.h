// Images turned, made larger or smaller and mirrored by chance, each in its own way.
#pragma once

#include <optional>

#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// What stands beyond the edges of an image (a b c): "c b a | a b c | c b a", "a a a | a b c | c c
// c", "a b c | a b c | a b c", or the same number everywhere.
enum class Beyond { reflected, nearest, wrapped, constant };

// From where in an image (batch, height, width, channels) a place of the result is taken:
// (across, down) = (xx * column + xy * row + x, yx * column + yy * row + y).
struct ImagePlaces {
  float xx = 1, xy = 0, x = 0, yx = 0, yy = 1, y = 0;
};

// For training only. What is between pixels is made of the four around it, or is the nearest one.
struct RandomImageOp {
  enum class Change { mirror, turn, zoom };
  struct Range {
    float low = 0, high = 0;
  };

  Change change = Change::mirror;
  bool across = false;  // what is mirrored
  bool down = false;
  Range angle = {};                // in radians
  Range height = {}, width = {};   // of 1, and as much more is seen as it is larger
  bool keeps_proportions = false;  // the width is that of the height
  Beyond beyond = Beyond::reflected;
  float filling = 0;  // of `constant`
  bool takes_nearest = false;
  std::optional<uint64_t> seed = {};  // of the layer, in the place of the model's

  ArrayTypes infer(const ArrayTypes &inputs) const;
  // Of two numbers that are drawn for a record, from 0 to below 1.
  ImagePlaces places(float first, float second, int64_t rows, int64_t columns) const;
};

}  // namespace det::nn

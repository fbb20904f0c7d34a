#include "wrappers/nn/arrays/array_shape.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

std::string text_of(const Shape &shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i] == unknown ? "None" : std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

bool is_known(const Shape &shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; });
}

int64_t elements_of(const Shape &shape) {
  // Bytes of any element type are to be counted as well.
  constexpr int64_t most = INT64_MAX / 16;
  // Also beside an axis of 0, where there are none: parts of the shape are multiplied elsewhere.
  int64_t elements = 1;
  bool is_empty = false;
  for (const int64_t size : shape) {
    if (size < 0 || (size > 0 && elements > most / size))
      throw Error(Code::invalid, "counting the elements of an array of shape " + text_of(shape) +
                                     ": it has no such number of them");
    if (size == 0) is_empty = true;
    else elements *= size;
  }
  return is_empty ? 0 : elements;
}

size_t axis_of(const Shape &shape, int64_t axis, const std::string &what) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis >= rank)
    throw Error(Code::invalid,
                what + ": there is no axis " + std::to_string(axis) + " in " + text_of(shape));
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

}  // namespace det::nn

// The sizes of arrays, the slowest dimension first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace det::nn {

// Of a model that has no batch yet, what only the data tells is `unknown`.
using Shape = std::vector<int64_t>;

inline constexpr int64_t unknown = -1;

// "(None, 28, 28, 1)", as Keras writes it.
std::string text_of(const Shape &shape);

bool is_known(const Shape &shape);

// Of a known shape. Throws Code::invalid where the number does not fit.
int64_t elements_of(const Shape &shape);

// What an axis from the front (0 and more) or the back (-1 and less) counts from the front. Throws
// Code::invalid, naming `what`, where there is none.
size_t axis_of(const Shape &shape, int64_t axis, const std::string &what);

}  // namespace det::nn

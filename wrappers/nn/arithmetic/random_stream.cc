#include "wrappers/nn/arithmetic/random_stream.h"

#include <cmath>
#include <numbers>

namespace det::nn {

// Box and Muller, of which the second number is dropped: streams of any length then begin alike.
double RandomStream::normal() {
  const double radius = std::sqrt(-2 * std::log1p(-static_cast<double>(uniform())));
  return radius * std::cos(2 * std::numbers::pi * static_cast<double>(uniform()));
}

}  // namespace det::nn

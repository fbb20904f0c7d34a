// How values are spread, as TensorBoard's own writers say it.
#pragma once

#include <span>
#include <vector>

namespace det::tensorboard {

// Bucket i counts the values below limits[i] that are in no bucket before it.
struct Histogram {
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> limits;
  std::vector<double> counts;
};

// In buckets whose limits grow by a tenth, from 1e-12 to 1e20 on both sides of 0, those that are
// empty at both ends left out. Throws Code::invalid for no values and for one that is not finite.
Histogram histogram_of(std::span<const double> values);
Histogram histogram_of(std::span<const float> values);

// Throws Code::invalid unless it can be drawn: finite numbers, ascending limits, something counted.
void check_histogram(const Histogram &histogram);

}  // namespace det::tensorboard

#include "core/tensorboard/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/error.h"

namespace det::tensorboard {

namespace {

[[noreturn]] void refuse_histogram(const std::string &why) {
  throw Error(Code::invalid, "adding a histogram: " + why);
}

constexpr size_t exponents = 2048;  // of a double, its sign left out

size_t exponent_of(double value) { return std::bit_cast<uint64_t>(value) >> 52U & 0x7FFU; }

// The limits above 0; those below are the same, mirrored.
struct Scale {
  Scale() {
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) limits.push_back(limit);
    limits.push_back(DBL_MAX);
    size_t at = 0;
    for (size_t exponent = 0; exponent < exponents; ++exponent) {
      while (at + 1 < limits.size() && exponent_of(limits[at]) < exponent) ++at;
      first[exponent] = static_cast<uint16_t>(at);
    }
  }

  // How many limits are not above `magnitude`, the last one not counted: a few comparisons, since
  // there are at most eight limits to a power of two.
  size_t not_above(double magnitude) const {
    size_t at = first[exponent_of(magnitude)];
    while (at + 1 < limits.size() && limits[at] <= magnitude) ++at;
    return at;
  }

  // The bucket of a value among all: those below 0, then those above.
  size_t bucket_of(double value) const {
    if (value >= 0) return limits.size() + 1 + not_above(value);
    const double magnitude = -value;
    const size_t at = not_above(magnitude);
    // A value on a limit belongs above it, and above is towards 0 here.
    const bool on_limit = at > 0 && limits[at - 1] == magnitude;
    return limits.size() - at + (on_limit ? 1 : 0);
  }

  double limit_of(size_t bucket) const {
    if (bucket < limits.size()) return -limits[limits.size() - 1 - bucket];
    return bucket == limits.size() ? 0 : limits[bucket - limits.size() - 1];
  }

  size_t buckets() const { return 2 * limits.size() + 1; }

  std::vector<double> limits;
  std::array<uint16_t, exponents> first{};  // by exponent: the first limit that may be above
};

template <class Number>
Histogram count(std::span<const Number> values) {
  if (values.empty()) refuse_histogram("there are no values");
  static const Scale scale;
  std::vector<double> counts(scale.buckets());
  Histogram result;
  result.min = result.max = static_cast<double>(values.front());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    if (!std::isfinite(value))
      refuse_histogram("value " + std::to_string(i) + " is " + std::to_string(value) +
                       "; leave out what is not finite");
    result.min = std::min(result.min, value);
    result.max = std::max(result.max, value);
    result.sum += value;
    result.sum_squares += value * value;
    ++counts[scale.bucket_of(value)];
  }
  const size_t begin = scale.bucket_of(result.min);
  const size_t end = scale.bucket_of(result.max) + 1;
  result.counts.assign(counts.data() + begin, counts.data() + end);
  for (size_t bucket = begin; bucket < end; ++bucket)
    result.limits.push_back(scale.limit_of(bucket));
  return result;
}

}  // namespace

Histogram histogram_of(std::span<const double> values) { return count(values); }
Histogram histogram_of(std::span<const float> values) { return count(values); }

void check_histogram(const Histogram &given) {
  const auto is_finite = [](double number) { return std::isfinite(number); };
  for (const double number : {given.min, given.max, given.sum, given.sum_squares})
    if (!is_finite(number)) refuse_histogram("min, max, sum and sum_squares have to be finite");
  if (!std::all_of(given.limits.begin(), given.limits.end(), is_finite) ||
      std::adjacent_find(given.limits.begin(), given.limits.end(), std::greater_equal<>()) !=
          given.limits.end())
    refuse_histogram("the limits of its buckets have to be finite and to ascend");
  const auto counts = [](double number) { return number > 0; };
  if (!std::all_of(given.counts.begin(), given.counts.end(),
                   [&](double number) { return is_finite(number) && number >= 0; }))
    refuse_histogram("what its buckets count has to be finite, 0 or above");
  const auto first = std::find_if(given.counts.begin(), given.counts.end(), counts);
  if (first == given.counts.end()) refuse_histogram("its buckets count nothing");
  const auto last = std::find_if(given.counts.rbegin(), given.counts.rend(), counts).base() - 1;
  const double below = given.limits[static_cast<size_t>(first - given.counts.begin())];
  const auto last_bucket = static_cast<size_t>(last - given.counts.begin());
  const double above = first == last ? given.min : given.limits[last_bucket - 1];
  // Else TensorBoard would draw buckets that end before they begin.
  if (given.min > below || given.max < above || given.min > given.max)
    refuse_histogram(
        "min and max have to lie in the first and the last bucket that count something");
}

}  // namespace det::tensorboard

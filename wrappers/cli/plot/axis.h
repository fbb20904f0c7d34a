// The axes of a plot: where values stand on them, and ticks at round numbers.
#pragma once

#include <string>
#include <vector>

namespace det::cli {

enum class Scale {
  linear,
  log,         // values above 0
  clock,       // seconds since 1970
  categories,  // 0, 1, 2, ...
};

// What is measured along an axis.
struct Dimension {
  std::string name, unit = {};  // no unit: none known
  Scale scale = Scale::linear;
  std::vector<std::string> categories = {};
  bool whole = false;  // on a linear scale there is nothing between whole numbers

  std::string label() const {
    return unit.empty() ? name : name.empty() ? unit : name + " (" + unit + ")";
  }
  // One value, as people read it.
  std::string text_of(double value) const;
};

struct Axis {
  double low = 0;
  double high = 1;
  bool log = false;
  std::vector<double> ticks;
  std::vector<std::string> labels;  // of the ticks, all with the same precision
  std::vector<double> minor = {};   // ticks between them, without labels

  double fraction(double value) const;  // 0 at `low`, 1 at `high`
};

// With about `wanted` ticks. Where `low` and `high` are the same there is some space around them.
Axis fit_axis(const Dimension &dimension, double low, double high, int wanted);

// Six significant digits; NaN, Infinity, -Infinity.
std::string short_number(double value);

}  // namespace det::cli

#include "wrappers/cli/plot/axis.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>

namespace det::cli {

namespace {

std::string formatted(const char *format, int precision, double value) {
  char text[400];
  std::snprintf(text, sizeof text, format, precision, value);
  return text;
}

// The next of 1, 2, 5, 10, 20, ... and their fractions.
double round_up(double rough) {
  const double magnitude = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * magnitude >= rough * (1 - 1e-9)) return factor * magnitude;
  }
  return 10 * magnitude;
}

void label_ticks(Axis &axis, double step) {
  const double largest = std::max(std::fabs(axis.low), std::fabs(axis.high));
  const bool plain = largest < 1e7 && step >= 1e-5;
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  const int digits =
      static_cast<int>(std::clamp(std::ceil(std::log10(largest / step)) + 1, 1.0, 17.0));
  for (double &tick : axis.ticks) {
    if (std::fabs(tick) < step / 1000) tick = 0;  // neither -0 nor 1e-17
    axis.labels.push_back(plain ? formatted("%.*f", decimals, tick)
                                : formatted("%.*g", digits, tick));
  }
}

// The multiples of `step` on the axis; none where a double has no such numbers.
void place_ticks(Axis &axis, double step) {
  const double first = std::floor(axis.low / step + 1e-9),
               last = std::ceil(axis.high / step - 1e-9);
  if (!std::isfinite(step * first) || !std::isfinite(step * last) || std::fabs(first) > 1e15)
    return;
  const double slack = step / 1000;
  const auto count = static_cast<int>(last - first);
  for (int i = 0; i <= count; ++i) {
    const double tick = (first + i) * step;
    if (tick >= axis.low - slack && tick <= axis.high + slack) axis.ticks.push_back(tick);
  }
}

void make_linear(Axis &axis, int wanted, double least_step) {
  const double step = std::max(round_up(axis.high / wanted - axis.low / wanted), least_step);
  place_ticks(axis, step);
  if (!axis.ticks.empty()) return label_ticks(axis, step);
  axis.ticks = {axis.low, axis.high};
  label_ticks(axis, std::max(std::fabs(axis.high) / 1e3, std::numeric_limits<double>::min()));
}

std::string power_of_ten(double value) {
  return value >= 1e-3 && value < 1e5 ? formatted("%.*g", 6, value) : formatted("%.*e", 0, value);
}

// Whole powers of ten, not all where there are many; 1, 2 and 5 where there are few.
void make_log(Axis &axis, int wanted) {
  axis.log = true;
  const double low = std::log10(axis.low), high = std::log10(axis.high);
  const int first = static_cast<int>(std::floor(low)), last = static_cast<int>(std::ceil(high));
  if (high - low < 0.5) return make_linear(axis, wanted, 0);
  const int every = std::max(1, static_cast<int>(std::ceil((high - low) / wanted)));
  const bool with_parts = high - low < 2;
  for (int exponent = first; exponent <= last; ++exponent) {
    for (int digit = 1; digit < 10; ++digit) {
      const double value = digit * std::pow(10, exponent);
      if (value < axis.low * (1 - 1e-9) || value > axis.high * (1 + 1e-9)) continue;
      const bool labelled =
          digit == 1 ? exponent % every == 0 : with_parts && (digit == 2 || digit == 5);
      if (!labelled) {
        if (every == 1) axis.minor.push_back(value);
        continue;
      }
      axis.ticks.push_back(value);
      axis.labels.push_back(power_of_ten(value));
    }
  }
}

std::string clock_text(const char *format, double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[64] = "";
  if (gmtime_r(&whole, &parts)) std::strftime(text, sizeof text, format, &parts);
  return text;
}

void make_clock(Axis &axis, int wanted) {
  constexpr double minute = 60, hour = 3600, day = 86400;
  constexpr std::array steps = {1.0,     2.0,        5.0,        10.0,     15.0,      30.0,
                                minute,  2 * minute, 5 * minute, 600.0,    900.0,     1800.0,
                                hour,    2 * hour,   3 * hour,   6 * hour, 12 * hour, day,
                                2 * day, 7 * day,    14 * day,   28 * day};
  const double rough = (axis.high - axis.low) / wanted;
  const auto *const found = std::lower_bound(steps.begin(), steps.end(), rough);
  const double step = found == steps.end() ? day * round_up(rough / day) : *found;
  place_ticks(axis, step);
  const bool one_day = std::floor(axis.low / day) == std::floor(axis.high / day);
  const std::string time = step < minute ? "%H:%M:%S" : "%H:%M";
  const std::string format = step >= day ? "%Y-%m-%d" : one_day ? time : "%m-%d " + time;
  for (const double tick : axis.ticks) axis.labels.push_back(clock_text(format.c_str(), tick));
}

void make_categories(Axis &axis, const std::vector<std::string> &names) {
  axis.low = 0;
  axis.high = static_cast<double>(std::max<size_t>(names.size(), 2)) - 1;
  for (size_t i = 0; i < names.size(); ++i) axis.ticks.push_back(static_cast<double>(i));
  axis.labels = names;
}

void make_room(Axis &axis, Scale scale) {
  constexpr double largest = std::numeric_limits<double>::max();
  if (axis.high / 2 - axis.low / 2 >= std::numeric_limits<double>::min()) return;
  if (scale == Scale::log) {
    axis.low = std::max(axis.low / 2, std::numeric_limits<double>::min());
    axis.high = std::min(axis.high, largest / 2) * 2;
    return;
  }
  const double margin = scale == Scale::clock ? 30 : axis.low == 0 ? 1 : std::fabs(axis.low) / 10;
  axis.low = std::max(axis.low - margin, -largest);
  axis.high = std::min(axis.high + margin, largest);
}

}  // namespace

std::string Dimension::text_of(double value) const {
  if (scale == Scale::clock) return clock_text("%Y-%m-%d %H:%M:%S", value);
  if (scale == Scale::categories) {
    const auto at = static_cast<size_t>(std::max(value, 0.0));
    return at < categories.size() ? categories[at] : "";
  }
  const bool whole = std::fabs(value) < 1e18 && value == std::floor(value);
  const std::string text = whole ? formatted("%.*f", 0, value) : short_number(value);
  return unit.empty() ? text : text + " " + unit;
}

double Axis::fraction(double value) const {
  if (log) {
    const double start = std::log10(low);
    return (std::log10(value) - start) / (std::log10(high) - start);
  }
  return (value / 2 - low / 2) / (high / 2 - low / 2);  // halves: the span may be beyond a double
}

Axis fit_axis(const Dimension &dimension, double low, double high, int wanted) {
  Axis axis{low, high, false, {}, {}};
  if (dimension.scale != Scale::categories) make_room(axis, dimension.scale);
  switch (dimension.scale) {
    case Scale::linear:
      make_linear(axis, wanted, dimension.whole ? 1 : 0);
      break;
    case Scale::log:
      make_log(axis, wanted);
      break;
    case Scale::clock:
      make_clock(axis, wanted);
      break;
    case Scale::categories:
      make_categories(axis, dimension.categories);
      break;
  }
  return axis;
}

std::string short_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char text[32];
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6);
  return std::string(text, error == std::errc() ? end : text);
}

}  // namespace det::cli

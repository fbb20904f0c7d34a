#include "curve_builder.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "field_text.h"

namespace det::cli {

namespace {

constexpr double not_told = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void CurveBuilder::add(const Report &report) {
  Sample sample{report.steps, not_told, not_told, not_told};
  sample.time = seconds_of(report.time).value_or(not_told);
  for (const auto &[name, value] : report.values)
    if (name == "epoch" || name == "epochs") sample.epoch = value;
  if (std::isfinite(sample.epoch) && !std::isnan(sample.steps))
    epochs_[sample.steps] = sample.epoch;
  for (const auto &[name, value] : report.values) {
    sample.value = value;
    curve_of(report.group, name).samples.push_back(sample);
  }
}

std::vector<Curve> CurveBuilder::take() {
  for (Curve &curve : curves_)
    for (Sample &sample : curve.samples)
      if (!std::isfinite(sample.epoch)) sample.epoch = epoch_at(sample.steps);
  return std::move(curves_);
}

Curve &CurveBuilder::curve_of(const std::string &group, const std::string &metric) {
  const auto [place, is_new] = places_[group].try_emplace(metric, curves_.size());
  if (is_new) curves_.push_back({trial_, group, metric, {}});
  return curves_[place->second];
}

double CurveBuilder::epoch_at(double steps) const {
  const auto behind = std::isnan(steps) ? epochs_.begin() : epochs_.upper_bound(steps);
  return behind == epochs_.begin() ? steps / epoch_length_ : std::prev(behind)->second;
}

void start_together(std::vector<Curve> &curves) {
  double start = not_told;
  for (const Curve &curve : curves)
    for (const Sample &sample : curve.samples) start = std::fmin(start, sample.time);
  for (Curve &curve : curves) curve.start = start;
}

}  // namespace det::cli

#include "curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/base/printable.h"
#include "core/config/experiment/suggestion.h"
#include "exit_code.h"
#include "field_text.h"
#include "metric_names.h"
#include "units.h"

namespace det::cli {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

bool ends_with_part(const std::string &name, const std::string &part) {
  return name.size() > part.size() && name.ends_with(part) &&
         name[name.size() - part.size() - 1] == '.';
}

bool is_named(const Curve &curve, const std::string &argument) {
  return argument == curve.metric || argument == curve.group + "." + curve.metric;
}

// By the end of a nested name, by the group, or by both.
bool is_meant(const Curve &curve, const std::string &argument) {
  if (argument == curve.group || ends_with_part(curve.metric, argument)) return true;
  return argument.starts_with(curve.group + ".") &&
         ends_with_part(curve.metric, argument.substr(curve.group.size() + 1));
}

std::vector<Curve> choose_losses(std::vector<Curve> curves) {
  const auto is_loss = [](const Curve &curve) {
    return curve.metric.find("loss") != std::string::npos;
  };
  const bool any = std::any_of(curves.begin(), curves.end(), is_loss);
  const std::string first = curves.empty() ? "" : curves.front().metric;
  std::erase_if(curves,
                [&](const Curve &curve) { return any ? !is_loss(curve) : curve.metric != first; });
  return curves;
}

[[noreturn]] void fail_without(int64_t trial, const std::string &argument,
                               const std::vector<Curve> &curves, const MetricNames &known) {
  std::vector<std::string> names;
  for (const Curve &curve : curves) {
    names.push_back(curve.metric);
    names.push_back(curve.group + "." + curve.metric);
    names.push_back(curve.metric.substr(curve.metric.find_last_of('.') + 1));
  }
  const std::string nearest = config::suggestion(argument, names);
  if (nearest.empty()) known.require(trial, std::nullopt, {argument});
  throw Failure(ExitCode::not_found, "trial " + std::to_string(trial) + " has no metric '" +
                                         argument + "'; did you mean '" + nearest + "'? it has " +
                                         known.listed());
}

std::vector<Curve> choose(int64_t trial, std::vector<Curve> curves,
                          const std::vector<std::string> &arguments, const MetricNames &known) {
  if (arguments.empty()) return choose_losses(std::move(curves));
  std::vector<size_t> places;  // in the order of the arguments
  for (const std::string &argument : arguments) {
    std::vector<size_t> found;
    for (bool (*const fits)(const Curve &, const std::string &) : {is_named, is_meant}) {
      if (!found.empty()) break;
      for (size_t i = 0; i < curves.size(); ++i)
        if (fits(curves[i], argument)) found.push_back(i);
    }
    if (found.empty()) fail_without(trial, argument, curves, known);
    for (const size_t i : found)
      if (std::find(places.begin(), places.end(), i) == places.end()) places.push_back(i);
  }
  std::vector<Curve> chosen;
  for (const size_t i : places) chosen.push_back(std::move(curves[i]));
  return chosen;
}

// Where all of them are in one group: the others need not be read.
std::optional<std::string> only_group(const MetricNames &known,
                                      const std::vector<std::string> &arguments) {
  for (const auto &[group, metrics] : known.groups) {
    const std::string start = group + ".";
    if (!arguments.empty() &&
        std::all_of(arguments.begin(), arguments.end(), [&](const std::string &argument) {
          return argument.starts_with(start) && !known.has(std::nullopt, {argument});
        }))
      return group;
  }
  return std::nullopt;
}

// How many steps an epoch has, by the configuration; NaN where that does not tell.
double epoch_length(Client &client, const Json &trial) {
  const Json batch = field(field(trial, "hparams"), "global_batch_size");
  if (!batch.is_number() || !(batch.get<double>() > 0)) return none;
  const Json experiment = client.experiment(field(trial, "experiment_id").get<int64_t>());
  const double records = double_of(field(field(experiment, "config"), "records_per_epoch"));
  return records > 0 ? records / batch.get<double>() : none;
}

// The curves of a trial, while its reports are read.
class Reader {
 public:
  Reader(int64_t trial, double epoch_length) : trial_(trial), epoch_length_(epoch_length) {}

  void add(const Json &report) {
    const Json &values = field(report, "metrics");
    steps_ = field(report, "steps_completed").is_number()
                 ? double_of(field(report, "steps_completed"))
                 : none;
    time_ = seconds_of(field(report, "time")).value_or(none);
    epoch_ = steps_ / epoch_length_;
    for (const char *name : {"epoch", "epochs"})
      if (const Json &epoch = field(values, name); epoch.is_number()) epoch_ = epoch.get<double>();
    const Json &group = field(report, "group");
    if (!group.is_string()) return;
    if (!curves_of_ || group_ != group.get_ref<const std::string &>()) {
      group_ = group.get<std::string>();
      curves_of_ = &places_[group_];
    }
    for (const auto &[name, value] : values.items()) add_value(name, value);
  }

  std::vector<Curve> take() { return std::move(curves_); }

 private:
  void add_value(const std::string &name, const Json &value) {
    if (value.is_object()) {
      for (const auto &[inner, each] : value.items()) add_value(name + "." + inner, each);
      return;
    }
    const double number = double_of(value);
    if (std::isnan(number) && value != "NaN" && !value.is_null()) return;  // no number at all
    const auto [place, is_new] = curves_of_->try_emplace(name, curves_.size());
    if (is_new) curves_.push_back({trial_, group_, name, {}});
    curves_[place->second].samples.push_back({steps_, epoch_, time_, number});
  }

  int64_t trial_;
  double epoch_length_;
  std::vector<Curve> curves_;
  std::map<std::string, std::map<std::string, size_t>> places_;
  std::string group_;
  std::map<std::string, size_t> *curves_of_ = nullptr;
  double steps_ = none, epoch_ = none, time_ = none;
};

Dimension x_of(const CurveStyle &style, std::vector<Series> &series) {
  Dimension x;
  if (style.along == Along::time) return {"time (UTC)", "", Scale::clock};
  x.name = style.along == Along::steps ? "steps" : style.along == Along::epochs ? "epochs" : "time";
  x.scale = style.log_x ? Scale::log : Scale::linear;
  if (style.along != Along::relative) return x;
  double longest = 0;
  for (const Series &line : series)
    for (const Point &point : line.points) longest = std::max(longest, point.x);
  struct Unit {
    const char *name;
    double seconds;
  };
  constexpr std::array units = {Unit{"s", 1}, Unit{"min", 60}, Unit{"h", 3600}, Unit{"d", 86400}};
  const Unit *unit = units.data();
  for (const Unit &each : units)
    if (longest >= 3 * each.seconds) unit = &each;
  x.unit = unit->name;
  for (Series &line : series)
    for (Point &point : line.points) point.x /= unit->seconds;
  return x;
}

// Where all measure the same: its name and unit, with numbers that are easy to read.
Dimension y_of(const std::vector<Curve> &curves, std::vector<Series> &series) {
  Dimension y;
  const auto last_part = [](const Curve &curve) {
    return curve.metric.substr(curve.metric.find_last_of('.') + 1);
  };
  const std::string name = last_part(curves.front()), unit = unit_of(curves.front().group, name);
  const bool one_name = std::all_of(curves.begin(), curves.end(),
                                    [&](const Curve &curve) { return last_part(curve) == name; });
  const bool one_unit = std::all_of(curves.begin(), curves.end(), [&](const Curve &curve) {
    return unit_of(curve.group, last_part(curve)) == unit;
  });
  const bool one_metric = std::all_of(curves.begin(), curves.end(), [&](const Curve &curve) {
    return curve.group == curves.front().group && curve.metric == curves.front().metric;
  });
  if (one_name) y.name = printable(one_metric ? curves.front().group + "." + name : name);
  if (!one_unit) return y;
  double largest = 0;
  for (const Series &line : series)
    for (const Point &point : line.points)
      if (std::isfinite(point.y)) largest = std::max(largest, std::fabs(point.y));
  const ScaledUnit scaled = scaled_unit(unit, largest);
  y.unit = scaled.name;
  for (Series &line : series)
    for (Point &point : line.points) point.y /= scaled.size;
  return y;
}

}  // namespace

std::vector<Curve> read_curves(Client &client, int64_t trial_id,
                               const std::vector<std::string> &metrics, bool with_epochs) {
  const MetricNames known = metric_names(client.metric_names(trial_id));
  Reader reader(trial_id, with_epochs ? epoch_length(client, client.trial(trial_id)) : none);
  client.each_metric(trial_id, only_group(known, metrics), [&](const Json &report) {
    reader.add(report);
    return true;
  });
  return choose(trial_id, reader.take(), metrics, known);
}

Along usual_along(const std::vector<Curve> &curves) {
  const bool stands = std::any_of(curves.begin(), curves.end(), [](const Curve &curve) {
    const double first = curve.samples.front().steps;
    return std::isnan(first) ||
           (curve.samples.size() > 1 &&
            std::all_of(curve.samples.begin(), curve.samples.end(),
                        [&](const Sample &sample) { return sample.steps == first; }));
  });
  return stands ? Along::relative : Along::steps;
}

double place_of(const Sample &sample, Along along, const Curve &curve) {
  switch (along) {
    case Along::steps:
      return sample.steps;
    case Along::epochs:
      return sample.epoch;
    case Along::time:
      return sample.time;
    case Along::relative:
      break;
  }
  return sample.time - curve.samples.front().time;
}

Panel panel_of(const std::vector<Curve> &curves, const CurveStyle &style) {
  Panel panel;
  const bool several = std::any_of(curves.begin(), curves.end(), [&](const Curve &curve) {
    return curve.trial != curves.front().trial;
  });
  for (const Curve &curve : curves) {
    Series series;
    series.name = (several ? "trial " + std::to_string(curve.trial) + " " : "") +
                  printable(curve.group + "." + curve.metric);
    for (const Sample &sample : curve.samples) {
      const double x = place_of(sample, style.along, curve);
      if (!std::isfinite(x)) continue;
      series.points.push_back({x, sample.value});
      if (!std::isfinite(sample.value)) ++series.not_finite;
    }
    if (series.points.empty() && !curve.samples.empty())
      throw Failure(
          ExitCode::not_found,
          "trial " + std::to_string(curve.trial) + " does not say at which " +
              (style.along == Along::epochs
                   ? "epoch its reports are: report a metric 'epoch' with the others, or "
                     "have 'records_per_epoch' and 'global_batch_size' in the configuration"
                   : "steps or time '" + curve.metric + "' is; choose another --x"));
    panel.series.push_back(std::move(series));
  }
  if (panel.series.empty()) return panel;
  panel.x = x_of(style, panel.series);
  panel.y = y_of(curves, panel.series);
  if (style.log_y) panel.y.scale = Scale::log;
  for (Series &series : panel.series) {
    std::vector<Point> points = std::move(series.points);
    series.points = with_gaps(style.smoothing > 0 ? smoothed(points, style.smoothing) : points);
    if (style.smoothing > 0) series.raw = with_gaps(points);
    fit_to_scales(series, panel.x.scale, panel.y.scale);
  }
  return panel;
}

}  // namespace det::cli

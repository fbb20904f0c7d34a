#include "curves.h"

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "field_text.h"
#include "metric_names.h"

namespace det::cli {

namespace {

struct Choice {
  std::string group, metric;
};

std::vector<Choice> those(const MetricNames &known,
                          const std::function<bool(const Choice &)> &wanted) {
  std::vector<Choice> out;
  for (const auto &[group, metrics] : known.groups) {
    for (const std::string &metric : metrics) {
      if (const Choice choice{group, metric}; wanted(choice)) out.push_back(choice);
    }
  }
  return out;
}

std::vector<Choice> choose_losses(const MetricNames &known) {
  const std::vector<Choice> losses = those(
      known, [](const Choice &choice) { return choice.metric.find("loss") != std::string::npos; });
  if (!losses.empty() || known.groups.empty()) return losses;
  const std::string first = known.of(std::nullopt).front();
  return those(known, [&](const Choice &choice) { return choice.metric == first; });
}

struct Choices {
  std::vector<Choice> found;           // in the order of the arguments
  std::optional<std::string> missing;  // an argument that names nothing
};

Choices choose(const MetricNames &known, const std::vector<std::string> &arguments) {
  if (arguments.empty()) return {choose_losses(known), std::nullopt};
  Choices choices;
  for (const std::string &argument : arguments) {
    const std::vector<Choice> found = those(known, [&](const Choice &choice) {
      return choice.metric == argument || choice.group + "." + choice.metric == argument;
    });
    if (found.empty()) choices.missing = argument;
    choices.found.insert(choices.found.end(), found.begin(), found.end());
  }
  return choices;
}

}  // namespace

std::vector<Curve> read_curves(Client &client, int64_t trial,
                               const std::vector<std::string> &metrics) {
  const MetricNames known = metric_names(client.metric_names(trial));
  const Choices choices = choose(known, metrics);
  if (choices.missing) known.require(trial, std::nullopt, {*choices.missing});
  std::vector<Curve> curves;
  for (const Choice &choice : choices.found)
    curves.push_back({trial, choice.group, choice.metric, {}});
  client.each_metric(trial, std::nullopt, [&](const Json &report) {
    const Json &values = field(report, "metrics");
    for (Curve &curve : curves) {
      const auto found = values.find(curve.metric);
      if (found == values.end() || field(report, "group") != curve.group) continue;
      const double y = double_of(*found);
      curve.series.points.push_back({field(report, "steps_completed").get<double>(), y});
      if (!std::isfinite(y)) ++curve.series.not_finite;
    }
    return true;
  });
  return curves;
}

Series with_gaps(const Series &series) {
  Series out{series.name, {}, series.not_finite};
  for (const Point &point : series.points) {
    if (!out.points.empty() && out.points.back().x > point.x)
      out.points.push_back({point.x, std::numeric_limits<double>::quiet_NaN()});
    out.points.push_back(point);
  }
  return out;
}

}  // namespace det::cli

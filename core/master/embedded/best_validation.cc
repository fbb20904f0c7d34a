#include "core/master/embedded/best_validation.h"

#include <cmath>
#include <limits>

namespace det {

namespace {

std::optional<double> number_in(const Json &value) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

bool is_better(double value, double best, bool smaller_is_better) {
  return std::isnan(best) || (smaller_is_better ? value < best : value > best);
}

}  // namespace

std::optional<SearcherMetric> searcher_metric(const Json &config) {
  const Json searcher = config.value("searcher", Json());
  if (!searcher.is_object()) return std::nullopt;
  const Json name = searcher.value("metric", Json());
  if (!name.is_string()) return std::nullopt;
  const Json smaller = searcher.value("smaller_is_better", Json());
  return SearcherMetric{name.get<std::string>(), !smaller.is_boolean() || smaller.get<bool>()};
}

std::optional<double> best_validation(Database &store, int64_t experiment_id, int64_t trial_id) {
  Query experiment = store.query("SELECT config FROM experiments WHERE id=?", experiment_id);
  if (!experiment.next()) return std::nullopt;
  const auto metric =
      searcher_metric(parse_json_object(experiment.view(0), "the stored configuration"));
  if (!metric) return std::nullopt;

  std::optional<double> best;
  // Rows without the name are not worth parsing.
  Query rows = store.query(
      "SELECT metrics FROM trials JOIN metrics ON metrics.trial_id=trials.id"
      " WHERE experiment_id=? AND (?2=0 OR trials.id=?2) AND metric_group='validation'"
      " AND archived=0 AND instr(metrics, ?3)>0",
      experiment_id, trial_id, to_wire(metric->name));
  while (rows.next()) {
    const Json metrics = parse_json_object(rows.view(0), "stored metrics");
    const auto found = metrics.find(metric->name);
    const auto value = found != metrics.end() ? number_in(*found) : std::nullopt;
    if (value && (!best || is_better(*value, *best, metric->smaller_is_better))) best = value;
  }
  return best;
}

}  // namespace det

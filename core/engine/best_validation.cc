#include "core/engine/best_validation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace det {

namespace {

// As the platform's database reads texts: with space around them, in any case, with a sign.
std::optional<double> number_in(std::string_view text) {
  constexpr const char *space = " \t\n\r\f\v";
  const size_t begin = text.find_first_not_of(space);
  if (begin == text.npos) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(space) - begin + 1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  // Only our spellings of what is not finite: from_chars() also reads "nan(x)".
  double value = 0;
  const char *const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || text.back() == ')') return std::nullopt;
  return value;
}

// The row and the rest of a trial's columns; `?2` is the metric as JSON, `?3` its signed value.
// SQLite sorts texts behind numbers and blobs behind both, and takes NaN for NULL.
constexpr const char *keep =
    "UPDATE trials SET best_validation=?1, best_metric=?2, best_order=order_of"
    " FROM (SELECT CASE WHEN ?2 IS NULL THEN x'' ELSE IFNULL(?3, 'NaN') END AS order_of)"
    " WHERE id=?4 AND (best_validation IS NULL OR best_order>order_of)";

Query first_trial(Database &store, int64_t experiment_id) {
  return store.query(
      "SELECT id, best_metric FROM trials WHERE experiment_id=? ORDER BY best_order, id LIMIT 1",
      experiment_id);
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

std::optional<double> searcher_value(const Json &metrics, const SearcherMetric &metric) {
  const auto found = metrics.find(metric.name);
  if (found == metrics.end() || found->is_null()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  if (found->is_string())
    if (const auto value = number_in(found->get_ref<const std::string &>())) return value;
  throw Error(Code::invalid, "\"" + metric.name + "\" is " + to_wire(*found) +
                                 ", and the search over it needs a number");
}

MetricRank rank_of(std::optional<double> value, const SearcherMetric &metric) {
  if (!value) return {2, 0};
  if (std::isnan(*value)) return {1, 0};
  return {0, metric.smaller_is_better ? *value : -*value};
}

void BestValidations::begin(int64_t trial_id) {
  if (trial_id != trial_id_) loaded_ = false;
  trial_id_ = trial_id;
}

void BestValidations::load() {
  if (loaded_) return;
  Query config = store_.query(
      "SELECT config FROM trials JOIN experiments ON experiments.id=experiment_id"
      " WHERE trials.id=?",
      trial_id_);
  metric_ = config.next()
                ? searcher_metric(parse_json_object(config.view(0), "the stored configuration"))
                : std::nullopt;
  loaded_ = true;
}

std::optional<double> BestValidations::read(std::string_view metrics) {
  load();
  if (!metric_) return std::nullopt;
  return searcher_value(parse_json_object(metrics, "metrics"), *metric_);
}

void BestValidations::add(int64_t row, std::optional<double> value) {
  load();
  if (metric_) set(row, value);
}

void BestValidations::set(int64_t row, std::optional<double> value) {
  const double sign = metric_->smaller_is_better ? 1 : -1;
  store_.run(keep, row, value ? std::optional(to_wire(Json(*value))) : std::nullopt,
             value ? std::optional(sign * *value) : std::nullopt, trial_id_);
}

void BestValidations::rolled_back() {
  if (store_
          .query("SELECT 1 FROM trials JOIN metrics ON metrics.id=best_validation"
                 " WHERE trials.id=? AND archived=1",
                 trial_id_)
          .next())
    find_again();
}

void BestValidations::find_again() {
  load();
  if (!metric_) return;
  store_.run("UPDATE trials SET best_validation=NULL, best_metric=NULL, best_order=x'' WHERE id=?",
             trial_id_);
  Query rows = store_.query(
      "SELECT id, metrics FROM metrics"
      " WHERE trial_id=? AND metric_group='validation' AND archived=0 ORDER BY id",
      trial_id_);
  std::optional<int64_t> best;
  std::optional<double> best_value;
  while (rows.next()) {
    std::optional<double> value;
    try {
      value = searcher_value(parse_json_object(rows.view(1), "stored metrics"), *metric_);
    } catch (const Error &e) {
      if (e.code != Code::invalid) throw;
      // Earlier releases stored what is no number.
    }
    if (best && rank_of(value, *metric_) >= rank_of(best_value, *metric_)) continue;
    best = rows.integer(0);
    best_value = value;
  }
  if (best) set(*best, best_value);
}

std::optional<int64_t> best_trial(Database &store, int64_t experiment_id) {
  Query first = first_trial(store, experiment_id);
  return first.next() && !first.is_null(1) ? std::optional(first.integer(0)) : std::nullopt;
}

std::optional<double> best_validation(Database &store, int64_t experiment_id) {
  Query first = first_trial(store, experiment_id);
  if (!first.next() || first.is_null(1)) return std::nullopt;
  return searcher_value({{"best", parse_json(first.view(1), "a stored metric")}}, {"best"});
}

}  // namespace det

#include "metric_rows.h"

#include <algorithm>

#include "field_text.h"

namespace det::cli {

RowMerger::RowMerger(const std::vector<std::string> &columns, Take take) : take_(std::move(take)) {
  for (const std::string &column : columns) places_.emplace(column, places_.size());
}

bool RowMerger::add(const Json &report) {
  const Json &steps = field(report, "steps_completed"), &run = field(report, "trial_run_id");
  // Those that belong to no step are each of a time of their own.
  const bool same =
      rows_.empty() || (!steps.is_null() && rows_[0].steps == steps && rows_[0].run == run);
  if (!same && !finish()) return false;
  MetricRow &row = row_of(report);
  for (const auto &[name, value] : field(report, "metrics").items()) {
    const auto place = places_.find(name);
    if (place != places_.end()) row.values[place->second] = value;
  }
  return true;
}

bool RowMerger::finish() {
  const std::vector<MetricRow> rows = std::move(rows_);
  rows_.clear();
  return std::all_of(rows.begin(), rows.end(), [&](const MetricRow &row) {
    const bool empty = std::all_of(row.values.begin(), row.values.end(),
                                   [](const Json &value) { return value.is_null(); });
    return empty || take_(row);
  });
}

MetricRow &RowMerger::row_of(const Json &report) {
  const Json &group = field(report, "group");
  for (MetricRow &row : rows_) {
    if (row.group == group) return row;
  }
  rows_.push_back({group, field(report, "steps_completed"), field(report, "trial_run_id"),
                   field(report, "time"), std::vector<Json>(places_.size())});
  return rows_.back();
}

}  // namespace det::cli

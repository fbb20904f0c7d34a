#include "core/engine/runs/metric_rows.h"

namespace det::engine {

std::string MetricRows::statement(size_t rows) {
  std::string sql =
      "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics, batches, "
      "archived,"
      " rank) VALUES ";
  for (size_t row = 0; row < rows; ++row)
    sql += row == 0 ? "(?, ?, ?, ?, ?, ?, ?, ?, ?)" : ",(?, ?, ?, ?, ?, ?, ?, ?, ?)";
  return sql;
}

void MetricRows::begin(const JournalKey &journal) {
  trial_id_ = journal.trial_id;
  run_id_ = journal.run_id;
  rank_ = journal.rank;
  clear();
}

void MetricRows::add(const Report &report, std::string_view metrics,
                     std::optional<std::string_view> batches, bool archived) {
  if (rows_.size() == most || texts_.size() >= most_text) insert();
  Row row;
  row.group = report.group;
  row.steps = report.steps;
  row.time_us = report.time_us;
  row.metrics = keep(metrics);
  if (batches) row.batches = keep(*batches);
  row.archived = archived;
  row.rank = report.rank != 0 ? report.rank : rank_;
  rows_.push_back(row);
}

void MetricRows::insert() {
  size_t done = 0;
  for (size_t kind = 0; kind < sizes.size(); ++kind)
    for (; rows_.size() - done >= sizes[kind]; done += sizes[kind])
      insert(done, sizes[kind], statements_[kind]);
  clear();
}

void MetricRows::insert(size_t first, size_t size, const std::string &statement) {
  constexpr int columns = 9;
  Query query = store_.query(statement);
  for (size_t i = 0; i < size; ++i) {
    const Row &row = rows_[first + i];
    std::optional<std::string_view> batches;
    if (row.batches) batches = text(*row.batches);
    query.bind(static_cast<int>(i) * columns + 1, true, trial_id_, run_id_, row.group, row.steps,
               row.time_us, text(row.metrics), batches, row.archived, row.rank);
  }
  while (query.next()) {
  }
}

MetricRows::Text MetricRows::keep(std::string_view text) {
  const Text kept{texts_.size(), text.size()};
  texts_ += text;
  return kept;
}

std::string_view MetricRows::text(const Text &kept) const {
  return std::string_view(texts_).substr(kept.at, kept.size);
}

void MetricRows::clear() {
  rows_.clear();
  texts_.clear();
}

}  // namespace det::engine

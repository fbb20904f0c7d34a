// Rows of the store as the JSON objects that lists are made of; docs/client.md has their keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/json.h"
#include "core/client/client.h"
#include "core/master/embedded/sqlite.h"

namespace det {

Json time_or_null(std::optional<int64_t> time_us);
// What a statement of the store's JSON column holds.
Json stored_json(const Query &row, int column);

// Each takes a row of the statement below it.
Json experiment_entry(const Query &row);
constexpr const char *experiment_columns =
    "SELECT experiments.id, name, state, created, ended,"
    " (SELECT COUNT(*) FROM trials WHERE experiment_id=experiments.id),"
    " IFNULL(progress,"
    " (SELECT AVG(IFNULL(progress, 0)) FROM trials WHERE experiment_id=experiments.id)),"
    " (SELECT COUNT(ended) FROM trials WHERE experiment_id=experiments.id),"
    " (SELECT best_metric FROM trials WHERE experiment_id=experiments.id"
    " ORDER BY best_order, id LIMIT 1),"
    " config->'$.searcher.name', config->'$.searcher.metric'"
    " FROM experiments";

Json trial_entry(Database &store, const Query &row);
constexpr const char *trial_columns =
    "SELECT trials.id, experiment_id, experiments.name, external_id, trials.state,"
    " trials.progress, status, last_run, trials.created, trials.ended,"
    " (SELECT MAX(steps) FROM checkpoints WHERE trial_id=trials.id),"
    " best_metric, (SELECT steps FROM metrics WHERE metrics.id=best_validation), restarts, hparams"
    " FROM trials JOIN experiments ON experiments.id=experiment_id";

Json checkpoint_entry(const Query &row);
constexpr const char *checkpoint_columns =
    "SELECT checkpoints.id, uuid, trial_id, run_id, steps, state, size, time, metadata, resources,"
    " storage FROM checkpoints";

// How a list is sorted: by what `before` selects in the row of an id, if anything, then by the id.
struct RowOrder {
  const char *id;
  const char *before = nullptr;  // a column
  const char *table = nullptr;   // that has it
};

// The part of a list that a page asks for: `sql` selects rows with their id in column 0.
template <class Entry, class... Values>
Json list_page(Database &store, const char *name, std::string sql, const RowOrder &order,
               const Page &page, const Entry &entry, const Values &...values) {
  const std::string id = order.id;
  const std::string direction = page.descending ? " DESC" : " ASC";
  // Behind the cursor, in the direction of the page.
  const bool from_start = page.after == 0;
  if (!from_start) {
    const std::string after = std::to_string(page.after);
    sql += sql.find(" WHERE ") == sql.npos ? " WHERE " : " AND ";
    if (order.before != nullptr)
      sql += std::string("(") + order.before + ", " + id + ")" + (page.descending ? "<" : ">") +
             "(SELECT " + order.before + ", id FROM " + order.table + " WHERE id=" + after + ")";
    else sql += id + (page.descending ? "<" : ">") + after;
  }
  sql += " ORDER BY ";
  if (order.before != nullptr) sql += order.before + direction + ", ";
  sql += id + direction;
  const int64_t limit = page.limit > 0 ? page.limit : Page().limit;
  sql += " LIMIT " + std::to_string(limit + 1);

  Json entries = Json::array();
  Json next;
  int64_t last = 0;
  Query rows = store.query(sql, values...);
  while (rows.next()) {
    if (static_cast<int64_t>(entries.size()) == limit) {
      next = last;
      break;
    }
    last = rows.integer(0);
    entries.push_back(entry(rows));
  }
  return {{name, std::move(entries)}, {"next", std::move(next)}};
}

}  // namespace det

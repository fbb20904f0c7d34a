// Rows of the store as the JSON objects that lists are made of; docs/client.md has their keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/engine/database.h"
#include "core/engine/records/page.h"
#include "core/engine/runs/lifecycle.h"

namespace det::engine {

Json time_or_null(std::optional<int64_t> time_us);
// What a statement of the store's JSON column holds.
Json stored_json(const Query &row, int column);

// Throw Code::not_found, naming what was tried.
void require_trial(Database &store, int64_t trial_id, const char *tried);
void require_experiment(Database &store, int64_t experiment_id, const char *tried);
[[noreturn]] void throw_no_experiment(Database &store, int64_t experiment_id, const char *tried);

// Of a trial's reports in a group of metrics that count still.
std::optional<int64_t> last_reported_step(Database &store, int64_t trial_id, const char *group);

// The trials that a process works on. Those that may be are few: they are read at once, and looked
// at where somebody asks.
class LiveTrials {
 public:
  LiveTrials(Database &store, const std::filesystem::path &store_directory);
  int64_t count(int64_t experiment_id) const;
  bool has(int64_t experiment_id, int64_t trial_id) const;
  // " AND `id` IN (...)", those that are alive.
  std::string only_trials(const char *id) const;
  std::string only_experiments(const char *id) const;

 private:
  bool lives(const RunRecord &run) const;

  const std::filesystem::path &store_directory_;
  std::map<int64_t, std::vector<RunRecord>> by_experiment_;
};

// Each takes a row of the statement below it, which ends without a WHERE.
Json experiment_entry(const Query &row, const LiveTrials &live);
std::string experiment_columns(const Dialect &dialect);

Json trial_entry(Database &store, const Query &row, const LiveTrials &live);
constexpr const char *trial_columns =
    "SELECT trials.id, experiment_id, experiments.name, external_id, trials.state,"
    " trials.progress, status, last_run,"
    " COALESCE((SELECT started FROM runs WHERE trial_id=trials.id ORDER BY run_id LIMIT 1),"
    "  trials.created), trials.ended,"
    " (SELECT MAX(steps) FROM checkpoints WHERE trial_id=trials.id),"
    " best_metric, (SELECT steps FROM metrics WHERE metrics.id=best_validation), restarts,"
    " hparams, tags, experiments.archived,"
    " (SELECT exit FROM runs WHERE trial_id=trials.id AND run_id=last_run) FROM trials JOIN "
    "experiments ON "
    "experiments.id=experiment_id";

Json checkpoint_entry(const Query &row);
constexpr const char *checkpoint_columns =
    "SELECT checkpoints.id, uuid, trial_id, run_id, steps, state, size, time, metadata, resources,"
    " storage, registered FROM checkpoints";

// Why the search failed of what is in the state `how_it_stands`, and ended by that; else null.
Json failure_of(Database &store, const Json &how_it_stands, const Json &experiment_id);

// How a list is sorted: by what `before` selects in the row of an id, if anything, then by the id.
struct RowOrder {
  const char *id;
  const char *before = nullptr;  // a column
  const char *table = nullptr;   // that has it
};

// A glob of fnmatch(3) as databases read it: they write a class that is not meant otherwise.
std::string glob_from(std::string glob);

// More conditions for a statement with experiments, whose parameters ?2 and ?3 are the name and the
// tag. `state` is a column; `running` is not what a database can tell.
std::string filter_sql(const Filter &filter, const char *state, const Dialect &dialect);

// `sql`, which selects rows with their id in column 0 and ends in a condition, from the place on
// that a page begins at.
std::string page_sql(std::string sql, const RowOrder &order, const Page &page);

// Visits the rows of a page until it is full or `visit` answers that there is no room for more.
// Gives the cursor of the next page.
template <class Visit, class... Values>
Json visit_page(Database &store, std::string sql, const RowOrder &order, const Page &page,
                const Visit &visit, const Values &...values) {
  const int64_t limit = page.limit > 0 ? page.limit : Page().limit;
  Query rows = store.query(
      page_sql(std::move(sql), order, page) + " LIMIT " + std::to_string(limit + 1), values...);
  int64_t last = 0;
  bool has_room = true;
  for (int64_t count = 0; rows.next(); ++count) {
    if (count == limit || !has_room) return last;
    last = rows.integer(0);
    has_room = visit(rows);
  }
  return nullptr;
}

// The part of a list that a page asks for.
template <class Entry, class... Values>
Json list_page(Database &store, const char *name, std::string sql, const RowOrder &order,
               const Page &page, const Entry &entry, const Values &...values) {
  Json entries = Json::array();
  Json next = visit_page(
      store, std::move(sql), order, page,
      [&](const Query &row) {
        entries.push_back(entry(row));
        return true;
      },
      values...);
  return {{name, std::move(entries)}, {"next", std::move(next)}};
}

}  // namespace det::engine

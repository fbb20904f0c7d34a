#include "core/engine/records/entries.h"

#include <algorithm>
#include <cmath>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/engine/supervision/recorded_search.h"

namespace det::engine {

namespace {

// How far the trial has trained: its last report of training or validation, or its last checkpoint.
int64_t steps_completed(Database &store, int64_t trial_id, int64_t checkpointed) {
  int64_t steps = checkpointed;
  for (const char *group : {"training", "validation"})
    steps = std::max(steps, last_reported_step(store, trial_id, group).value_or(0));
  return steps;
}

}  // namespace

void throw_no_experiment(Database &store, int64_t experiment_id, const char *tried) {
  throw Error(Code::not_found, std::string(tried) + ": there is no experiment " +
                                   std::to_string(experiment_id) + " in '" + store.path().string() +
                                   "'; `det ls -e` shows the ones there are");
}

void require_experiment(Database &store, int64_t experiment_id, const char *tried) {
  if (!store.query("SELECT 1 FROM experiments WHERE id=?", experiment_id).next())
    throw_no_experiment(store, experiment_id, tried);
}

void require_trial(Database &store, int64_t trial_id, const char *tried) {
  if (store.query("SELECT 1 FROM trials WHERE id=?", trial_id).next()) return;
  throw Error(Code::not_found, std::string(tried) + ": there is no trial " +
                                   std::to_string(trial_id) + " in '" + store.path().string() +
                                   "'; `det ls` shows the ones there are");
}

std::optional<int64_t> last_reported_step(Database &store, int64_t trial_id, const char *group) {
  Query last = store.query(
      "SELECT steps FROM metrics WHERE trial_id=? AND metric_group=? AND archived=0"
      " ORDER BY steps DESC LIMIT 1",
      trial_id, group);
  return last.next() ? std::optional(last.integer(0)) : std::nullopt;
}

Json time_or_null(std::optional<int64_t> time_us) {
  return time_us ? Json(iso8601(*time_us)) : Json();
}

Json stored_json(const Query &row, int column) {
  if (row.is_null(column)) return {};
  try {
    return parse_json(row.view(column), "what is stored");
  } catch (const Error &error) {
    throw Error(Code::corrupt, error.what());
  }
}

LiveTrials::LiveTrials(Database &store, const std::filesystem::path &store_directory)
    : store_directory_(store_directory) {
  Query rows = store.query(
      "SELECT experiment_id, trial_id, run_id, process FROM runs JOIN trials ON id=trial_id"
      " WHERE exit IS NULL AND run_id=last_run");
  while (rows.next())
    by_experiment_[rows.integer(0)].push_back(
        {rows.integer(1), rows.integer(2),
         ProcessIdentity::from_json(parse_json_object(rows.view(3), "the process of a run")), "",
         std::nullopt});
}

int64_t LiveTrials::count(int64_t experiment_id) const {
  const auto runs = by_experiment_.find(experiment_id);
  if (runs == by_experiment_.end()) return 0;
  return std::ranges::count_if(runs->second, [&](const RunRecord &run) { return lives(run); });
}

bool LiveTrials::has(int64_t experiment_id, int64_t trial_id) const {
  const auto runs = by_experiment_.find(experiment_id);
  return runs != by_experiment_.end() &&
         std::ranges::any_of(runs->second, [&](const RunRecord &run) {
           return run.trial_id == trial_id && lives(run);
         });
}

std::string LiveTrials::only_trials(const char *id) const {
  std::string ids;
  for (const auto &[experiment, runs] : by_experiment_)
    for (const RunRecord &run : runs)
      if (lives(run)) ids += (ids.empty() ? "" : ", ") + std::to_string(run.trial_id);
  return std::string(" AND ") + id + " IN (" + ids + ")";
}

std::string LiveTrials::only_experiments(const char *id) const {
  std::string ids;
  for (const auto &[experiment, runs] : by_experiment_)
    if (count(experiment) != 0) ids += (ids.empty() ? "" : ", ") + std::to_string(experiment);
  return std::string(" AND ") + id + " IN (" + ids + ")";
}

// What has no number is known to its launcher only, which has not said that it ended.
bool LiveTrials::lives(const RunRecord &run) const {
  return run.process.pid <= 0 || run_lives(store_directory_, run);
}

std::string experiment_columns(const Dialect &dialect) {
  return std::string(
             "SELECT experiments.id, name, state, created, ended,"
             " (SELECT COUNT(*) FROM trials WHERE experiment_id=experiments.id),"
             " COALESCE(progress,"
             " (SELECT AVG(COALESCE(progress, 0)) FROM trials"
             "  WHERE experiment_id=experiments.id)),"
             " (SELECT COUNT(*) FROM trials"
             "  WHERE experiment_id=experiments.id AND ended IS NOT NULL),"
             " (SELECT best_metric FROM trials WHERE experiment_id=experiments.id"
             " ORDER BY best_order, id LIMIT 1), ") +
         dialect.searcher_name + ", " + dialect.searcher_metric_name +
         ", notes, tags, archived FROM experiments";
}

Json experiment_entry(const Query &row, const LiveTrials &live) {
  return {{"id", row.integer(0)},
          {"name", row.text(1)},
          {"state", row.text(2)},
          {"running", live.count(row.integer(0))},
          {"progress", row.number(6)},
          {"trials", row.integer(5)},
          {"trials_done", row.integer(7)},
          {"best_metric", stored_json(row, 8)},
          {"searcher", stored_json(row, 9)},
          {"searcher_metric", stored_json(row, 10)},
          {"start_time", time_or_null(row.integer(3))},
          {"end_time", time_or_null(row.maybe_integer(4))},
          {"notes", row.text(11)},
          {"tags", stored_json(row, 12)},
          {"archived", row.integer(13) != 0}};
}

Json trial_entry(Database &store, const Query &row, const LiveTrials &live) {
  const int64_t id = row.integer(0);
  const auto text_or_null = [&row](int column) {
    return row.is_null(column) ? Json() : Json(row.text(column));
  };
  return {{"id", id},
          {"experiment_id", row.integer(1)},
          {"name", row.text(2)},
          {"external_id", text_or_null(3)},
          {"state", row.text(4)},
          {"running", live.has(row.integer(1), id)},
          {"status", text_or_null(6)},
          {"progress", row.is_null(5) ? Json() : Json(row.number(5))},
          {"steps_completed", steps_completed(store, id, row.integer(10))},
          {"best_metric", stored_json(row, 11)},
          {"best_steps", row.is_null(12) ? Json() : Json(row.integer(12))},
          {"runs", row.integer(7)},
          {"last_exit", text_or_null(17)},
          {"restarts", row.integer(13)},
          {"hparams", stored_json(row, 14)},
          {"start_time", time_or_null(row.integer(8))},
          {"end_time", time_or_null(row.maybe_integer(9))},
          {"tags", stored_json(row, 15)},
          {"archived", row.integer(16) != 0}};
}

Json checkpoint_entry(const Query &row) {
  return {{"uuid", row.text(1)},
          {"trial_id", row.integer(2)},
          {"trial_run_id", row.integer(3)},
          {"steps_completed", row.integer(4)},
          {"state", row.text(5)},
          {"size", row.integer(6)},
          {"time", time_or_null(row.integer(7))},
          {"metadata", stored_json(row, 8)},
          {"resources", stored_json(row, 9)},
          {"pinned", row.integer(11) != 0}};
}

Json failure_of(Database &store, const Json &how_it_stands, const Json &experiment_id) {
  if (how_it_stands != state::error && how_it_stands != state::failing) return {};
  const auto why = search_failure(store, experiment_id.get<int64_t>());
  return why ? Json(*why) : Json();
}

std::string glob_from(std::string glob) {
  for (size_t at = 0; (at = glob.find("[!", at)) != glob.npos; at += 2) glob[at + 1] = '^';
  return glob;
}

std::string filter_sql(const Filter &filter, const char *state, const Dialect &dialect) {
  std::string sql = std::string(" AND ") + dialect.has_name + " AND " + dialect.has_tag;
  if (filter.archived != Archived::with)
    sql += filter.archived == Archived::only ? " AND experiments.archived<>0"
                                             : " AND experiments.archived=0";
  std::string states;
  for (const std::string &one : filter.states) states += (states.empty() ? "'" : ", '") + one + "'";
  if (!states.empty()) sql += std::string(" AND ") + state + " IN (" + states + ")";
  return sql;
}

std::string page_sql(std::string sql, const RowOrder &order, const Page &page) {
  const std::string id = order.id;
  const std::string direction = page.descending ? " DESC" : " ASC";
  // Behind the cursor, in the direction of the page.
  const bool from_start = page.after == 0;
  if (!from_start) {
    const std::string after = std::to_string(page.after);
    sql += " AND ";
    if (order.before != nullptr)
      sql += std::string("(") + order.before + ", " + id + ")" + (page.descending ? "<" : ">") +
             "(SELECT " + order.before + ", id FROM " + order.table + " WHERE id=" + after + ")";
    else sql += id + (page.descending ? "<" : ">") + after;
  }
  sql += " ORDER BY ";
  if (order.before != nullptr) sql += order.before + direction + ", ";
  return sql + id + direction;
}

}  // namespace det::engine

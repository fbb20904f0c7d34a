#include "core/engine/supervision/supervised_experiment.h"

#include "core/base/error.h"
#include "core/engine/change.h"
#include "core/engine/supervision/transitions.h"

namespace det::engine {

SupervisedExperiment::SupervisedExperiment(const std::filesystem::path &store_directory,
                                           int64_t experiment_id, const StoreOptions &options)
    : store_(store_directory, false, options),
      seat_(store_directory, experiment_id),
      experiment_id_(experiment_id),
      runs_(store_, experiment_id),
      output_(store_) {}

void SupervisedExperiment::take_up(std::unique_ptr<search::Search> search,
                                   std::optional<uint64_t> length) {
  search_ = std::make_unique<RecordedSearch>(store_, experiment_id_, std::move(search), length);
}

ExperimentRecord SupervisedExperiment::experiment() {
  return read_experiment(records(), experiment_id_);
}

std::string SupervisedExperiment::cluster_id() {
  Query row = records().query("SELECT value FROM meta WHERE key='cluster_id'");
  row.next();
  return row.text(0);
}

ExperimentControl SupervisedExperiment::control() {
  Query row = records().query("SELECT state, control FROM experiments WHERE id=?", experiment_id_);
  if (!row.next())
    throw Error(Code::not_found, "running " + name() + ": it was removed from the store");
  return {row.text(0), row.integer(1)};
}

void SupervisedExperiment::change_state(std::string_view to) {
  Change change(store_);
  set_experiment_state(records(), experiment_id_, to, "changing " + name());
  records().run("UPDATE experiments SET control=control+1 WHERE id=?", experiment_id_);
  change.tell_listeners(experiment_id_);
  change.commit();
}

void SupervisedExperiment::note_progress(double progress) {
  Change change(store_, Durability::relaxed);
  records().run("UPDATE experiments SET progress=? WHERE id=?", progress, experiment_id_);
  change.commit();
}

std::string SupervisedExperiment::finish() {
  Change change(store_);
  const std::string state = control().state;  // somebody may have asked for another end meanwhile
  if (!is_stopping(state)) return state;
  const std::string_view end = end_of(state);
  set_experiment_state(records(), experiment_id_, end, "ending " + name());
  if (end == state::completed)
    records().run("UPDATE experiments SET progress=1 WHERE id=?", experiment_id_);
  change.tell_listeners(experiment_id_);
  change.commit();
  return std::string(end);
}

std::vector<SearchPost> SupervisedExperiment::posts() {
  std::vector<SearchPost> posts;
  Query rows = records().query(
      "SELECT id, event_id, operations FROM search_posts"
      " WHERE experiment_id=? AND accepted IS NULL ORDER BY id",
      experiment_id_);
  while (rows.next()) posts.push_back({rows.integer(0), rows.integer(1), rows.text(2)});
  return posts;
}

std::vector<OpenTrial> SupervisedExperiment::open_trials() {
  std::vector<OpenTrial> trials;
  Query rows = records().query(
      "SELECT id, state FROM trials"
      " WHERE experiment_id=? AND state NOT IN ('COMPLETED', 'CANCELED', 'ERROR') ORDER BY id",
      experiment_id_);
  while (rows.next()) trials.push_back({rows.integer(0), rows.text(1)});
  return trials;
}

TrialStanding SupervisedExperiment::standing(int64_t trial_id) {
  // It goes first where its own validation was answered with it, which a run that waits for the
  // answer goes on with, and where a run that was started for it did not end well.
  Query row = records().query(
      "SELECT state, closed, COALESCE(completed IS NOT NULL AND decided IS NOT NULL, TRUE),"
      " COALESCE(asked, 0),"
      " COALESCE(search_events.kind='validation_completed' AND search_events.trial_id=trials.id,"
      "  FALSE)"
      " OR EXISTS (SELECT 1 FROM runs WHERE trial_id=trials.id AND run_id=last_run"
      "  AND (exit IS NULL OR exit<>'ok') AND started>=COALESCE(search_events.time, 0))"
      " FROM trials"
      " LEFT JOIN operations ON operations.trial_id=trials.id AND operations.number="
      "  (SELECT MAX(number) FROM operations WHERE trial_id=trials.id)"
      " LEFT JOIN search_events ON search_events.experiment_id=trials.experiment_id"
      "  AND search_events.number=asked"
      " WHERE trials.id=?",
      trial_id);
  row.next();
  const bool goes_first = row.integer(4) != 0;
  return {row.text(0), row.integer(1) != 0, row.integer(2) != 0, goes_first ? 0 : row.integer(3)};
}

TrialNews SupervisedExperiment::news(int64_t trial_id) {
  Query row = records().query(
      "SELECT early_exit IS NOT NULL, progress, length, completed IS NOT NULL"
      "  AND decided IS NULL, metric FROM trials LEFT JOIN operations ON trial_id=trials.id "
      "WHERE trials.id=?"
      " ORDER BY number DESC LIMIT 1",
      trial_id);
  row.next();
  TrialNews news;
  news.refused = row.integer(0) != 0;
  news.progress = row.is_null(1) ? 0 : row.number(1);
  news.length = row.is_null(2) ? 0 : static_cast<uint64_t>(row.integer(2));
  if (row.integer(3) != 0)
    news.metric = parse_json(row.view(4), "the metric of a completed operation");
  return news;
}

std::vector<TrialNews> SupervisedExperiment::news(const std::vector<int64_t> &trials) {
  const Reading one_moment(records());
  std::vector<TrialNews> all;
  for (const int64_t trial_id : trials) all.push_back(news(trial_id));
  return all;
}

std::vector<TrialValidation> SupervisedExperiment::new_validations(int64_t trial_id) {
  std::vector<TrialValidation> found;
  Query rows = records().query(
      "SELECT metrics.id, metrics FROM metrics JOIN trials ON trials.id=trial_id"
      " WHERE trial_id=? AND metric_group='validation' AND metrics.id>last_validation"
      " AND archived=0 AND trials.state IN ('ACTIVE', 'PAUSED') ORDER BY metrics.id",
      trial_id);
  while (rows.next())
    found.push_back({rows.integer(0), parse_json(rows.view(1), "stored metrics")});
  return found;
}

}  // namespace det::engine

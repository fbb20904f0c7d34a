#include "core/engine/records/experiments.h"

#include "core/base/error.h"
#include "core/config/secrets.h"
#include "core/engine/change.h"
#include "core/engine/records/entries.h"
#include "core/engine/records/notes.h"
#include "core/engine/runs/best_validation.h"
#include "core/engine/store_places.h"

namespace det::engine {

namespace {

constexpr const char *reading = "reading an experiment";

}

Json Experiments::entry(int64_t experiment_id, const char *tried) {
  Query row = records().query(experiment_columns(records().dialect()) + " WHERE experiments.id=?",
                              experiment_id);
  if (!row.next()) throw_no_experiment(records(), experiment_id, tried);
  return experiment_entry(row, LiveTrials(records(), store_.directory()));
}

void Experiments::add_configuration(Json &experiment, int64_t experiment_id) {
  Query config = records().query("SELECT config FROM experiments WHERE id=?", experiment_id);
  config.next();
  experiment["config"] = config::with_masked_secrets(used_config(records(), config.view(0)));
  experiment["error"] = failure_of(records(), experiment.at("state"), experiment_id);
}

Json Experiments::describe(int64_t experiment_id) {
  const auto guard = store_.lock();
  Query row =
      records().query("SELECT name, state, tags FROM experiments WHERE id=?", experiment_id);
  if (!row.next()) throw_no_experiment(records(), experiment_id, reading);
  Json experiment{{"id", experiment_id},
                  {"name", row.text(0)},
                  {"state", row.text(1)},
                  {"tags", stored_json(row, 2)}};
  add_configuration(experiment, experiment_id);
  return experiment;
}

Json Experiments::get(int64_t experiment_id) {
  const auto guard = store_.lock();
  Json experiment = entry(experiment_id, reading);
  add_configuration(experiment, experiment_id);
  Json trials = Json::array();
  const LiveTrials live(records(), store_.directory());
  Query rows = records().query(
      std::string(trial_columns) + " WHERE experiment_id=? ORDER BY trials.id", experiment_id);
  while (rows.next()) trials.push_back(trial_entry(records(), rows, live));
  experiment["trials"] = std::move(trials);
  return experiment;
}

Json Experiments::list(const Page &page) {
  const auto guard = store_.lock();
  const LiveTrials live(records(), store_.directory());
  // The parameters of filter_sql(); ?1 is that of lists of trials.
  std::string sql = experiment_columns(records().dialect()) + " WHERE ?1=0" +
                    filter_sql(page.filter, "state", records().dialect());
  if (page.filter.running) sql += live.only_experiments("experiments.id");
  return list_page(
      records(), "experiments", std::move(sql), {"experiments.id"}, page,
      [&](const Query &row) { return experiment_entry(row, live); }, 0, glob_from(page.filter.name),
      page.filter.tag);
}

Json Experiments::update(int64_t experiment_id, const Json &changes) {
  const ExperimentNotes notes = read_notes(changes);
  const auto guard = store_.lock();
  {
    Change change(store_);
    const Json before = entry(experiment_id, "changing an experiment");
    if (notes.archived == true && before.at("archived") == false)
      require_archivable(experiment_id, before.at("state").get<std::string>());
    change.records().run(
        "UPDATE experiments SET name=COALESCE(?1, name), notes=COALESCE(?2, notes),"
        " tags=COALESCE(?3, tags), archived=COALESCE(?4, archived) WHERE id=?5",
        notes.name, notes.notes,
        notes.tags ? std::optional(to_wire(Json(*notes.tags))) : std::nullopt, notes.archived,
        experiment_id);
    change.commit();
  }
  return entry(experiment_id, "changing an experiment");
}

int64_t Experiments::create(const Json &config, const std::string &original,
                            const LaunchPlan &launch) {
  const auto guard = store_.lock();
  Change change(store_);
  const int64_t id = det::engine::create_experiment(change.records(), config, original, launch);
  change.commit();
  return id;
}

ExperimentRecord Experiments::read(int64_t experiment_id) {
  const auto guard = store_.lock();
  return det::engine::read_experiment(records(), experiment_id);
}

std::optional<int64_t> Experiments::first_paused_trial(int64_t experiment_id) {
  const auto guard = store_.lock();
  Query row = records().query(
      "SELECT id FROM trials WHERE experiment_id=? AND state='PAUSED' ORDER BY id LIMIT 1",
      experiment_id);
  return row.next() ? std::optional(row.integer(0)) : std::nullopt;
}

std::map<std::string, int64_t> Experiments::count_trials(int64_t experiment_id) {
  const auto guard = store_.lock();
  std::map<std::string, int64_t> counts;
  Query rows = records().query(
      "SELECT state, COUNT(*) FROM trials WHERE experiment_id=? GROUP BY state", experiment_id);
  while (rows.next()) counts[rows.text(0)] = rows.integer(1);
  return counts;
}

std::optional<BestTrialRecord> Experiments::best_trial(int64_t experiment_id) {
  const auto guard = store_.lock();
  const auto best = det::engine::best_trial(records(), experiment_id);
  const auto value = best_validation(records(), experiment_id);
  if (!best || !value) return std::nullopt;
  return BestTrialRecord{*best, *value};
}

}  // namespace det::engine

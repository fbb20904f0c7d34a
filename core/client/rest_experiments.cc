#include "core/client/rest_experiments.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/client/rest_entries.h"
#include "core/client/rest_walk.h"
#include "core/codec/steering.h"
#include "core/config/secrets.h"
#include "core/engine/records/notes.h"
#include "core/tensorboard/files.h"

namespace det::client {

codec::Experiment RestExperiments::find(int64_t id, const std::string &tried) {
  try {
    return session_.call(codec::GetExperiment{id}).experiment;
  } catch (const Error &error) {
    if (error.http_status != 404) throw;
    throw_not_found(tried, "experiment", std::to_string(id), session_.url(), "det ls -e");
  }
}

std::vector<Json> RestExperiments::all_trials(const codec::Experiment &experiment) {
  std::vector<Json> trials;
  engine::Page page;
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    const auto list = session_.call(codec::ListTrials{experiment.id, part_of(page, sort_by_id)});
    for (const codec::Trial &trial : list.trials) trials.push_back(trial_entry(trial, experiment));
    next = cursor_behind(page.after, list.trials.size(), list.pagination);
  }
  return trials;
}

Json RestExperiments::list(const engine::Page &page) {
  return filter_page("experiments", page, [&](const engine::Page &at) {
    const auto list = session_.call(codec::ListExperiments{.part = part_of(at, sort_by_id),
                                                           .archived = archived_of(page.filter)});
    ListedPart part{{}, list.pagination};
    for (const codec::Experiment &experiment : list.experiments)
      part.entries.push_back(matches(experiment, page.filter)
                                 ? entry_or_null(experiment_entry(experiment), page.filter)
                                 : Json());
    return part;
  });
}

Json RestExperiments::description(const codec::Experiment &experiment) {
  Json entry = experiment_entry(experiment);
  entry["config"] = config::with_masked_secrets(experiment.config);
  entry["error"] = nullptr;
  return entry;
}

Json RestExperiments::describe(int64_t experiment_id) {
  return description(find(experiment_id, "reading an experiment"));
}

Json RestExperiments::get(int64_t experiment_id) {
  const codec::Experiment experiment = find(experiment_id, "reading an experiment");
  Json entry = description(experiment);
  std::vector<Json> trials = all_trials(experiment);
  entry["trials"] = trials;
  const Json storage = experiment.config.is_object()
                           ? experiment.config.value("checkpoint_storage", Json())
                           : Json();
  entry["tensorboard"] =
      tensorboard::locations({storage}, session_.master().cluster_id, experiment_id, logger_);
  sort_by_metric(trials, experiment);
  if (!trials.empty()) entry["best_metric"] = trials.front().at("best_metric");
  return entry;
}

Json RestExperiments::update(int64_t experiment_id, const Json &changes) {
  const engine::ExperimentNotes notes = engine::read_notes(changes);
  const codec::Experiment before = find(experiment_id, "changing an experiment");
  // First what a master may refuse.
  if (notes.archived && *notes.archived != before.archived) {
    if (*notes.archived && !is_over(state_name(before.state)))
      engine::require_archivable(experiment_id, state_name(before.state));
    if (*notes.archived) session_.call(codec::ArchiveExperiment{{experiment_id}});
    else session_.call(codec::UnarchiveExperiment{{experiment_id}});
  }
  if (notes.name || notes.notes || notes.tags)
    session_.call(codec::PatchExperiment{experiment_id, notes.name, notes.notes, notes.tags});
  return experiment_entry(find(experiment_id, "changing an experiment"));
}

Json RestExperiments::remove(int64_t experiment_id) {
  const std::string tried = "deleting an experiment";
  const std::string state = state_name(find(experiment_id, tried).state);
  if (!is_over(state) && state != "DELETE_FAILED" && state != "DELETING")
    throw Error(Code::state, "deleting experiment " + std::to_string(experiment_id) + ": it is " +
                                 state + "; wait until it is over, or cancel it");
  if (state != "DELETING") session_.call(codec::DeleteExperiment{{experiment_id}});
  return {{"experiment_id", experiment_id},
          {"state", "DELETING"},
          {"checkpoints", nullptr},
          {"size", nullptr}};
}

void RestExperiments::act(int64_t id, engine::Action action) {
  switch (action) {
    case engine::Action::pause:
      session_.call(codec::PauseExperiment{{id}});
      return;
    case engine::Action::activate:
      session_.call(codec::ActivateExperiment{{id}});
      return;
    case engine::Action::cancel:
      session_.call(codec::CancelExperiment{{id}});
      return;
    case engine::Action::kill:
      session_.call(codec::KillExperiment{{id}});
      return;
  }
}

}  // namespace det::client

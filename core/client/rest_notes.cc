// What people note about experiments of a master, and their deletion.
#include "core/base/error.h"
#include "core/client/rest_client.h"
#include "core/client/rest_entries.h"
#include "core/codec/steering.h"
#include "core/engine/records/notes.h"

namespace det::client {

Json RestClient::update_experiment(int64_t experiment_id, const Json &changes) {
  const engine::ExperimentNotes notes = engine::read_notes(changes);
  const codec::Experiment before = experiment(experiment_id, "changing an experiment");
  // First what a master may refuse.
  if (notes.archived && *notes.archived != before.archived) {
    if (*notes.archived && !is_over(state_name(before.state)))
      engine::require_archivable(experiment_id, state_name(before.state));
    if (*notes.archived) session_->call(codec::ArchiveExperiment{{experiment_id}});
    else session_->call(codec::UnarchiveExperiment{{experiment_id}});
  }
  if (notes.name || notes.notes || notes.tags)
    session_->call(codec::PatchExperiment{experiment_id, notes.name, notes.notes, notes.tags});
  return experiment_entry(experiment(experiment_id, "changing an experiment"));
}

Json RestClient::delete_experiment(int64_t experiment_id) {
  const std::string tried = "deleting an experiment";
  const std::string state = state_name(experiment(experiment_id, tried).state);
  if (!is_over(state) && state != "DELETE_FAILED" && state != "DELETING")
    throw Error(Code::state, "deleting experiment " + std::to_string(experiment_id) + ": it is " +
                                 state + "; wait until it is over, or cancel it");
  if (state != "DELETING") session_->call(codec::DeleteExperiment{{experiment_id}});
  return {{"experiment_id", experiment_id},
          {"state", "DELETING"},
          {"checkpoints", nullptr},
          {"size", nullptr}};
}

}  // namespace det::client

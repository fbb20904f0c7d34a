#include "wrappers/keras/run/workload_source.h"

namespace det::keras {

SearchedWorkloads::SearchedWorkloads(det_core *core, int64_t global_batch_size) {
  det_trial_sequencer *made = nullptr;
  call(det_trial_sequencer_create, core, nullptr, global_batch_size, &made);
  sequencer_.reset(made);
}

std::optional<Workload> SearchedWorkloads::next() {
  det_workload next = DET_WORKLOAD_INIT;
  if (call(det_trial_sequencer_next, sequencer_.get(), &next) != DET_OK) return std::nullopt;
  return Workload{static_cast<Workload::Kind>(next.kind), next.step_id, next.batches,
                  next.batches_done};
}

void SearchedWorkloads::respond(const Json &response) {
  call(det_trial_sequencer_respond, sequencer_.get(), text_with_bare_numbers(response).c_str());
}

void SearchedWorkloads::refuse() {
  call(det_trial_sequencer_respond_invalid_hparams, sequencer_.get());
}

Json SearchedWorkloads::state() const {
  const det_trial_sequencer *sequencer = sequencer_.get();
  return parse_json(text_of(det_trial_sequencer_state, sequencer), "the state of the sequencer");
}

void SearchedWorkloads::load_state(const Json &state) {
  call(det_trial_sequencer_load_state, sequencer_.get(), text_with_bare_numbers(state).c_str());
}

std::optional<Workload> OneBatch::next() {
  switch (done_) {
    case 0:
      return Workload{Workload::Kind::train, 1, 1, 0};
    case 1:
      return Workload{Workload::Kind::validate, 1, 0, 1};
    case 2:
      return Workload{Workload::Kind::checkpoint, 1, 0, 1};
    default:
      return std::nullopt;
  }
}

}  // namespace det::keras

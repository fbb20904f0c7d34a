// Pausing, activating, canceling and killing what a master schedules.
#include "core/base/error.h"
#include "core/client/rest_client.h"
#include "core/client/rest_entries.h"
#include "core/codec/control.h"

namespace det {

namespace {

void steer_experiment(MasterSession &session, int64_t id, Action action) {
  switch (action) {
    case Action::pause:
      session.call(PauseExperiment{{id}});
      return;
    case Action::activate:
      session.call(ActivateExperiment{{id}});
      return;
    case Action::cancel:
      session.call(CancelExperiment{{id}});
      return;
    case Action::kill:
      session.call(KillExperiment{{id}});
      return;
  }
}

// Whether there is anything to do to what is in this state.
bool may_act(Action action, const std::string &tried, const std::string &state) {
  if (!is_over(state)) return true;
  if (action == Action::pause || action == Action::activate)
    throw Error(Code::state, tried + ": it is " + state +
                                 (action == Action::pause ? ", so there is nothing to pause"
                                                          : ", so it cannot go on"));
  return false;
}

}  // namespace

Json RestClient::control(Target target, int64_t id, Action action) {
  const bool is_trial = target == Target::trial;
  const std::string tried =
      action_name(action) + (is_trial ? " trial " : " experiment ") + std::to_string(id);
  std::string state;
  int64_t experiment_id = id;
  if (is_trial) {
    const Trial trial = this->trial(id, tried);
    state = state_name(trial.state);
    experiment_id = trial.experiment_id;
  }
  if (!is_trial || action != Action::kill) {
    const Experiment of = experiment(experiment_id, tried);
    if (!is_trial) state = state_name(of.state);
    if (is_trial && of.trial_count != 1)
      throw Error(Code::unsupported, tried + ": " + session_->url() +
                                         " does this to all trials of an experiment at "
                                         "once only; use -e " +
                                         std::to_string(experiment_id) + ", or kill the trial");
  }
  const bool acts = may_act(action, tried, state);
  if (acts) {
    try {
      if (is_trial && action == Action::kill) session_->call(KillTrial{id});
      else steer_experiment(*session_, experiment_id, action);
    } catch (const Error &error) {
      if (error.http_status != 404) throw;
      // It is there, but not among what the master schedules.
      throw Error(Code::state,
                  tried + ": it is " + state + ", and " + session_->url() +
                      " does not schedule it; stop or start its processes where they run",
                  0, 404);
    }
    state = is_trial ? state_name(trial(id, tried).state) : state_name(experiment(id, tried).state);
  }
  return {{"state", state}, {"signalled", acts ? Json() : Json(0)}, {"resume", nullptr}};
}

}  // namespace det

// Pausing, activating, canceling and killing what a master schedules.
#include "core/base/error.h"
#include "core/client/rest_client.h"
#include "core/client/rest_entries.h"
#include "core/codec/steering.h"

namespace det::client {

namespace {

void steer_experiment(master::MasterSession &session, int64_t id, engine::Action action) {
  switch (action) {
    case engine::Action::pause:
      session.call(codec::PauseExperiment{{id}});
      return;
    case engine::Action::activate:
      session.call(codec::ActivateExperiment{{id}});
      return;
    case engine::Action::cancel:
      session.call(codec::CancelExperiment{{id}});
      return;
    case engine::Action::kill:
      session.call(codec::KillExperiment{{id}});
      return;
  }
}

// Whether there is anything to do to what is in this state.
bool may_act(engine::Action action, const std::string &tried, const std::string &state) {
  if (!is_over(state)) return true;
  if (action == engine::Action::pause || action == engine::Action::activate)
    throw Error(Code::state, tried + ": it is " + state +
                                 (action == engine::Action::pause ? ", so there is nothing to pause"
                                                                  : ", so it cannot go on"));
  return false;
}

}  // namespace

Json RestClient::control(engine::Target target, int64_t id, engine::Action action) {
  const bool is_trial = target == engine::Target::trial;
  const std::string tried =
      engine::action_name(action) + (is_trial ? " trial " : " experiment ") + std::to_string(id);
  std::string state;
  int64_t experiment_id = id;
  if (is_trial) {
    const codec::Trial trial = this->trial(id, tried);
    state = state_name(trial.state);
    experiment_id = trial.experiment_id;
  }
  if (!is_trial || action != engine::Action::kill) {
    const codec::Experiment of = experiment(experiment_id, tried);
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
      if (is_trial && action == engine::Action::kill) session_->call(codec::KillTrial{id});
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

}  // namespace det::client

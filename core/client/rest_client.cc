#include "core/client/rest_client.h"

#include "core/base/error.h"
#include "core/base/log/log.h"
#include "core/client/rest_entries.h"
#include "core/client/sync.h"
#include "core/codec/steering.h"
#include "core/master/rest/recover_rest_runs.h"

namespace det::client {

namespace {

// Whether there is anything to do to what is in this state.
bool may_act(engine::Action action, const std::string &tried, const std::string &state) {
  if (!is_over(state)) return true;
  if (action == engine::Action::pause || action == engine::Action::activate)
    throw Error(Code::state, tried + ": it is " + state +
                                 (action == engine::Action::pause ? ", so there is nothing to pause"
                                                                  : ", so it cannot continue"));
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
    const codec::Trial trial = trials_.find(id, tried);
    state = state_name(trial.state);
    experiment_id = trial.experiment_id;
  }
  if (!is_trial || action != engine::Action::kill) {
    const codec::Experiment of = experiments_.find(experiment_id, tried);
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
      else experiments_.act(experiment_id, action);
    } catch (const Error &error) {
      if (error.http_status != 404) throw;
      // It is there, but not among what the master schedules.
      throw Error(Code::state,
                  tried + ": it is " + state + ", and " + session_->url() +
                      " does not schedule it; stop or start its processes where they run",
                  0, 404);
    }
    state = is_trial ? state_name(trials_.find(id, tried).state)
                     : state_name(experiments_.find(id, tried).state);
  }
  return {{"state", state}, {"signalled", acts ? Json() : Json(0)}, {"resume", nullptr}};
}

Json RestClient::pin_checkpoint(const std::string &id, bool pinned) {
  throw Error(Code::unsupported, std::string(pinned ? "pinning" : "unpinning") + " checkpoint " +
                                     id + ": " + session_->url() +
                                     " pins none; it keeps what is a version of a model in its "
                                     "registry, so register it there");
}

Json RestClient::collect_garbage(int64_t experiment_id, bool) {
  throw Error(Code::unsupported, "deleting checkpoints of experiment " +
                                     std::to_string(experiment_id) + ": " + session_->url() +
                                     " does that by itself when an experiment ends");
}

Json RestClient::search_events(int64_t experiment_id, std::chrono::milliseconds) {
  throw Error(Code::unsupported, "reading the events of the search of experiment " +
                                     std::to_string(experiment_id) + " on " + session_->url() +
                                     ": only searches that `det run` runs can be decided here");
}

Json RestClient::post_operations(int64_t experiment_id, int64_t, const Json &) {
  throw Error(Code::unsupported, "posting operations to the search of experiment " +
                                     std::to_string(experiment_id) + " on " + session_->url() +
                                     ": only searches that `det run` runs can be decided here");
}

Json RestClient::sync() { return to_json(master::recover_rest_runs(session_, true, logger_)); }

}  // namespace det::client

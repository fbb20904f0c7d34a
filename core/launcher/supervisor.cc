#include "core/launcher/supervisor.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "core/base/error.h"
#include "core/engine/garbage.h"
#include "core/launcher/runnable.h"
#include "core/metrics/left_behind.h"
#include "core/search/single.h"

namespace det {

namespace {

constexpr std::chrono::milliseconds between_progress{500};
constexpr std::chrono::seconds limit_for_progress{1};

int64_t whole_number(const Json &section, const char *key, int64_t otherwise) {
  const Json value = section.is_object() ? section.value(key, Json()) : Json();
  return value.is_number() ? value.get<int64_t>() : otherwise;
}

// Where metrics steer the search, each trial is to train to its end by itself.
std::optional<uint64_t> length_of_each(const ExperimentRecord &experiment) {
  if (!experiment.launch.by_metrics) return std::nullopt;
  const Json &searcher = experiment.config.at("searcher");
  const int64_t time = whole_number(searcher, "max_time", 0);
  return time > 0 ? static_cast<uint64_t>(time) : single_length(experiment.config);
}

}  // namespace

Supervisor::Supervisor(Options options, Launcher &launcher)
    : options_(std::move(options)),
      launcher_(launcher),
      lead_(options_.store_directory, options_.experiment_id, options_.store),
      experiment_(lead_.experiment()),
      log_policies_(experiment_.config) {
  const Json &config = experiment_.config;
  const Json resources = config.value("resources", Json::object());
  slots_per_trial_ = whole_number(resources, "slots_per_trial", 1);
  max_slots_ = whole_number(resources, "max_slots", 0);
  max_restarts_ = whole_number(config, "max_restarts", 5);
  preemption_timeout_ = std::chrono::seconds(whole_number(config, "preemption_timeout", 3600));
  // Whoever goes on with it is to put that right first; what is ending starts nothing.
  if (!is_stopping(experiment_.state) && !ended())
    require_runnable(config, experiment_.launch, launcher_);
  lead_.take_up(make_search(config, experiment_.launch.by_metrics ? SearchRules::metrics
                                                                  : SearchRules::operations),
                length_of_each(experiment_));
  take_over();
}

void Supervisor::take_over() {
  recover_runs(options_.store_directory, *options_.log);
  for (const OpenTrial &trial : lead_.open_trials()) {
    trials_[trial.id];
    touched_.push_back(trial.id);
  }
  for (const LedRun &run : lead_.led_runs()) take_over_run(run);
  if (!ended() && !is_stopping(experiment_.state)) carry_on(lead_.begin());
  states_changed_ = true;
}

void Supervisor::step() {
  lead_.seat().drain();
  read_control();
  for (const LaunchedExit &exit : launcher_.take_exits()) run_gone(exit);
  for (const int64_t id : running()) look_at(id, trials_.at(id));
  if (lead_.is_custom()) hear_posts();
  settle_touched();
  enforce_deadlines();
  launch_waiting();
  settle_touched();
  finish();
  note_progress();
}

void Supervisor::wait(int fd, std::chrono::milliseconds limit) {
  Clock::time_point next = options_.now() + limit;
  for (const int64_t id : running_) next = std::min(next, trials_.at(id).kill_at);
  if (!running_.empty()) next = std::min(next, options_.now() + between_progress);
  const auto pause = std::chrono::ceil<std::chrono::milliseconds>(next - options_.now());
  std::array<pollfd, 3> news{
      {{lead_.seat().wake_fd(), POLLIN, 0}, {launcher_.exit_fd(), POLLIN, 0}, {fd, POLLIN, 0}}};
  if (touched_.empty() &&
      poll(news.data(), news.size(), static_cast<int>(std::max<int64_t>(pause.count(), 0))) < 0 &&
      errno != EINTR)
    OsFailure{errno}.raise("waiting for news of " + name_of(0));
}

void Supervisor::change_state(std::string_view to) {
  lead_.change_state(to);
  step();
}

void Supervisor::kill_processes() {
  for (const int64_t id : running_) {
    trials_.at(id).killed = true;
    launcher_.kill(id);
  }
}

bool Supervisor::ended() const { return is_terminal(experiment_.state); }

bool Supervisor::at_rest() const {
  return running_.empty() && touched_.empty() && experiment_.state == state::paused;
}

double Supervisor::progress() const {
  const double progress = lead_.progress();
  return std::isfinite(progress) ? std::clamp(progress, 0.0, 1.0) : 0;
}

std::vector<int64_t> Supervisor::running() const { return {running_.begin(), running_.end()}; }

std::string Supervisor::name_of(int64_t trial_id) const {
  return trial_id == 0 ? "experiment " + std::to_string(experiment_.id)
                       : "trial " + std::to_string(trial_id);
}

// What people did to the experiment or to its trials.
void Supervisor::read_control() {
  ExperimentControl control = lead_.control();
  if (control.count != control_) states_changed_ = true;
  control_ = control.count;
  experiment_.state = std::move(control.state);
  if (states_changed_) reload_states();
}

void Supervisor::reload_states() {
  states_changed_ = false;
  for (const OpenTrial &now : lead_.open_trials())
    if (trials_[now.id].state != now.state) touched_.push_back(now.id);
}

void Supervisor::settle_touched() {
  while (!touched_.empty() || states_changed_) {
    if (states_changed_) read_control();
    if (touched_.empty()) break;
    const int64_t id = touched_.front();
    touched_.pop_front();
    if (trials_.contains(id)) refresh(id);
  }
}

void Supervisor::refresh(int64_t id) {
  Trial &trial = trials_.at(id);
  const std::string before = trial.state;
  const TrialStanding standing = lead_.standing(id);
  trial.state = standing.state;
  trial.closed = standing.closed;
  trial.done = standing.done;
  if (trial.state != before) apply_state(id, trial);
  if (trial.run_id != 0) return;  // judged when it has left
  const Verdict verdict =
      judge_without_process({.state = trial.state, .done = trial.done, .closed = trial.closed});
  if (!verdict.state.empty()) return conclude(id, verdict);
  if (trial.state != state::active || trial.done || trial.queued) return;
  trial.queued = true;
  waiting_.emplace(standing.turn, id);
}

void Supervisor::apply_state(int64_t id, Trial &trial) {
  if (trial.run_id == 0) return;
  if (trial.state == state::paused) ask_to_leave(id, trial, "pause");
  if (trial.state == state::canceling) ask_to_leave(id, trial, "cancel");
  // The platform lets those that their metrics stop train on to their end.
  if (trial.state == state::completing && experiment_.launch.by_metrics)
    ask_to_leave(id, trial, "stop");
  if (trial.state == state::killing || trial.state == state::failing) {
    trial.killed = true;
    launcher_.kill(id);
  }
}

void Supervisor::enforce_deadlines() {
  const Clock::time_point now = options_.now();
  for (const int64_t id : running_) {
    Trial &trial = trials_.at(id);
    if (now < trial.kill_at) continue;
    options_.log->warning("ending " + name_of(id) +
                          ": it did not leave in time after it was asked to");
    trial.kill_at = Clock::time_point::max();
    trial.killed = true;
    launcher_.kill(id);
  }
}

// Where nothing is left to end, the experiment has ended. That is recorded when all is done that
// follows from it, which takes time: whoever is killed meanwhile is followed by one that goes on.
void Supervisor::finish() {
  if (ended() || !trials_.empty()) return;
  if (!is_stopping(experiment_.state)) {
    if (experiment_.state == state::active && !lead_.is_custom())
      carry_on(lead_.fail("it has no trial left and did not end"));
    return;
  }
  recover_runs(options_.store_directory, *options_.log);
  collect_garbage(options_.store_directory, experiment_.id, *options_.log);
  experiment_.state = lead_.finish();
}

void Supervisor::note_progress() {
  if (ended() || options_.now() < next_progress_) return;
  next_progress_ = options_.now() + limit_for_progress;
  const double now = progress();
  if (now == stored_progress_) return;
  lead_.note_progress(now);
  stored_progress_ = now;
}

}  // namespace det

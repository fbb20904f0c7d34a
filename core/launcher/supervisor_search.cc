// What the supervisor tells the search, and what comes of it.
#include <algorithm>

#include "core/launcher/supervisor.h"

namespace det {

namespace {

constexpr std::chrono::seconds time_to_leave_after_refusal{10};

}  // namespace

void Supervisor::carry_on(const Decided &decided) {
  if (decided.failure) options_.log->error("searching in " + name_of(0) + ": " + *decided.failure);
  if (decided.states_changed) states_changed_ = true;
  for (const int64_t id : decided.trials) {
    trials_[id];
    touched_.push_back(id);
  }
}

void Supervisor::look_at(int64_t id, Trial &trial) {
  if (trial.log) trial.log->follow();
  const TrialNews news = lead_.news(id);
  if (experiment_.launch.by_metrics) hear_validations(id);
  const double units = experiment_.launch.by_metrics ? 1 : static_cast<double>(news.length);
  lead_.trial_progress(id, news.metric ? units : news.progress * units);
  if (news.metric) hear_completion(id, trial, news);
  if (news.refused && !trial.killed)
    trial.kill_at = std::min(trial.kill_at, options_.now() + time_to_leave_after_refusal);
}

void Supervisor::hear_completion(int64_t id, Trial &trial, const TrialNews &news) {
  trial.done = true;
  touched_.push_back(id);
  carry_on(lead_.completed(id, news.length, *news.metric));
}

void Supervisor::hear_validations(int64_t id) {
  for (const TrialValidation &validation : lead_.new_validations(id))
    carry_on(lead_.validated(id, validation));
}

// What was decided outside.
void Supervisor::hear_posts() {
  for (const SearchPost &post : lead_.posts()) carry_on(lead_.answer(post));
}

// The end of a trial, recorded with what the search makes of it.
void Supervisor::conclude(int64_t id, const Verdict &verdict, const std::optional<JudgedRun> &run) {
  carry_on(lead_.end_trial(id, verdict.state, verdict.reason, run));
  trials_.erase(id);
}

void Supervisor::ask_to_leave(int64_t id, Trial &trial, std::string_view reason) {
  lead_.ask_to_leave(id, trial.run_id, reason);
  trial.kill_at = std::min(trial.kill_at, options_.now() + preemption_timeout_);
}

}  // namespace det

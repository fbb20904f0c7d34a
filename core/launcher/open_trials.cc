#include "core/launcher/open_trials.h"

namespace det::launcher {

void OpenTrials::touch(int64_t id) {
  trials_[id];
  touched_.push_back(id);
}

void OpenTrials::compare(const std::vector<engine::OpenTrial> &now) {
  all_touched_ = false;
  for (const engine::OpenTrial &trial : now)
    if (trials_[trial.id].state != trial.state) touch(trial.id);
}

std::optional<int64_t> OpenTrials::take_touched() {
  while (!touched_.empty()) {
    const int64_t id = touched_.front();
    touched_.pop_front();
    if (trials_.contains(id)) return id;  // it may have ended meanwhile
  }
  return std::nullopt;
}

bool OpenTrials::update(int64_t id, const engine::TrialStanding &now) {
  engine::TrialStanding &trial = trials_.at(id);
  const bool is_other = trial.state != now.state;
  trial = now;
  return is_other;
}

bool OpenTrials::wants_run(int64_t id) const {
  const auto found = trials_.find(id);
  return found != trials_.end() && found->second.state == engine::state::active &&
         !found->second.done;
}

}  // namespace det::launcher

#include "core/launcher/open_trials.h"

#include <utility>

namespace det::launcher {

void OpenTrials::touch(int64_t id) {
  if (!std::exchange(trials_[id].touched, true)) touched_.push_back(id);
}

void OpenTrials::compare(const std::vector<engine::OpenTrial> &now) {
  all_touched_ = false;
  for (const engine::OpenTrial &trial : now)
    if (trials_[trial.id].standing.state != trial.state) touch(trial.id);
}

std::optional<int64_t> OpenTrials::take_touched() {
  while (!touched_.empty()) {
    const int64_t id = touched_.front();
    touched_.pop_front();
    const auto found = trials_.find(id);
    if (found == trials_.end()) continue;  // it has ended meanwhile
    found->second.touched = false;
    return id;
  }
  return std::nullopt;
}

bool OpenTrials::update(int64_t id, const engine::TrialStanding &now) {
  engine::TrialStanding &standing = trials_.at(id).standing;
  const bool is_other = standing.state != now.state;
  standing = now;
  return is_other;
}

bool OpenTrials::wants_run(int64_t id) const {
  const auto found = trials_.find(id);
  return found != trials_.end() && found->second.standing.state == engine::state::active &&
         !found->second.standing.done;
}

}  // namespace det::launcher

// The trials that have work and no run, in the order in which the search asked for it, so that it
// is that of any other supervisor. Those that are in the middle of it go first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace det::launcher {

class LaunchQueue {
 public:
  // With its turn as TrialStanding has it. One that waits already keeps its place.
  void add(int64_t trial_id, int64_t turn) {
    if (turns_.emplace(trial_id, turn).second) order_.emplace(turn, trial_id);
  }
  void remove(int64_t trial_id) {
    const auto turn = turns_.find(trial_id);
    if (turn == turns_.end()) return;
    order_.erase({turn->second, trial_id});
    turns_.erase(turn);
  }
  std::optional<int64_t> first() const {
    return order_.empty() ? std::nullopt : std::optional(order_.begin()->second);
  }
  size_t size() const { return order_.size(); }

 private:
  std::set<std::pair<int64_t, int64_t>> order_;
  std::map<int64_t, int64_t> turns_;
};

}  // namespace det::launcher

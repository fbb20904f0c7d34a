// The trials of an experiment that have not ended, as they stood when they were last looked at, and
// which of them are to be looked at again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "core/engine/supervision/supervised_experiment.h"

namespace det::launcher {

class OpenTrials {
 public:
  // It is new, or there is news of it. It keeps its place where it was touched before.
  void touch(int64_t id);
  // Any of them may have another state.
  void touch_all() { all_touched_ = true; }

  bool has_touched() const { return all_touched_ || !touched_.empty(); }
  bool all_touched() const { return all_touched_; }
  // For touch_all(): leaves those touched whose state is not the one they had.
  void compare(const std::vector<engine::OpenTrial> &now);
  // The next to be looked at, by when it was touched.
  std::optional<int64_t> take_touched();

  // How it stands now. Whether its state is not the one it had.
  bool update(int64_t id, const engine::TrialStanding &now);
  // Whether it has work that it may do now.
  bool wants_run(int64_t id) const;

  void remove(int64_t id) { trials_.erase(id); }
  bool empty() const { return trials_.empty(); }

 private:
  struct Trial {
    engine::TrialStanding standing;
    bool touched = false;
  };
  std::map<int64_t, Trial> trials_;
  std::deque<int64_t> touched_;
  bool all_touched_ = false;
};

}  // namespace det::launcher

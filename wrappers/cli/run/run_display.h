// What `det run` shows while an experiment runs: on a terminal a block that is drawn over and over,
// elsewhere a line when something has happened.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "wrappers/cli/run/run_text.h"

namespace det::cli {

class RunDisplay {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RunDisplay(const Terminal &terminal) : terminal_(terminal) {}

  // May be called as often as one likes: it draws at most ten times a second.
  void show(const RunState &state, Clock::time_point now = Clock::now());

  // A line that stays, above the block.
  void say(const std::string &line);

  // Takes the block away, and says how it ended.
  void finish(const RunSummary &summary);

 private:
  void draw(const RunState &state);
  std::string cleared(size_t block_lines) const;
  void tell(const RunState &state, Clock::time_point now);
  std::string erased();

  Terminal terminal_;
  std::deque<std::string> said_;           // the last lines that stay, as many as can be seen
  std::vector<std::string> block_;         // as it stands on the terminal, above the cursor
  std::optional<Clock::time_point> last_;  // when the block or a line of progress was last written
  // What was told last.
  std::string state_;
  std::set<int64_t> running_;
  std::optional<BestTrial> best_;
};

}  // namespace det::cli

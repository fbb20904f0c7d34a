// The words and lines of `det run`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wrappers/cli/library_client.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

struct RunningTrial {
  int64_t id = 0;
  std::string status;  // what it says it does; may be empty
  int64_t steps = 0;
  std::optional<double> metric;    // the latest, of the searcher's metric
  std::optional<double> progress;  // from 0 to 1
  std::string hparams = {};        // those that the search varies: "lr=0.1 layers=2"
};

// One whose process has left.
struct LeftTrial {
  int64_t id = 0;
  std::string state;  // COMPLETED, ERROR, PAUSED, ...
  std::optional<double> metric;
  bool crashed = false;
};

struct BestTrial {
  int64_t id = 0;
  double metric = 0;
};

using TrialCounts = std::map<std::string, int64_t>;  // by state; "running" is one

struct RunState {
  int64_t experiment_id = 0;
  std::string name;
  std::string state;
  std::string metric_name;
  double progress = 0;  // from 0 to 1
  double seconds = 0;   // since it started
  std::optional<double> seconds_left;
  int64_t waits_for = 0;  // a paused trial, where nothing runs nor will before it is activated
  std::vector<RunningTrial> running;
  std::vector<LeftTrial> left;  // since the last state that was shown
  TrialCounts counts;
  int64_t over = 0;     // trials to which nothing happens any more
  int64_t planned = 0;  // how many there will be, as far as is known; 0: it is not
  std::optional<BestTrial> best;
};

struct RunSummary {
  int64_t experiment_id = 0;
  std::string name;
  std::string state;
  std::string metric_name;
  double seconds = 0;
  TrialCounts counts;
  std::optional<BestTrial> best;
  Json hparams;            // of the best trial
  std::string checkpoint;  // its id; empty: the best trial has none
  int64_t checkpoint_steps = 0;
  std::string checkpoint_path;  // where it is stored
  std::string resume;           // the command that goes on; empty when the experiment is over
};

// What a terminal shows while the experiment runs: lines that fit its width, without their ends,
// and no more of them than it has.
std::vector<std::string> block_lines(const RunState &state, const Terminal &terminal);

// "45%, 4 running, 9 completed; best: trial 5, loss 0.12; about 1m20s left".
std::string progress_line(const RunState &state);

std::string left_line(const LeftTrial &trial, const std::string &metric_name);
std::string best_text(const BestTrial &best, const std::string &metric_name);
std::string summary_text(const RunSummary &summary, const Terminal &terminal);

}  // namespace det::cli

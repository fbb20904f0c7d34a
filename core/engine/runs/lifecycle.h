// Runs, and what the end of one makes of its trial and experiment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/process/process.h"
#include "core/engine/database.h"
#include "core/engine/states.h"

namespace det::engine {

struct RunRecord {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  ProcessIdentity process;
  std::string command;
  std::optional<std::string> exit;  // none while it runs, as far as the store knows
  bool command_starts_all = false;  // of a run with several ranks: all of them
  std::string directory = {};       // in which the command was given; empty: not known
};

std::optional<RunRecord> latest_run(Database &store, int64_t trial_id);

// Whether the process of a run that has not ended still lives.
bool run_lives(const std::filesystem::path &store_directory, const RunRecord &run);

// The experiment of a trial, if a supervisor runs that.
std::optional<int64_t> supervised_experiment_of(Database &store, int64_t trial_id);

// The following write; the caller holds a transaction.

// Of a trial without a supervisor: sets its state, and that of its experiment, which follows from
// those of its trials.
void set_trial_state(Database &store, int64_t trial_id, std::string_view state);

// Records the end of a run and what follows for its trial. Nothing when it had ended.
void record_run_end(Database &store, int64_t trial_id, int64_t run_id, RunExit how);

// A run that had ended well turns out to be an error, and its trial with it.
void revise_run_end(Database &store, int64_t trial_id, int64_t run_id);

}  // namespace det::engine

// States of experiments, trials and runs, and what the end of a run makes of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/process.h"
#include "core/engine/sqlite/database.h"

namespace det {

namespace state {
constexpr std::string_view active = "ACTIVE";
constexpr std::string_view paused = "PAUSED";
constexpr std::string_view completing = "STOPPING_COMPLETED";
constexpr std::string_view canceling = "STOPPING_CANCELED";
constexpr std::string_view killing = "STOPPING_KILLED";
constexpr std::string_view failing = "STOPPING_ERROR";
constexpr std::string_view completed = "COMPLETED";
constexpr std::string_view canceled = "CANCELED";
constexpr std::string_view error = "ERROR";
}  // namespace state

bool is_terminal(std::string_view state);

// For what enters a state now: the time, where that is its end.
std::optional<int64_t> end_time(std::string_view state);

// How a run came to its end. Preempted: it left unfinished because it was asked to.
enum class RunExit { ok, preempted, error, invalid_hp, killed, died };
std::string_view run_exit_name(RunExit how);

// The state of a trial after one of its runs ended. `acknowledged`: the run had told that it leaves
// because it was asked to; `done`: its operation was completed.
std::string_view state_after(RunExit how, std::string_view before, bool acknowledged, bool done);

struct RunRecord {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  ProcessIdentity process;
  std::string command;
  std::optional<std::string> exit;  // none while it runs, as far as the store knows
};

std::optional<RunRecord> latest_run(Database &store, int64_t trial_id);

// Whether the process of a run that has not ended still lives.
bool run_lives(const std::filesystem::path &store_directory, const RunRecord &run);

// Whether a supervisor runs the experiment of a trial.
bool is_supervised(Database &store, int64_t trial_id);

// The following write; the caller holds a transaction.

// Of a trial without a supervisor: sets its state, and that of its experiment, which follows from
// those of its trials.
void set_trial_state(Database &store, int64_t trial_id, std::string_view state);

// Records the end of a run and what follows for its trial. Nothing when it had ended.
void record_run_end(Database &store, int64_t trial_id, int64_t run_id, RunExit how);

// A run that had ended well turns out to be an error, and its trial with it.
void revise_run_end(Database &store, int64_t trial_id, int64_t run_id);

}  // namespace det

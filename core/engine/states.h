// States of experiments and trials, what may become of them, and how runs end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace det::engine {

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
// Of experiments only: its files, then its records, are being deleted, or could not be.
constexpr std::string_view deleting = "DELETING";
constexpr std::string_view delete_failed = "DELETE_FAILED";
}  // namespace state

bool is_terminal(std::string_view state);

// For what enters a state now: the time, where that is its end.
std::optional<int64_t> end_time(std::string_view state);

// How a run came to its end. Preempted: it left unfinished because it was asked to.
enum class RunExit { ok, preempted, error, invalid_hp, killed, died };
std::string_view run_exit_name(RunExit how);

// What a process leaves with that was told to stop before its end: EX_TEMPFAIL of sysexits.h.
inline constexpr int exit_preempted = 75;

// The state of a trial after one of its runs ended. `acknowledged`: the run had told that it leaves
// because it was asked to; `done`: its operation was completed.
std::string_view state_after(RunExit how, std::string_view before, bool acknowledged, bool done);

// Of experiments that a supervisor runs, and of their trials; those of programs that people start
// themselves follow from how their runs end.
bool experiment_may_become(std::string_view from, std::string_view to);
bool trial_may_become(std::string_view from, std::string_view to);

// STOPPING_*: what is left of it is being ended.
bool is_stopping(std::string_view state);

// The terminal state that a stopping one leads to.
std::string_view end_of(std::string_view stopping);

}  // namespace det::engine

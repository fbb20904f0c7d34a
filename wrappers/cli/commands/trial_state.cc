#include "wrappers/cli/commands/trial_state.h"

#include <algorithm>

#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

bool is_active(const Json &entry) { return field(entry, "state") == "ACTIVE"; }

}  // namespace

bool is_terminal_state(const Json &state) {
  return state == "COMPLETED" || state == "CANCELED" || state == "ERROR";
}

bool has_process(const Json &trial, int64_t run) {
  const Json &runs = field(trial, "runs");
  if (!runs.is_array()) return !is_terminal_state(field(trial, "state"));
  return std::ranges::any_of(runs, [&](const Json &it) {
    return field(it, "state") == "running" && (run == 0 || field(it, "run_id") == run);
  });
}

bool is_at_rest(const Json &trial) {
  if (is_terminal_state(field(trial, "state"))) return true;
  if (has_process(trial)) return false;
  // `det run` starts those of its trials again that it does not pause.
  return field(trial, "supervised") != true || !is_active(trial);
}

std::string state_text(const Json &entry) {
  const std::string state = text_of(field(entry, "state"));
  if (!is_active(entry)) return state;
  if (const Json &runs = field(entry, "runs"); runs.is_array()) {
    if (runs.empty() || has_process(entry)) return state;
    return field(runs.back(), "state") == "died" ? "DIED" : "NO PROCESS";
  }
  if (field(entry, "runs") == 0) return state;  // it has not begun
  const Json &running = field(entry, "running");
  if (running != false && running != 0) return state;
  const Json &exit = field(entry, "last_exit");
  const bool is_trial = entry.contains("last_exit");
  return is_trial && (exit.is_null() || exit == "died") ? "DIED" : "NO PROCESS";
}

}  // namespace det::cli

#include "core/launcher/exit_facts.h"

namespace det::launcher {

namespace {

bool is_known(const LaunchedExit &exit) { return exit.kind != LaunchedExit::Kind::unknown; }

bool has_succeeded(const LaunchedExit &exit) {
  return exit.kind == LaunchedExit::Kind::exited && exit.status == 0;
}

// With the status by which a program tells its scheduler that there is more to do.
bool is_preempted(const LaunchedExit &exit, const std::optional<std::string> &said) {
  return exit.kind == LaunchedExit::Kind::exited && exit.status == engine::exit_preempted &&
         said == engine::run_exit_name(engine::RunExit::preempted);
}

}  // namespace

std::optional<engine::RunExit> exit_for_record(const LaunchedExit &exit, bool killed) {
  if (!is_known(exit)) return std::nullopt;
  if (killed) return engine::RunExit::killed;
  if (exit.kind != LaunchedExit::Kind::exited) return engine::RunExit::died;
  return exit.status == 0 ? engine::RunExit::ok : engine::RunExit::error;
}

RunFacts facts_of(const LaunchedExit &exit, bool killed, const std::optional<std::string> &said) {
  const bool said_nothing = !said || *said == engine::run_exit_name(engine::RunExit::died);
  const bool said_error = said == engine::run_exit_name(engine::RunExit::error);
  const bool left_well =
      is_known(exit) ? has_succeeded(exit) || is_preempted(exit, said) : !said_nothing;
  return {.killed = killed, .failed = !left_well || said_error, .lost = exit.lost && said_nothing};
}

std::optional<std::string> complaint_about(const LaunchedExit &exit, bool killed,
                                           const std::optional<std::string> &said) {
  if (killed || !is_known(exit) || has_succeeded(exit) || is_preempted(exit, said))
    return std::nullopt;
  return trial_name(exit.trial_id) +
         (exit.kind == LaunchedExit::Kind::exited ? " left with exit code "
                                                  : " was ended by signal ") +
         std::to_string(exit.status) + "; `det logs " + std::to_string(exit.trial_id) +
         "` shows what it printed";
}

bool may_be_unstartable(const LaunchedExit &exit, const std::vector<std::string> &command) {
  return exit.kind == LaunchedExit::Kind::exited && (exit.status == 126 || exit.status == 127) &&
         command.size() == 3 && command[0] == "/bin/sh" && command[1] == "-c";
}

}  // namespace det::launcher

#include "core/launcher/verdict.h"

#include "core/engine/supervision/transitions.h"

namespace det::launcher {

namespace {

// The search is not told of a trial that waits for a promotion: it hears of its end when it has
// another operation for it.
std::optional<search::ExitReason> reason_of(std::string_view end, const RunFacts &run) {
  if (run.done && !run.closed) return std::nullopt;
  if (run.invalid_hp) return search::ExitReason::invalid_hp;
  if (end == engine::state::error) return search::ExitReason::errored;
  if (end == engine::state::canceled) return search::ExitReason::user_canceled;
  return run.done ? std::nullopt : std::optional(search::ExitReason::user_requested_stop);
}

Verdict ended(std::string_view end, const RunFacts &run) {
  return {.state = end, .reason = reason_of(end, run)};
}

}  // namespace

RunOrder order_for(std::string_view trial_state, bool by_metrics) {
  using Kind = RunOrder::Kind;
  if (trial_state == engine::state::paused) return {Kind::leave, "pause"};
  if (trial_state == engine::state::canceling) return {Kind::leave, "cancel"};
  // The platform lets those that their metrics stop train on to their end.
  if (trial_state == engine::state::completing && by_metrics) return {Kind::leave, "stop"};
  if (trial_state == engine::state::killing || trial_state == engine::state::failing)
    return {Kind::end};
  return {};
}

RunFacts with_standing(RunFacts run, const engine::RunStanding &standing, int64_t max_restarts) {
  run.state = standing.trial_state;
  run.acknowledged = standing.acknowledged;
  run.invalid_hp = standing.invalid_hp;
  run.done = standing.done;
  run.closed = standing.closed;
  run.is_final = standing.restarts_forbidden;
  run.restarts = standing.restarts;
  run.max_restarts = max_restarts;
  return run;
}

Verdict judge(const RunFacts &run) {
  // One that was asked to leave may leave as it likes; one that was killed has no say.
  const bool error = run.failed && !run.killed && !run.acknowledged && !run.lost;
  if (engine::is_stopping(run.state))
    return ended(error ? engine::state::error : engine::end_of(run.state), run);
  if (run.invalid_hp)
    return ended(engine::state::completed, run);  // another start would end the same
  // No fault of its own: what it has saved before is there, and it goes on from that.
  if (error && !run.no_space.empty()) return {.waits_for_space = true};
  if (run.done && run.closed)
    return ended(error ? engine::state::error : engine::state::completed, run);
  if (run.unstartable) return {};  // no fault of its own: it waits until somebody has put it right
  if (error) {
    if (run.is_final) return ended(engine::state::error, run);
    Verdict verdict;
    if (run.restarts >= run.max_restarts) verdict = ended(engine::state::error, run);
    verdict.counts = true;
    return verdict;
  }
  // Left in good order, without a word, in the middle of its work: it wants no more.
  const bool stopped = !run.killed && !run.acknowledged && !run.lost;
  if (stopped && !run.done && run.state != engine::state::paused)
    return ended(engine::state::completed, run);
  return {};
}

Verdict judge_without_process(const RunFacts &trial) {
  if (engine::is_stopping(trial.state)) return ended(engine::end_of(trial.state), trial);
  if (trial.done && trial.closed) return ended(engine::state::completed, trial);
  return {};
}

}  // namespace det::launcher

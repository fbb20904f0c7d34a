#include "core/engine/states.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace det::engine {

namespace {

using Transition = std::pair<std::string_view, std::string_view>;

constexpr std::array common{
    Transition{state::active, state::paused},      Transition{state::active, state::completing},
    Transition{state::active, state::canceling},   Transition{state::active, state::killing},
    Transition{state::active, state::failing},     Transition{state::active, state::error},
    Transition{state::paused, state::active},      Transition{state::paused, state::completing},
    Transition{state::paused, state::canceling},   Transition{state::paused, state::killing},
    Transition{state::paused, state::failing},     Transition{state::paused, state::error},
    Transition{state::canceling, state::canceled}, Transition{state::canceling, state::killing},
    Transition{state::canceling, state::failing},  Transition{state::canceling, state::error},
    Transition{state::killing, state::canceled},   Transition{state::killing, state::failing},
    Transition{state::killing, state::error},      Transition{state::completing, state::completed},
    Transition{state::completing, state::failing}, Transition{state::completing, state::error},
    Transition{state::failing, state::error},
};

constexpr std::array of_trials{
    Transition{state::active, state::completed},
    Transition{state::completing, state::canceling},
    Transition{state::completing, state::killing},
};

template <class Transitions>
bool has(const Transitions &transitions, std::string_view from, std::string_view to) {
  return std::find(transitions.begin(), transitions.end(), Transition{from, to}) !=
         transitions.end();
}

}  // namespace

bool is_terminal(std::string_view state) {
  return state == state::completed || state == state::canceled || state == state::error ||
         state == state::deleting || state == state::delete_failed;
}

std::optional<int64_t> end_time(std::string_view state) {
  return is_terminal(state) ? std::optional(now_us()) : std::nullopt;
}

std::string_view run_exit_name(RunExit how) {
  switch (how) {
    case RunExit::ok:
      return "ok";
    case RunExit::preempted:
      return "preempted";
    case RunExit::error:
      return "error";
    case RunExit::invalid_hp:
      return "invalid_hp";
    case RunExit::killed:
      return "killed";
    case RunExit::died:
      return "died";
  }
  throw Error(Code::internal, "naming the end of a run: no such end");
}

std::string_view state_after(RunExit how, std::string_view before, bool acknowledged, bool done) {
  if (is_terminal(before)) return before;
  if (how == RunExit::killed) return state::canceled;
  if (before == state::canceling)
    return how == RunExit::error && !acknowledged ? state::error : state::canceled;
  switch (how) {
    case RunExit::error:
      return state::error;
    case RunExit::invalid_hp:
      return state::completed;
    case RunExit::ok:
      // A paused trial that left unfinished without a word goes on when it is activated.
      return done || before != state::paused ? state::completed : before;
    default:
      return before;
  }
}

bool experiment_may_become(std::string_view from, std::string_view to) {
  return has(common, from, to) || (from == state::failing && to == state::active);
}

bool trial_may_become(std::string_view from, std::string_view to) {
  return has(common, from, to) || has(of_trials, from, to);
}

bool is_stopping(std::string_view state) {
  return state == state::completing || state == state::canceling || state == state::killing ||
         state == state::failing;
}

std::string_view end_of(std::string_view stopping) {
  if (stopping == state::completing) return state::completed;
  return stopping == state::failing ? state::error : state::canceled;
}

}  // namespace det::engine

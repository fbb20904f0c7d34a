#include "core/engine/transitions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"

namespace det {

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

void set_experiment_state(Database &store, int64_t experiment_id, std::string_view to,
                          const std::string &tried) {
  std::string from;
  {
    Query found = store.query("SELECT state FROM experiments WHERE id=?", experiment_id);
    if (!found.next())
      throw Error(Code::not_found, tried + ": there is no experiment " +
                                       std::to_string(experiment_id) + " in '" +
                                       store.path().string() + "'");
    from = found.text(0);
  }
  if (from != to) {
    if (!experiment_may_become(from, to))
      throw Error(Code::state, tried + ": it is " + from + ", which does not allow that");
    store.run("UPDATE experiments SET state=?, ended=? WHERE id=?", to, end_time(to),
              experiment_id);
  }
  if (is_terminal(to)) return;  // its trials have ended before
  for (const std::string_view trial : {state::active, state::paused, state::completing,
                                       state::canceling, state::killing, state::failing})
    if (trial_may_become(trial, to))
      store.run("UPDATE trials SET state=? WHERE experiment_id=? AND state=?", to, experiment_id,
                trial);
}

bool set_supervised_trial_state(Database &store, int64_t trial_id, std::string_view to) {
  std::string from;
  {
    Query found = store.query("SELECT state FROM trials WHERE id=?", trial_id);
    if (!found.next()) return false;
    from = found.text(0);
  }
  if (from == to) return true;
  if (!trial_may_become(from, to)) return false;
  store.run("UPDATE trials SET state=?, ended=? WHERE id=?", to, end_time(to), trial_id);
  return true;
}

}  // namespace det

#include "core/engine/supervision/transitions.h"

#include "core/base/error.h"

namespace det::engine {

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

}  // namespace det::engine

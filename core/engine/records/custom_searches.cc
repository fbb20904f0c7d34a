#include "core/engine/records/custom_searches.h"

#include <chrono>
#include <string>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/engine/change.h"
#include "core/engine/experiment.h"
#include "core/engine/states.h"
#include "core/engine/store.h"
#include "core/engine/time_left.h"

namespace det::engine {

namespace {

using std::chrono::milliseconds;

// What was posted is taken back.
[[noreturn]] void refuse_post(const std::string &tried, int64_t experiment_id, bool is_dead) {
  if (is_dead)
    throw Error(Code::unavailable, tried + ": nobody runs it; start `det run --resume " +
                                       std::to_string(experiment_id) + "`, and post again");
  throw Error(Code::timeout, tried +
                                 ": its `det run` lives and does not answer; see whether it is "
                                 "stopped, and post again when it continues");
}

// Throws unless decisions come from outside.
void require_custom(const ExperimentRecord &experiment, const std::string &tried) {
  const Json name = experiment.config.at("searcher").value("name", Json());
  if (name == "custom") return;
  throw Error(Code::state, tried + ": its searcher is " + to_wire(name) +
                               ", which decides by itself; only one named custom does not");
}

std::string search_name(int64_t experiment_id) {
  return "the search of experiment " + std::to_string(experiment_id);
}

}  // namespace

Json CustomSearches::events(int64_t experiment_id, milliseconds limit) const {
  Store store(store_.directory(), false, store_.options());
  Database &records = store.database();
  const auto listener = store.waking().listen(experiment_id);
  for (TimeLeft left(limit);; listener->wait(left.now())) {
    const ExperimentRecord experiment = read_experiment(records, experiment_id);
    require_custom(experiment, "reading the events of " + search_name(experiment_id));
    Json events = Json::array();
    if (experiment.state != state::active) {
      events.push_back({{"id", -1}, {"experimentInactive", {{"state", experiment.state}}}});
    } else {
      Query rows = records.query(
          "SELECT event FROM search_queue WHERE experiment_id=? ORDER BY number", experiment_id);
      while (rows.next()) events.push_back(parse_json(rows.view(0), "an event of the search"));
    }
    if (!events.empty() || left.is_over()) return {{"events", events}};
  }
}

Json CustomSearches::post(int64_t experiment_id, int64_t event_id, const Json &operations) const {
  Store store(store_.directory(), false, store_.options());
  Database &records = store.database();
  const std::string tried = "posting operations to " + search_name(experiment_id);
  require_custom(read_experiment(records, experiment_id), tried);
  if (!operations.is_array())
    throw Error(Code::invalid, tried + ": a list is needed, like [{\"shutDown\": {}}]");
  const auto listener = store.waking().listen(experiment_id);
  int64_t post = 0;
  {
    Change change(store);
    records.run("INSERT INTO search_posts (experiment_id, event_id, operations) VALUES (?, ?, ?)",
                experiment_id, event_id, to_wire(operations));
    post = records.last_id();
    change.tell_supervisor(experiment_id);
    change.commit();
  }
  for (TimeLeft left(store.options().answer_limit);; listener->wait(left.now())) {
    {
      Query row = records.query("SELECT accepted, answer FROM search_posts WHERE id=?", post);
      row.next();
      if (!row.is_null(0)) {
        if (row.integer(0) == 0) throw Error(Code::not_found, tried + ": " + row.text(1));
        return {{"refused", row.view(1).empty() ? Json() : Json(row.text(1))}};
      }
    }
    const bool is_dead = supervisor_liveness(store.directory(), experiment_id) == Liveness::dead;
    if (is_dead || left.is_over()) {
      records.run("DELETE FROM search_posts WHERE id=? AND accepted IS NULL", post);
      if (records.changes() > 0) refuse_post(tried, experiment_id, is_dead);
    }
    store.waking().wake_supervisor(experiment_id);
  }
}

}  // namespace det::engine

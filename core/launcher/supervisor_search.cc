// What the supervisor tells the search, and what comes of it.
#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/engine/run_directory.h"
#include "core/engine/signals.h"
#include "core/engine/transitions.h"
#include "core/launcher/supervisor.h"

namespace det {

namespace {

constexpr std::chrono::seconds time_to_leave_after_refusal{10};

}  // namespace

// One event with all that follows from it, recorded at once.
void Supervisor::decide(const std::function<SearchChanges()> &event) {
  Transaction transaction(store_, Durability::relaxed);
  SearchChanges changes;
  try {
    changes = event();
    // Each refusal is an event of its own, and may have others in its wake.
    for (size_t next = 0; next < changes.refused.size(); ++next)
      changes.add(search_->exited_early(changes.refused[next], ExitReason::user_canceled));
  } catch (const Error &error) {
    if (error.code != Code::invalid) throw;
    options_.log->error("searching in " + name_of(0) + ": " + error.what());
    search_->failed(error.what());
    changes = {};
    set_experiment_state(store_, experiment_.id, state::failing, "ending " + name_of(0));
    states_changed_ = true;
  }
  if (changes.shutdown) {
    const Shutdown &how = *changes.shutdown;
    set_experiment_state(store_, experiment_.id,
                         how.failure  ? state::failing
                         : how.cancel ? state::canceling
                                      : state::completing,
                         "ending " + name_of(0));
    states_changed_ = true;
  }
  for (const int64_t id : changes.stopped)
    set_supervised_trial_state(store_, id, state::completing);
  transaction.commit();
  carry_on(changes);
}

void Supervisor::carry_on(const SearchChanges &changes) {
  for (const int64_t id : changes.trials) {
    trials_[id];
    touched_.push_back(id);
  }
}

void Supervisor::fail_search(const std::string &why) {
  decide([&]() -> SearchChanges { throw Error(Code::invalid, why); });
}

void Supervisor::look_at(int64_t id, Trial &trial) {
  if (trial.log) trial.log->follow();
  bool has_completed = false, has_refused = false;
  double progress = 0;
  uint64_t length = 0;
  Json metric;
  {
    Query row = store_.query(
        "SELECT early_exit IS NOT NULL, progress, length, completed IS NOT NULL"
        "  AND decided IS NULL, metric FROM trials LEFT JOIN operations ON trial_id=trials.id "
        "WHERE trials.id=?"
        " ORDER BY number DESC LIMIT 1",
        id);
    row.next();
    has_refused = row.integer(0) != 0;
    progress = row.is_null(1) ? 0 : row.number(1);
    length = row.is_null(2) ? 0 : static_cast<uint64_t>(row.integer(2));
    has_completed = row.integer(3) != 0;
    if (has_completed) metric = parse_json(row.view(4), "the metric of a completed operation");
  }
  if (experiment_.launch.by_metrics) hear_validations(id);
  const double units = experiment_.launch.by_metrics ? 1 : static_cast<double>(length);
  search_->trial_progress(id, has_completed ? units : progress * units);
  if (has_completed) hear_completion(id, trial, length, metric);
  if (has_refused && !trial.killed)
    trial.kill_at = std::min(trial.kill_at, options_.now() + time_to_leave_after_refusal);
}

void Supervisor::hear_completion(int64_t id, Trial &trial, uint64_t length, const Json &metric) {
  trial.done = true;
  touched_.push_back(id);
  decide([&] { return search_->completed(id, length, metric); });
}

void Supervisor::hear_validations(int64_t id) {
  struct Validation {
    int64_t row = 0;
    Json metrics;
  };
  std::vector<Validation> found;
  {
    Query rows = store_.query(
        "SELECT metrics.id, metrics FROM metrics JOIN trials ON trials.id=trial_id"
        " WHERE trial_id=? AND metric_group='validation' AND metrics.id>last_validation"
        " AND archived=0 AND trials.state IN ('ACTIVE', 'PAUSED') ORDER BY metrics.id",
        id);
    while (rows.next())
      found.push_back({rows.integer(0), parse_json(rows.view(1), "stored metrics")});
  }
  for (const Validation &validation : found)
    decide([&] { return search_->validated(id, validation.row, validation.metrics); });
}

// What was decided outside.
void Supervisor::hear_posts() {
  struct Post {
    int64_t id = 0, event_id = 0;
    std::string operations;
  };
  std::vector<Post> posts;
  {
    Query rows = store_.query(
        "SELECT id, event_id, operations FROM search_posts"
        " WHERE experiment_id=? AND accepted IS NULL ORDER BY id",
        experiment_.id);
    while (rows.next()) posts.push_back({rows.integer(0), rows.integer(1), rows.text(2)});
  }
  for (const Post &post : posts)
    decide([&] {
      SearchChanges changes;
      std::string answer;
      bool accepted = true;
      try {
        std::vector<std::string> refused;
        changes =
            search_->posted(post.event_id, parse_json(post.operations, "operations"), refused);
        for (const std::string &problem : refused) answer += (answer.empty() ? "" : "; ") + problem;
      } catch (const Error &error) {
        if (error.code != Code::not_found) throw;
        accepted = false;
        answer = error.what();
      }
      store_.run("UPDATE search_posts SET accepted=?, answer=? WHERE id=?", accepted, answer,
                 post.id);
      return changes;
    });
}

// The end of a trial, recorded with what the search makes of it.
void Supervisor::conclude(int64_t id, const Verdict &verdict,
                          const std::function<void()> &record_run) {
  decide([&] {
    if (record_run) record_run();
    store_.run("UPDATE trials SET state=?, ended=? WHERE id=?", verdict.state, now_us(), id);
    SearchChanges changes;
    if (verdict.reason) changes.add(search_->exited_early(id, *verdict.reason));
    changes.add(search_->closed(id));
    return changes;
  });
  trials_.erase(id);
}

void Supervisor::ask_to_leave(int64_t id, Trial &trial, std::string_view reason) {
  Transaction transaction(store_, Durability::relaxed);
  record_signal(store_, id, trial.run_id, reason);
  transaction.commit();
  wake_run(options_.store_directory, id, trial.run_id);
  trial.kill_at = std::min(trial.kill_at, options_.now() + preemption_timeout_);
}

}  // namespace det

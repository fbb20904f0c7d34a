// What happens to trials becomes events of the search, and what it decides becomes records.
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/engine/supervision/lead.h"
#include "core/engine/supervision/transitions.h"

namespace det::engine {

void Lead::take_up(std::unique_ptr<search::Search> search, std::optional<uint64_t> length) {
  search_ = std::make_unique<RecordedSearch>(records(), experiment_id_, std::move(search), length);
}

Decided Lead::decide(const std::function<SearchChanges()> &event) {
  Change change(store_, Durability::relaxed);
  SearchChanges changes;
  Decided decided;
  try {
    changes = event();
    // Each refusal is an event of its own, and may have others in its wake.
    for (size_t next = 0; next < changes.refused.size(); ++next)
      changes.add(search_->exited_early(changes.refused[next], search::ExitReason::user_canceled));
  } catch (const Error &error) {
    if (error.code != Code::invalid) throw;
    search_->failed(error.what());
    changes = {};
    changes.shutdown = search::Shutdown{.cancel = false, .failure = true};
    decided.failure = error.what();
  }
  if (changes.shutdown) {
    const search::Shutdown &how = *changes.shutdown;
    set_experiment_state(records(), experiment_id_,
                         how.failure  ? state::failing
                         : how.cancel ? state::canceling
                                      : state::completing,
                         "ending " + name());
    decided.states_changed = true;
  }
  for (const int64_t id : changes.stopped)
    set_supervised_trial_state(records(), id, state::completing);
  change.tell_listeners(experiment_id_);
  change.commit();
  decided.trials = std::move(changes.trials);
  return decided;
}

Decided Lead::begin() {
  return decide([&] { return search_->begin(); });
}

Decided Lead::completed(int64_t trial_id, uint64_t length, const Json &metric) {
  return decide([&] { return search_->completed(trial_id, length, metric); });
}

Decided Lead::validated(int64_t trial_id, const TrialValidation &validation) {
  return decide([&] { return search_->validated(trial_id, validation.row, validation.metrics); });
}

Decided Lead::end_trial(int64_t trial_id, std::string_view state,
                        std::optional<search::ExitReason> reason,
                        const std::optional<JudgedRun> &run) {
  return decide([&] {
    if (run) record_judged(trial_id, *run);
    records().run("UPDATE trials SET state=?, ended=? WHERE id=?", state, now_us(), trial_id);
    SearchChanges changes;
    if (reason) changes.add(search_->exited_early(trial_id, *reason));
    changes.add(search_->closed(trial_id));
    return changes;
  });
}

Decided Lead::fail(const std::string &why) {
  return decide([&]() -> SearchChanges { throw Error(Code::invalid, why); });
}

std::vector<SearchPost> Lead::posts() {
  std::vector<SearchPost> posts;
  Query rows = records().query(
      "SELECT id, event_id, operations FROM search_posts"
      " WHERE experiment_id=? AND accepted IS NULL ORDER BY id",
      experiment_id_);
  while (rows.next()) posts.push_back({rows.integer(0), rows.integer(1), rows.text(2)});
  return posts;
}

Decided Lead::answer(const SearchPost &post) {
  return decide([&] {
    SearchChanges changes;
    std::string answer;
    bool accepted = true;
    try {
      std::vector<std::string> refused;
      changes = search_->posted(post.event_id, parse_json(post.operations, "operations"), refused);
      for (const std::string &problem : refused) answer += (answer.empty() ? "" : "; ") + problem;
    } catch (const Error &error) {
      if (error.code != Code::not_found) throw;
      accepted = false;
      answer = error.what();
    }
    records().run("UPDATE search_posts SET accepted=?, answer=? WHERE id=?", accepted, answer,
                  post.id);
    return changes;
  });
}

}  // namespace det::engine

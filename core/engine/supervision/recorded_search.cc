#include "core/engine/supervision/recorded_search.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/engine/change.h"
#include "core/engine/supervision/transitions.h"

namespace det::engine {

namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

// The record of why a search ended, which it is not told again.
constexpr std::string_view search_failed = "failed";

void append_ids(std::vector<int64_t> &ids, const std::vector<int64_t> &later) {
  ids.insert(ids.end(), later.begin(), later.end());
}

// The search names trials by request ids, which nobody else sees.
std::string with_trial_number(std::string text, const std::string &request, int64_t trial_id) {
  const std::string number = std::to_string(trial_id);
  for (size_t at = 0; (at = text.find(request, at)) != text.npos; at += number.size())
    text.replace(at, request.size(), number);
  return text;
}

}  // namespace

void RecordedSearch::SearchChanges::add(const SearchChanges &later) {
  append_ids(trials, later.trials);
  append_ids(stopped, later.stopped);
  append_ids(refused, later.refused);
  if (later.shutdown) shutdown = later.shutdown;
  if (later.progress) progress = later.progress;
}

RecordedSearch::RecordedSearch(Store &store, int64_t experiment_id,
                               std::unique_ptr<search::Search> search,
                               std::optional<uint64_t> length)
    : store_(store),
      experiment_id_(experiment_id),
      search_(std::move(search)),
      custom_(dynamic_cast<search::CustomSearch *>(search_.get())),
      length_(length) {
  Query trials = records().query(
      "SELECT id, request_id FROM trials WHERE experiment_id=? AND request_id IS NOT NULL",
      experiment_id_);
  while (trials.next()) {
    requests_[trials.integer(0)] = trials.text(1);
    trials_[trials.text(1)] = trials.integer(0);
  }
  replay();
  if (!is_custom()) return;
  Query queued = records().query(
      "SELECT COALESCE(MAX(number), 0) FROM search_queue WHERE experiment_id=?", experiment_id_);
  queued.next();
  queued_ = queued.integer(0);
}

void RecordedSearch::replay() {
  Query events = records().query(
      "SELECT number, kind, trial_id, value FROM search_events WHERE experiment_id=?"
      " ORDER BY number",
      experiment_id_);
  while (events.next()) {
    events_ = events.integer(0);
    if (events.view(1) == search_failed) continue;
    const Json value =
        events.is_null(3) ? Json() : parse_json(events.view(3), "a recorded event of the search");
    const search::Decisions decisions = tell(events.view(1), events.maybe_integer(2), value);
    for (const search::Decision &decision : decisions)
      if (const auto *trial = std::get_if<search::CreateTrial>(&decision);
          trial != nullptr && trial_of(trial->request_id))
        search_->created(trial->request_id);
  }
}

Decided RecordedSearch::decide(const std::function<SearchChanges()> &event) {
  Change change(store_, Durability::relaxed);
  SearchChanges changes;
  Decided decided;
  try {
    takes_work_ = takes_work();
    changes = event();
    // Each refusal is an event of its own, and may have others in its wake.
    for (size_t next = 0; next < changes.refused.size(); ++next)
      changes.add(exited_early(changes.refused[next], search::ExitReason::user_canceled));
  } catch (const Error &error) {
    if (error.code != Code::invalid) throw;
    append(search_failed, std::nullopt, error.what());
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
                         "ending experiment " + std::to_string(experiment_id_));
    decided.states_changed = true;
  }
  for (const int64_t id : changes.stopped)
    set_supervised_trial_state(records(), id, state::completing);
  change.tell_listeners(experiment_id_);
  change.commit();
  decided.trials = std::move(changes.trials);
  return decided;
}

Decided RecordedSearch::begin() {
  return decide(
      [&] { return events_ == 0 ? happened("initial", std::nullopt, nullptr) : SearchChanges(); });
}

Decided RecordedSearch::completed(int64_t trial_id, uint64_t length, const Json &metric) {
  return decide([&]() -> SearchChanges {
    records().run(
        "UPDATE operations SET decided=? WHERE trial_id=? AND length=? AND decided IS NULL",
        now_us(), trial_id, length);
    // It is over when its process has left.
    if (length_) return {};
    return happened("validation_completed", trial_id, {{"length", length}, {"metric", metric}});
  });
}

Decided RecordedSearch::validated(int64_t trial_id, const TrialValidation &validation) {
  return decide([&] {
    records().run("UPDATE trials SET last_validation=? WHERE id=?", validation.row, trial_id);
    return happened("validated", trial_id, validation.metrics);
  });
}

Decided RecordedSearch::end_trial(int64_t trial_id, std::string_view state,
                                  std::optional<search::ExitReason> reason,
                                  const std::optional<JudgedRun> &run) {
  return decide([&] {
    if (run) record_judged_run(records(), trial_id, *run);
    records().run("UPDATE trials SET state=?, ended=? WHERE id=?", state, now_us(), trial_id);
    SearchChanges changes;
    if (reason) changes.add(exited_early(trial_id, *reason));
    changes.add(happened("closed", trial_id, nullptr));
    return changes;
  });
}

Decided RecordedSearch::fail(const std::string &why) {
  return decide([&]() -> SearchChanges { throw Error(Code::invalid, why); });
}

Decided RecordedSearch::answer(const SearchPost &post) {
  return decide([&] {
    SearchChanges changes;
    std::string answer;
    bool accepted = true;
    try {
      std::vector<std::string> refused;
      changes = posted(post.event_id, parse_json(post.operations, "operations"), refused);
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

RecordedSearch::SearchChanges RecordedSearch::exited_early(int64_t trial_id,
                                                           search::ExitReason reason) {
  return happened("exited_early", trial_id, std::string(search::exit_reason_name(reason)));
}

RecordedSearch::SearchChanges RecordedSearch::posted(int64_t event_id, const Json &operations,
                                                     std::vector<std::string> &refused) {
  search::read_operations(operations, refused);  // those that cannot be read are told once
  SearchChanges changes =
      happened("posted", std::nullopt, {{"event_id", event_id}, {"operations", operations}});
  records().run("DELETE FROM search_queue WHERE experiment_id=? AND number<=?", experiment_id_,
                event_id);
  return changes;
}

void RecordedSearch::store_queue() {
  for (const Json &event : custom_->queue()) {
    const auto number = event.at("id").get<int64_t>();
    if (number <= queued_) continue;
    records().run("INSERT INTO search_queue (experiment_id, number, event) VALUES (?, ?, ?)",
                  experiment_id_, number, to_wire(event));
    queued_ = number;
  }
}

void RecordedSearch::trial_progress(int64_t trial_id, double progress) {
  // To a custom search it would be an event, and those are on record.
  if (is_custom()) return;
  if (const auto found = requests_.find(trial_id); found != requests_.end())
    search_->trial_progress(found->second, progress);
}

RecordedSearch::SearchChanges RecordedSearch::happened(std::string_view kind,
                                                       std::optional<int64_t> trial_id,
                                                       const Json &value) {
  search::Decisions decisions;
  try {
    decisions = tell(kind, trial_id, value);
  } catch (const Error &error) {
    if (error.code != Code::invalid || !trial_id) throw;
    throw Error(error.code, with_trial_number(error.what(), requests_.at(*trial_id), *trial_id));
  }
  append(kind, trial_id, value);
  SearchChanges changes = carry_out(decisions);
  if (is_custom()) store_queue();
  return changes;
}

void RecordedSearch::append(std::string_view kind, std::optional<int64_t> trial_id,
                            const Json &value) {
  records().run(
      "INSERT INTO search_events (experiment_id, number, kind, trial_id, value, time)"
      " VALUES (?, ?, ?, ?, ?, ?)",
      experiment_id_, ++events_, kind, trial_id,
      value.is_null() ? std::nullopt : std::optional(to_wire(value)), now_us());
}

std::optional<std::string> search_failure(Database &store, int64_t experiment_id) {
  Query last = store.query(
      "SELECT value FROM search_events WHERE experiment_id=? AND kind=? ORDER BY number DESC"
      " LIMIT 1",
      experiment_id, search_failed);
  if (!last.next()) return std::nullopt;
  return parse_json(last.view(0), "why a search failed").get<std::string>();
}

search::Decisions RecordedSearch::tell(std::string_view kind, std::optional<int64_t> trial_id,
                                       const Json &value) {
  if (kind == "initial") return search_->initial();
  if (kind == "posted" && is_custom()) {
    std::vector<std::string> refused;
    search::Decisions decisions = search::read_operations(value.at("operations"), refused);
    custom_->post(value.at("event_id").get<int64_t>(), decisions);
    return decisions;
  }
  const auto found = trial_id ? requests_.find(*trial_id) : requests_.end();
  if (found == requests_.end())
    throw Error(Code::corrupt, "telling the search of experiment " +
                                   std::to_string(experiment_id_) + " of an event (" +
                                   std::string(kind) + "): it has no such trial");
  const std::string &request = found->second;
  if (kind == "validation_completed")
    return search_->validation_completed(request, value.at("length").get<uint64_t>(),
                                         value.at("metric"));
  if (kind == "validated") return search_->validated(request, value);
  if (kind == "exited_early")
    return search_->exited_early(request, search::exit_reason_named(value.get<std::string>()));
  if (kind == "closed") return search_->closed(request);
  throw Error(Code::unsupported, "reading the record of the search of experiment " +
                                     std::to_string(experiment_id_) + ": an event '" +
                                     std::string(kind) + "' is not known; update detcore");
}

bool RecordedSearch::takes_work() {
  Query state = records().query("SELECT state FROM experiments WHERE id=?", experiment_id_);
  return state.next() && !is_stopping(state.view(0)) && !is_terminal(state.view(0));
}

std::optional<int64_t> RecordedSearch::trial_of(const std::string &request_id) const {
  const auto found = trials_.find(request_id);
  return found == trials_.end() ? std::nullopt : std::optional(found->second);
}

RecordedSearch::SearchChanges RecordedSearch::carry_out(const search::Decisions &decisions) {
  SearchChanges changes;
  if (!takes_work_) return changes;
  const auto with_trial = [&](const std::string &request_id, auto &&change) {
    const std::optional<int64_t> trial = trial_of(request_id);
    if (!trial) return;
    change(*trial);
    changes.trials.push_back(*trial);
  };
  for (const search::Decision &decision : decisions)
    std::visit(Overloaded{[&](const search::CreateTrial &trial) { create(trial, changes); },
                          [&](const search::ValidateAfter &next) {
                            with_trial(next.request_id, [&](int64_t trial) {
                              set_length(trial, next.length, changes);
                            });
                          },
                          [&](const search::CloseTrial &close) {
                            with_trial(close.request_id, [&](int64_t trial) {
                              records().run("UPDATE trials SET closed=1 WHERE id=?", trial);
                            });
                          },
                          [&](const search::StopTrial &stop) {
                            with_trial(stop.request_id,
                                       [&](int64_t trial) { changes.stopped.push_back(trial); });
                          },
                          [&](const search::Shutdown &shutdown) { changes.shutdown = shutdown; },
                          [&](const search::SetProgress &set) { changes.progress = set.progress; }},
               decision);
  return changes;
}

void RecordedSearch::create(const search::CreateTrial &trial, SearchChanges &changes) {
  records().run(
      "INSERT INTO trials (experiment_id, state, hparams, seed, task_id, request_id, created)"
      " SELECT id, state, ?, ?, ?, ?, ? FROM experiments WHERE id=?",
      to_wire(trial.hparams), trial.trial_seed,
      std::to_string(experiment_id_) + "." + trial.request_id, trial.request_id, now_us(),
      experiment_id_);
  const int64_t id = records().last_id();
  trials_[trial.request_id] = id;
  requests_[id] = trial.request_id;
  changes.trials.push_back(id);
  if (length_) {
    set_length(id, *length_, changes);
    records().run("UPDATE trials SET closed=1 WHERE id=?", id);
  }
  changes.add(carry_out(search_->created(trial.request_id)));
}

void RecordedSearch::set_length(int64_t trial_id, uint64_t length, SearchChanges &changes) {
  {
    // Such as a trial that somebody killed while it waited for its promotion.
    Query trial = records().query("SELECT state FROM trials WHERE id=?", trial_id);
    if (trial.next() && is_terminal(trial.view(0))) return changes.refused.push_back(trial_id);
  }
  // Not INSERT ... SELECT: from its own table that goes through a temporary one.
  records().run(
      "INSERT INTO operations (trial_id, number, length, asked) VALUES"
      " (?1, (SELECT COALESCE(MAX(number), 0) + 1 FROM operations WHERE trial_id=?1), ?2, ?3)",
      trial_id, length, events_);
}

}  // namespace det::engine

#include "core/engine/supervision/recorded_search.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/uuid.h"
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

void SearchChanges::add(const SearchChanges &later) {
  append_ids(trials, later.trials);
  append_ids(stopped, later.stopped);
  append_ids(refused, later.refused);
  if (later.shutdown) shutdown = later.shutdown;
  if (later.progress) progress = later.progress;
}

RecordedSearch::RecordedSearch(Database &store, int64_t experiment_id,
                               std::unique_ptr<search::Search> search,
                               std::optional<uint64_t> length)
    : store_(store),
      experiment_id_(experiment_id),
      search_(std::move(search)),
      custom_(dynamic_cast<search::CustomSearch *>(search_.get())),
      length_(length) {
  Query trials = store_.query(
      "SELECT id, request_id FROM trials WHERE experiment_id=? AND request_id IS NOT NULL",
      experiment_id_);
  while (trials.next()) {
    requests_[trials.integer(0)] = trials.text(1);
    trials_[trials.text(1)] = trials.integer(0);
  }
  replay();
  if (!is_custom()) return;
  Query queued = store_.query(
      "SELECT COALESCE(MAX(number), 0) FROM search_queue WHERE experiment_id=?", experiment_id_);
  queued.next();
  queued_ = queued.integer(0);
}

void RecordedSearch::replay() {
  Query events = store_.query(
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

SearchChanges RecordedSearch::begin() {
  return events_ == 0 ? happened("initial", std::nullopt, nullptr) : SearchChanges();
}

SearchChanges RecordedSearch::completed(int64_t trial_id, uint64_t length, const Json &metric) {
  store_.run("UPDATE operations SET decided=? WHERE trial_id=? AND length=? AND decided IS NULL",
             now_us(), trial_id, length);
  // It is over when its process has left.
  if (length_) return {};
  return happened("validation_completed", trial_id, {{"length", length}, {"metric", metric}});
}

SearchChanges RecordedSearch::validated(int64_t trial_id, int64_t row, const Json &metrics) {
  store_.run("UPDATE trials SET last_validation=? WHERE id=?", row, trial_id);
  return happened("validated", trial_id, metrics);
}

SearchChanges RecordedSearch::exited_early(int64_t trial_id, search::ExitReason reason) {
  return happened("exited_early", trial_id, std::string(search::exit_reason_name(reason)));
}

SearchChanges RecordedSearch::closed(int64_t trial_id) {
  return happened("closed", trial_id, nullptr);
}

SearchChanges RecordedSearch::posted(int64_t event_id, const Json &operations,
                                     std::vector<std::string> &refused) {
  search::read_operations(operations, refused);  // those that cannot be read are told once
  SearchChanges changes =
      happened("posted", std::nullopt, {{"event_id", event_id}, {"operations", operations}});
  store_.run("DELETE FROM search_queue WHERE experiment_id=? AND number<=?", experiment_id_,
             event_id);
  return changes;
}

void RecordedSearch::store_queue() {
  for (const Json &event : custom_->queue()) {
    const auto number = event.at("id").get<int64_t>();
    if (number <= queued_) continue;
    store_.run("INSERT INTO search_queue (experiment_id, number, event) VALUES (?, ?, ?)",
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

SearchChanges RecordedSearch::happened(std::string_view kind, std::optional<int64_t> trial_id,
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
  store_.run(
      "INSERT INTO search_events (experiment_id, number, kind, trial_id, value, time)"
      " VALUES (?, ?, ?, ?, ?, ?)",
      experiment_id_, ++events_, kind, trial_id,
      value.is_null() ? std::nullopt : std::optional(to_wire(value)), now_us());
}

void RecordedSearch::failed(const std::string &why) { append(search_failed, std::nullopt, why); }

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

std::optional<int64_t> RecordedSearch::trial_of(const std::string &request_id) const {
  const auto found = trials_.find(request_id);
  return found == trials_.end() ? std::nullopt : std::optional(found->second);
}

SearchChanges RecordedSearch::carry_out(const search::Decisions &decisions) {
  SearchChanges changes;
  {
    // What is ending takes no more work.
    Query state = store_.query("SELECT state FROM experiments WHERE id=?", experiment_id_);
    if (!state.next() || is_stopping(state.view(0)) || is_terminal(state.view(0))) return changes;
  }
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
                              store_.run("UPDATE trials SET closed=1 WHERE id=?", trial);
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
  store_.run(
      "INSERT INTO trials (experiment_id, state, hparams, seed, task_id, request_id, created)"
      " SELECT id, state, ?, ?, ?, ?, ? FROM experiments WHERE id=?",
      to_wire(trial.hparams), trial.trial_seed,
      std::to_string(experiment_id_) + "." + trial.request_id, trial.request_id, now_us(),
      experiment_id_);
  const int64_t id = store_.last_id();
  trials_[trial.request_id] = id;
  requests_[id] = trial.request_id;
  changes.trials.push_back(id);
  if (length_) {
    set_length(id, *length_, changes);
    store_.run("UPDATE trials SET closed=1 WHERE id=?", id);
  }
  changes.add(carry_out(search_->created(trial.request_id)));
}

void RecordedSearch::set_length(int64_t trial_id, uint64_t length, SearchChanges &changes) {
  {
    // Such as a trial that somebody killed while it waited for its promotion.
    Query trial = store_.query("SELECT state FROM trials WHERE id=?", trial_id);
    if (trial.next() && is_terminal(trial.view(0))) return changes.refused.push_back(trial_id);
  }
  store_.run(
      "INSERT INTO operations (trial_id, number, length, asked)"
      " SELECT ?1, COALESCE(MAX(number), 0) + 1, ?2, ?3 FROM operations WHERE trial_id=?1",
      trial_id, length, events_);
}

}  // namespace det::engine

// The search of one experiment with its record in the store. What the search is told is appended
// to `search_events`, and what it decides is written to trials and operations, in one transaction:
// after a crash either both are there or neither, and the search is told all of it again to be
// where it was. A decision costs a few rows, however many trials there are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json.h"
#include "core/engine/store.h"
#include "core/engine/supervision/supervised_runs.h"
#include "core/search/custom.h"
#include "core/search/search.h"

namespace det::engine {

struct TrialValidation {
  int64_t row = 0;
  Json metrics;
};

// Decisions about a custom search, from outside.
struct SearchPost {
  int64_t id = 0, event_id = 0;
  std::string operations;
};

// What the search made of an event.
struct Decided {
  std::vector<int64_t> trials;  // that are new, have work, or have none any more
  bool states_changed = false;
  std::optional<std::string> failure;  // of the search: the experiment ends in an error
};

// Used by one thread. Where an event throws, this is ahead of the store and is of no use any more.
class RecordedSearch {
 public:
  // Tells `search`, which is new, all that is on record. `store` must outlive this. Where metrics
  // steer the search, each trial has one operation, of `length`.
  RecordedSearch(Store &store, int64_t experiment_id, std::unique_ptr<search::Search> search,
                 std::optional<uint64_t> length);

  // Each of these is one event with all that follows from it, recorded at once. One that the search
  // refuses ends the experiment.
  Decided begin();  // nothing where it began before
  Decided completed(int64_t trial_id, uint64_t length, const Json &metric);
  Decided validated(int64_t trial_id, const TrialValidation &validation);
  Decided end_trial(int64_t trial_id, std::string_view state,
                    std::optional<search::ExitReason> reason, const std::optional<JudgedRun> &run);
  Decided fail(const std::string &why);

  // Whether decisions come from outside.
  bool is_custom() const { return custom_ != nullptr; }
  Decided answer(const SearchPost &post);

  // Not on record: it steers nothing.
  void trial_progress(int64_t trial_id, double progress);
  double progress() const { return search_->progress(); }

 private:
  // What the decisions of one event changed.
  struct SearchChanges {
    std::vector<int64_t> trials;   // new, or with another operation, or closed
    std::vector<int64_t> stopped;  // those that shall leave
    std::vector<int64_t> refused;  // those that were given an operation, but had ended
    std::optional<search::Shutdown> shutdown;
    std::optional<double> progress;  // set by a custom search

    void add(const SearchChanges &later);
  };

  Database &records() { return store_.database(); }
  Decided decide(const std::function<SearchChanges()> &event);
  SearchChanges exited_early(int64_t trial_id, search::ExitReason reason);
  SearchChanges posted(int64_t event_id, const Json &operations, std::vector<std::string> &refused);
  SearchChanges happened(std::string_view kind, std::optional<int64_t> trial_id, const Json &value);
  void append(std::string_view kind, std::optional<int64_t> trial_id, const Json &value);
  search::Decisions tell(std::string_view kind, std::optional<int64_t> trial_id, const Json &value);
  void replay();
  void store_queue();
  bool takes_work();  // the experiment: what is ending takes no more
  SearchChanges carry_out(const search::Decisions &decisions);
  void create(const search::CreateTrial &trial, SearchChanges &changes);
  void set_length(int64_t trial_id, uint64_t length, SearchChanges &changes);
  std::optional<int64_t> trial_of(const std::string &request_id) const;

  Store &store_;
  const int64_t experiment_id_;
  const std::unique_ptr<search::Search> search_;
  search::CustomSearch *const custom_;  // the search, where it is one
  const std::optional<uint64_t> length_;
  int64_t queued_ = 0;  // the last event that was stored for who decides
  int64_t events_ = 0;
  bool takes_work_ = false;  // in the transaction of the event that happens
  std::unordered_map<std::string, int64_t> trials_;
  std::unordered_map<int64_t, std::string> requests_;
};

// Why the search of an experiment ended in an error; none where it did not.
std::optional<std::string> search_failure(Database &store, int64_t experiment_id);

}  // namespace det::engine

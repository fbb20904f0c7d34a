// The search of one experiment with its record in the store. What the search is told is appended
// to `search_events`, and what it decides is written to trials and operations, in the caller's
// transaction: after a crash either both are there or neither, and the search is told all of it
// again to be where it was. A decision costs a few rows, however many trials there are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/engine/database.h"
#include "core/search/custom.h"
#include "core/search/search.h"

namespace det::engine {

// What the decisions of one event changed.
struct SearchChanges {
  std::vector<int64_t> trials;   // new, or with another operation, or closed
  std::vector<int64_t> stopped;  // those that shall leave
  std::vector<int64_t> refused;  // those that were given an operation, but had ended
  std::optional<search::Shutdown> shutdown;
  std::optional<double> progress;  // set by a custom search

  void add(const SearchChanges &later);
};

class RecordedSearch {
 public:
  // Tells `search`, which is new, all that is on record. `store` must outlive this. Where metrics
  // steer the search, each trial has one operation, of `length`.
  RecordedSearch(Database &store, int64_t experiment_id, std::unique_ptr<search::Search> search,
                 std::optional<uint64_t> length);

  // Each of these is one event. The caller holds a transaction; should that fail, this is ahead of
  // the store and is of no use any more.
  // An event that the search refuses throws Code::invalid: that ends the experiment.
  SearchChanges begin();  // nothing where it began before
  SearchChanges completed(int64_t trial_id, uint64_t length, const Json &metric);
  SearchChanges validated(int64_t trial_id, int64_t row, const Json &metrics);
  SearchChanges exited_early(int64_t trial_id, search::ExitReason reason);
  SearchChanges closed(int64_t trial_id);

  // Whether decisions come from outside.
  bool is_custom() const { return custom_ != nullptr; }
  // Decisions about the events up to `event_id`, in the form of the platform. Those that cannot be
  // read are left out, and said in `refused`. Throws Code::not_found, and records nothing, when no
  // such event waits.
  SearchChanges posted(int64_t event_id, const Json &operations, std::vector<std::string> &refused);

  // Why the search ended in an error, for those who ask later.
  void failed(const std::string &why);

  // Not on record: it steers nothing.
  void trial_progress(int64_t trial_id, double progress);
  double progress() const { return search_->progress(); }
  search::Search &search() { return *search_; }
  int64_t events() const { return events_; }

 private:
  SearchChanges happened(std::string_view kind, std::optional<int64_t> trial_id, const Json &value);
  void append(std::string_view kind, std::optional<int64_t> trial_id, const Json &value);
  search::Decisions tell(std::string_view kind, std::optional<int64_t> trial_id, const Json &value);
  void replay();
  void store_queue();
  SearchChanges carry_out(const search::Decisions &decisions);
  void create(const search::CreateTrial &trial, SearchChanges &changes);
  void set_length(int64_t trial_id, uint64_t length, SearchChanges &changes);
  std::optional<int64_t> trial_of(const std::string &request_id) const;

  Database &store_;
  const int64_t experiment_id_;
  const std::unique_ptr<search::Search> search_;
  search::CustomSearch *const custom_;  // the search, where it is one
  const std::optional<uint64_t> length_;
  int64_t queued_ = 0;  // the last event that was stored for who decides
  int64_t events_ = 0;
  std::unordered_map<std::string, int64_t> trials_;
  std::unordered_map<int64_t, std::string> requests_;
};

// Why the search of an experiment ended in an error; none where it did not.
std::optional<std::string> search_failure(Database &store, int64_t experiment_id);

}  // namespace det::engine

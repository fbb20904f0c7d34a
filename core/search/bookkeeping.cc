#include "core/search/bookkeeping.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace det::search {

namespace {

// Larger ones would drown those of the other trials in the sum.
constexpr double largest_progress = 9007199254740992.0;

std::string operation_name(const std::string &request_id, uint64_t length) {
  return "{ValidateAfter " + request_id + ", " + std::to_string(length) + "}";
}

}  // namespace

Bookkeeping::Record &Bookkeeping::record(TrialIndex trial) {
  if (trial >= records_.size()) records_.resize(trial + 1);
  return records_[trial];
}

// Adds a trial that reports to the totals, or takes it out.
void Bookkeeping::count_open(const Record &record, int sign) {
  if (!record.reporting) return;
  totals_.reporting += static_cast<size_t>(sign);
  if (record.closed) totals_.reporting_closed += static_cast<size_t>(sign);
  else totals_.open_progress += sign * record.progress;
  // What rounding left over would stay for ever.
  if (totals_.reporting == totals_.reporting_closed) totals_.open_progress = 0;
}

void Bookkeeping::created(TrialIndex trial) {
  Record &at = record(trial);
  if (at.created) return;
  at.created = true;
  at.reporting = true;
  count_open(at, 1);
}

void Bookkeeping::check_completion(const TrialTable &trials, TrialIndex trial,
                                   uint64_t length) const {
  if (trial >= records_.size()) return;
  const auto &lengths = records_[trial].completed;
  if (std::ranges::find(lengths, length) == lengths.end()) return;
  throw Error(Code::invalid, "telling a search of a completed operation: that of trial " +
                                 trials.request_id(trial) + " to length " + std::to_string(length) +
                                 " was already completed");
}

void Bookkeeping::completed(TrialIndex trial, uint64_t length) {
  record(trial).completed.push_back(length);
}

bool Bookkeeping::exited_early(TrialIndex trial, ExitReason reason) {
  Record &at = record(trial);
  if (at.exited) return false;
  at.exited = true;
  if (reason == ExitReason::invalid_hp) {
    count_open(at, -1);
    at.reporting = false;
  } else if (reason == ExitReason::user_canceled) {
    at.canceled = true;
    ++canceled_;
  } else if (reason == ExitReason::errored) {
    at.failed = true;
    ++failed_;
  }
  return true;
}

void Bookkeeping::closed(TrialIndex trial) {
  Record &at = record(trial);
  if (at.closed) return;
  count_open(at, -1);
  at.closed = true;
  count_open(at, 1);
  ++totals_.closed;
}

void Bookkeeping::progress(TrialIndex trial, double progress) {
  Record &at = record(trial);
  if (!at.reporting || !(std::abs(progress) <= largest_progress)) return;
  count_open(at, -1);
  at.progress = progress;
  count_open(at, 1);
}

std::optional<Shutdown> Bookkeeping::shutdown(bool may_cancel) {
  if (shut_down_ || requested_ == 0 || totals_.closed != requested_) return std::nullopt;
  shut_down_ = true;
  return Shutdown{may_cancel && canceled_ >= requested_, failed_ >= requested_};
}

Json Bookkeeping::snapshot(const TrialTable &trials) const {
  using Entries = std::vector<std::pair<std::string, Json>>;
  Entries created, closed, exits, cancels, failures, progress, completed;
  for (TrialIndex trial = 0; trial < records_.size(); ++trial) {
    const Record &at = records_[trial];
    const std::string &id = trials.request_id(trial);
    if (at.created) created.emplace_back(id, true);
    if (at.closed) closed.emplace_back(id, true);
    if (at.exited) exits.emplace_back(id, true);
    if (at.canceled) cancels.emplace_back(id, true);
    if (at.failed) failures.emplace_back(id, true);
    if (at.reporting) progress.emplace_back(id, at.progress);
    for (const uint64_t length : at.completed)
      completed.emplace_back(operation_name(id, length),
                             Json{{"RequestID", id}, {"Length", length}});
  }
  Json state{{"trials_requested", requested_},
             {"trials_created", sorted_object(std::move(created))},
             {"trials_closed", sorted_object(std::move(closed))},
             {"exits", sorted_object(std::move(exits))},
             {"cancels", sorted_object(std::move(cancels))},
             {"failures", sorted_object(std::move(failures))},
             {"trial_progress", sorted_object(std::move(progress))}};
  if (rules_ == SearchRules::operations) {
    state["shutdown"] = shut_down_;
    state["completed_operations"] = sorted_object(std::move(completed));
  }
  return state;
}

void Bookkeeping::restore(const Json &state, TrialTable &trials) {
  records_.clear();
  totals_ = {};
  requested_ = state.at("trials_requested").get<size_t>();
  const auto each = [&](const char *set, auto &&note) {
    for (const auto &[id, value] : object_in(state, set).items())
      note(record(trials.add(id)), value);
  };
  each("trials_created", [](Record &at, const Json &) { at.created = true; });
  each("trials_closed", [](Record &at, const Json &) { at.closed = true; });
  each("exits", [](Record &at, const Json &) { at.exited = true; });
  each("cancels", [](Record &at, const Json &) { at.canceled = true; });
  each("failures", [](Record &at, const Json &) { at.failed = true; });
  each("trial_progress", [](Record &at, const Json &value) {
    at.reporting = true;
    at.progress = value.get<double>();
  });
  for (const Record &at : records_) count_open(at, 1);
  totals_.closed = state.at("trials_closed").size();
  canceled_ = state.at("cancels").size();
  failed_ = state.at("failures").size();
  shut_down_ = requested_ > 0 && totals_.closed == requested_;
  if (rules_ == SearchRules::metrics) return;
  shut_down_ = state.at("shutdown").get<bool>();
  for (const auto &[name, operation] : object_in(state, "completed_operations").items())
    completed(trials.add(operation.at("RequestID").get<std::string>()),
              operation.at("Length").get<uint64_t>());
}

}  // namespace det::search

#include "core/search/custom.h"

#include <cmath>
#include <utility>
#include <variant>

#include "core/base/error.h"

namespace det::search {

CustomSearch::CustomSearch(uint32_t seed) : trials_({}, seed) {}

void CustomSearch::add_event(const char *kind, Json body) {
  queue_.push_back({{"id", ++event_count_}, {kind, std::move(body)}});
}

void CustomSearch::post(int64_t event_id, const Decisions &decisions) {
  // The ids in the queue are consecutive.
  const int64_t first = event_count_ - static_cast<int64_t>(queue_.size()) + 1;
  if (event_id < first || event_id > event_count_)
    throw Error(Code::not_found, "posting the operations of a search: event " +
                                     std::to_string(event_id) +
                                     " not found; read the events again and name the last of them");
  queue_.erase(queue_.begin(), queue_.begin() + (event_id - first + 1));
  for (const Decision &decision : decisions) {
    if (std::holds_alternative<CreateTrial>(decision)) book_.requested(1);
    if (const auto *set = std::get_if<SetProgress>(&decision)) progress_ = set->progress;
  }
}

Decisions CustomSearch::initial() {
  add_event("initialOperations", Json::object());
  return {};
}

Decisions CustomSearch::created(const std::string &request_id) {
  book_.created(trials_.add(request_id));
  add_event("trialCreated", {{"requestId", request_id}});
  return {};
}

Decisions CustomSearch::validation_completed(const std::string &request_id, uint64_t length,
                                             const Json &metric) {
  const TrialIndex trial = trials_.add(request_id);
  book_.check_completion(trials_, trial, length);
  book_.completed(trial, length);
  add_event("validationCompleted", {{"requestId", request_id},
                                    {"metric", metric},
                                    {"validateAfterLength", std::to_string(length)}});
  return {};
}

Decisions CustomSearch::validated(const std::string & /*request_id*/, const Json & /*metrics*/) {
  return {};
}

Decisions CustomSearch::exited_early(const std::string &request_id, ExitReason reason) {
  if (!book_.exited_early(trials_.add(request_id), reason)) return {};
  Json event{{"requestId", request_id}};
  // An error is the reason that goes without saying.
  if (reason != ExitReason::errored)
    event["exitedReason"] = "EXITED_REASON_" + std::string(exit_reason_name(reason));
  add_event("trialExitedEarly", std::move(event));
  return {};
}

Decisions CustomSearch::closed(const std::string &request_id) {
  book_.closed(trials_.add(request_id));
  add_event("trialClosed", {{"requestId", request_id}});
  return {};
}

void CustomSearch::trial_progress(const std::string &request_id, double progress) {
  book_.progress(trials_.add(request_id), progress);
  add_event("trialProgress", {{"requestId", request_id}, {"partialUnits", progress}});
}

double CustomSearch::progress() const { return std::isfinite(progress_) ? progress_ : 0; }

Json CustomSearch::snapshot() const {
  Json state = book_.snapshot(trials_);
  state["rand"] = trials_.random().snapshot();
  state["search_method_state"] = {
      {"search_method_type", "custom_search"},
      {"SearcherEventQueue",
       {{"custom_searcher_events", queue_}, {"custom_searcher_event_count", event_count_}}},
      {"CustomSearchProgress", progress_}};
  return state;
}

void CustomSearch::restore(const Json &state) {
  reading_snapshot([&] {
    book_.restore(state, trials_);
    trials_.random().restore(state.at("rand"));
    const Json &method = state.at("search_method_state");
    const Json &queue = method.at("SearcherEventQueue");
    queue_ = queue.at("custom_searcher_events").get<std::deque<Json>>();
    event_count_ = queue.at("custom_searcher_event_count").get<int64_t>();
    progress_ = method.at("CustomSearchProgress").get<double>();
  });
}

}  // namespace det::search

// custom: a search whose decisions come from outside. What happens is queued as numbered events;
// who decides reads the queue, and posts its decisions with the last event that it has seen.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/search/bookkeeping.h"
#include "core/search/method.h"
#include "core/search/search.h"

namespace det::search {

class CustomSearch : public Search {
 public:
  // Trials get their ids and hyperparameters with the decisions, and this seed.
  static constexpr int64_t trial_seed = 42;

  explicit CustomSearch(uint32_t seed);

  // The events that are not acknowledged, oldest first, in the form of the platform:
  // {"id": 2, "trialCreated": {"requestId": "..."}}. Ids count from 1.
  const std::deque<Json> &queue() const { return queue_; }

  // Acknowledges all events up to `event_id`, and takes decisions, which are then carried out like
  // those of other searches. Throws Code::not_found, and takes nothing, when no such event waits.
  void post(int64_t event_id, const Decisions &decisions);

  Decisions initial() override;
  Decisions created(const std::string &request_id) override;
  Decisions validation_completed(const std::string &request_id, uint64_t length,
                                 const Json &metric) override;
  Decisions validated(const std::string &request_id, const Json &metrics) override;
  Decisions exited_early(const std::string &request_id, ExitReason reason) override;
  Decisions closed(const std::string &request_id) override;
  void trial_progress(const std::string &request_id, double progress) override;
  double progress() const override;
  Json snapshot() const override;
  void restore(const Json &snapshot) override;

 private:
  void add_event(const char *kind, Json body);

  TrialTable trials_;
  Bookkeeping book_{SearchRules::operations};
  std::deque<Json> queue_;
  int64_t event_count_ = 0;
  double progress_ = 0;
};

// Reads decisions in the form of the platform, a list like
// [{"createTrial": {"requestId": "...", "hyperparams": "{}"}}]. Those that cannot be read are left
// out, and said in `refused`.
Decisions read_operations(const Json &operations, std::vector<std::string> &refused);

}  // namespace det::search

// The trials of a store and their metrics: listed, found and read. Answers are JSON objects whose
// keys docs/client.md lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/engine/records/page.h"
#include "core/engine/store.h"

namespace det::engine {

// The journal of one rank of a run, and how much of it is stored.
struct DeliveredJournal {
  int64_t run_id = 0;
  int rank = 0;
  uint64_t sequence = 0;  // of the last report
};

// How a trial does, in short.
struct TrialSummary {
  std::string state;
  std::string status;
  double progress = 0;
  int64_t steps = 0;  // trained
  Json validation;    // its metrics; null where there is none
};

// Used by any thread.
class Trials {
 public:
  explicit Trials(Store &store) : store_(store) {}

  Json list(int64_t experiment_id, const Page &page);  // 0: of all experiments
  // Without what waits in journals, which is no record.
  Json get(int64_t trial_id);
  int64_t find(const std::string &text);  // as read_trial_text() says
  Json logs(int64_t trial_id, const Page &page);
  std::vector<DeliveredJournal> delivered_journals(int64_t trial_id);
  // For a display, from few rows.
  TrialSummary summary(int64_t trial_id);

 private:
  Database &records() { return store_.database(); }

  Store &store_;
};

// Used by any thread.
class StoredMetrics {
 public:
  explicit StoredMetrics(Store &store) : store_(store) {}

  // As text, which is what a store has of it: a page is long, and need not be taken apart.
  std::string text(int64_t trial_id, const std::optional<std::string> &group, const Page &page);
  Json names(int64_t trial_id);

 private:
  Database &records() { return store_.database(); }

  Store &store_;
};

}  // namespace det::engine

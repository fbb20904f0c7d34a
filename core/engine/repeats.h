// Finds metrics that were reported before for the same group and step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json.h"
#include "core/base/string_hash.h"
#include "core/engine/database.h"
#include "core/engine/metric_text.h"

namespace det::engine {

// Remembers the last step of each group: a report of a later one, the normal case, repeats nothing
// and costs no look into the store.
class Repeats {
 public:
  explicit Repeats(Database &store) : store_(store) {}

  // Starts a delivery for a trial, inside its transaction.
  void begin(int64_t trial_id);

  // What is remembered may differ from what is stored.
  void forget() { last_.clear(); }

  // Takes out of `text` what was reported before, and adds a message for each metric whose value
  // differs now. False when nothing is left to store.
  bool admit(std::string_view group, int64_t steps, MetricText &text,
             std::vector<std::string> &conflicts);

 private:
  using Values = std::map<std::string, Json, std::less<>>;

  // What is known of one step of a group.
  struct Step {
    int64_t steps = -1;
    bool loaded = false;  // `values` and `batches` say all that is stored, save for `pending`
    std::string pending;  // metrics of the only report so far, not yet parsed
    Values values;
    bool batches = false;
  };

  Step &last_step(std::string_view group);
  void load(std::string_view group, Step &step);

  Database &store_;
  int64_t trial_id_ = 0;
  int64_t data_version_ = -1;
  std::unordered_map<std::string, Step, StringHash, std::equal_to<>> last_;
};

}  // namespace det::engine

// What a trial is to do next, and what it answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/json.h"

namespace det::trial {

struct Workload {
  // Same numbers as DET_WORKLOAD_* in include/det/trial.h.
  enum class Kind : int { train = 1, validate = 2, checkpoint = 3 };

  Kind kind = Kind::train;
  int64_t step_id = 0;
  int64_t batches = 0;       // to train
  int64_t batches_done = 0;  // before it
};

struct Response {
  bool stop_requested = false;
  Json metrics;                 // averages, or those of the validation
  std::optional<Json> batches;  // what was measured of each
};

// Responses are as the original's, in JSON: {"metrics": {"avg_metrics": {}, "batch_metrics": []}},
// {"metrics": {"validation_metrics": {}}}, {"uuid": "..."}, each with "stop_requested" or without
// it. A validation must have the number that is searched over, and a value for each name. Throws
// Code::invalid.
Response read_response(Workload::Kind kind, const Json &response,
                       const std::string &searcher_metric);

}  // namespace det::trial

// How a trial is trained and its data are read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/json_fwd.h"

namespace det::keras {

struct FitOptions {
  bool verbose = false;         // a line of the chief for every tenth of a workload
  bool shuffle = true;          // the batches of sequences and arrays, in every epoch anew
  int64_t workers = 0;          // threads that ask a sequence ahead
  int64_t max_queue_size = 10;  // how many batches ahead
  std::optional<int64_t> validation_steps = {};  // batches of a validation, of each rank
  std::vector<double> class_weights = {};        // none: those of each batch

  // With what an object says, which is taken whole or not at all. Throws Code::invalid.
  void configure(const Json &given);
};

}  // namespace det::keras

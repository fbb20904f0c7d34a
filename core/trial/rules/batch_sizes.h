// How a batch is divided among slots.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json_fwd.h"

namespace det::trial {

struct BatchSizes {
  int64_t per_slot = 0;
  int64_t global = 0;   // per_slot for each slot
  std::string warning;  // where that is less than the hyperparameter; else empty
};

// Of the hyperparameter global_batch_size. Less than one slot counts as one. `trial_kind` names the
// kind of trial in errors: Code::invalid.
BatchSizes divide_batch(const Json &hparams, int64_t slots, const std::string &trial_kind);

}  // namespace det::trial

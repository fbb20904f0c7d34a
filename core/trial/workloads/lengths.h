// Lengths of training, in batches.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json_fwd.h"
#include "core/context/searcher.h"

namespace det::trial {

using context::Unit;

// Longer than anything is trained; sums of a few fit into 64 bits.
constexpr int64_t endless = int64_t{1} << 53;

struct Lengths {
  int64_t global_batch_size = 1;
  int64_t records_per_epoch = 0;  // 0: not known

  // What is left of a batch is dropped, but records and epochs are one batch at least. None is
  // taken for epochs. `what` names the length in errors: Code::invalid for epochs of unknown size.
  int64_t in_batches(Unit unit, int64_t length, const std::string &what) const;

  // A period of the configuration: {"batches": 100}, or records, or epochs. Endless where there is
  // none, and where it is less than a batch.
  int64_t period(const Json &config, const char *key) const;
};

// How errors begin that are about a configuration.
[[noreturn]] void refuse_config(const std::string &problem);

// A whole number from 0 on; `otherwise` where the configuration has none, or null.
int64_t whole_number(const Json &config, const char *key, int64_t otherwise);

}  // namespace det::trial

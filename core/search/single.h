// The search of one trial: one length, and hyperparameters that are what they are.
#pragma once

#include <cstdint>

#include "core/base/json_fwd.h"

namespace det::search {

// `searcher.max_length` of an experiment configuration: a number, or {"batches": number} and the
// like; 1 when absent. Throws Code::invalid.
uint64_t single_length(const Json &config);

// The constants under `hyperparameters`, groups kept. Throws Code::invalid for what only a search
// can choose.
Json constant_hparams(const Json &config);

}  // namespace det::search

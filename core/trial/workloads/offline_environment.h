// What a trial that no master knows is given.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/json_fwd.h"

namespace det::trial {

// {"experiment_config": {}, "hparams": {}, "trial_seed": 0} from an experiment configuration, of
// which all that belongs to a cluster is replaced by defaults: one slot, storage in /tmp.
// Hyperparameters are `hparams`, else samples drawn by `seed`. Throws Code::invalid.
Json offline_environment(const Json &config, const std::optional<Json> &hparams, uint32_t seed);

}  // namespace det::trial

// What an experiment's configuration says of the order of training, validation and checkpoints.
#pragma once

#include <cstdint>
#include <string>

#include "core/trial/lengths.h"

namespace det::trial {

// After which validations there is a checkpoint.
enum class CheckpointPolicy { best, all, none };

struct SequencerConfig {
  Lengths lengths;
  Unit unit = Unit::none;         // of the searcher's lengths
  int64_t scheduling_unit = 100;  // most batches of a workload
  int64_t validation_period = endless;
  int64_t checkpoint_period = endless;
  CheckpointPolicy policy = CheckpointPolicy::best;
  bool initial_validation = false;
  std::string metric;  // the searcher's
  bool smaller_is_better = true;
};

// What is missing has the defaults of the original. Throws Code::invalid naming the key.
SequencerConfig read_sequencer_config(const Json &config, int64_t global_batch_size);

}  // namespace det::trial

#include "core/trial/sequencer_config.h"

#include "core/base/json.h"

namespace det::trial {

namespace {

bool flag(const Json &section, const char *key, bool otherwise) {
  const auto found = section.find(key);
  if (found == section.end() || found->is_null()) return otherwise;
  if (!found->is_boolean())
    refuse_config(std::string(key) + " is " + to_wire(*found) + "; give true or false");
  return found->get<bool>();
}

CheckpointPolicy policy_in(const Json &config) {
  const auto found = config.find("checkpoint_policy");
  if (found == config.end() || found->is_null() || *found == "best") return CheckpointPolicy::best;
  if (*found == "all") return CheckpointPolicy::all;
  if (*found == "none") return CheckpointPolicy::none;
  refuse_config("checkpoint_policy is " + to_wire(*found) + "; give best, all or none");
}

}  // namespace

SequencerConfig read_sequencer_config(const Json &config, int64_t global_batch_size) {
  if (global_batch_size < 1)
    refuse_config("the global batch size is " + std::to_string(global_batch_size) +
                  "; give 1 or more");
  SequencerConfig read;
  read.lengths = {global_batch_size, whole_number(config, "records_per_epoch", 0)};
  read.unit = context::configured_units(config);
  read.scheduling_unit = whole_number(config, "scheduling_unit", read.scheduling_unit);
  if (read.scheduling_unit < 1) refuse_config("scheduling_unit is 0; give 1 or more");
  read.validation_period = read.lengths.period(config, "min_validation_period");
  read.checkpoint_period = read.lengths.period(config, "min_checkpoint_period");
  read.policy = policy_in(config);
  read.initial_validation = flag(config, "perform_initial_validation", false);
  const auto searcher = config.find("searcher");
  if (searcher == config.end() || !searcher->is_object() || !searcher->contains("metric") ||
      !searcher->at("metric").is_string())
    refuse_config("there is no searcher.metric, which names the validation metric to go by");
  read.metric = searcher->at("metric").get<std::string>();
  read.smaller_is_better = flag(*searcher, "smaller_is_better", true);
  // Not only where the first operation comes: epochs of unknown size are an error from the start.
  read.lengths.in_batches(read.unit, 1, "the length in searcher.max_length");
  return read;
}

}  // namespace det::trial

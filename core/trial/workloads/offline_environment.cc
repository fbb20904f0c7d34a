#include "core/trial/workloads/offline_environment.h"

#include "core/base/json.h"
#include "core/search/hyperparameters.h"
#include "core/trial/workloads/lengths.h"

namespace det::trial {

namespace {

constexpr const char *default_config = R"({
  "searcher": {"name": "single", "max_length": {"batches": 100}},
  "scheduling_unit": 100,
  "resources": {"slots_per_trial": 1, "native_parallel": false},
  "optimizations": {"aggregation_frequency": 1, "average_aggregated_gradients": true,
    "average_training_metrics": true, "gradient_compression": false, "mixed_precision": "O0"},
  "checkpoint_storage": {"type": "shared_fs", "host_path": "/tmp"}
})";

bool is_of_cluster(const std::string &key) {
  return key == "bind_mounts" || key == "checkpoint_storage" || key == "environment" ||
         key == "resources" || key == "optimizations";
}

}  // namespace

Json offline_environment(const Json &config, const std::optional<Json> &hparams, uint32_t seed) {
  Json merged = parse_json(default_config, "the default configuration");
  for (const auto &[key, value] : config.items())
    if (!is_of_cluster(key)) merged[key] = value;
  const Json reproducibility = merged.value("reproducibility", Json());
  const int64_t trial_seed =
      reproducibility.is_object() ? whole_number(reproducibility, "experiment_seed", 0) : 0;
  search::RandomState random(seed);
  const Json space = merged.value("hyperparameters", Json());
  return {
      {"experiment_config", merged},
      {"hparams", hparams ? *hparams : search::sample(search::read_hyperparameters(space), random)},
      {"trial_seed", trial_seed}};
}

}  // namespace det::trial

// The whole of a configuration, and its small sections.
#include <algorithm>
#include <cstdint>

#include "core/config/experiment/check.h"
#include "core/config/experiment/sections.h"

namespace det::config {

namespace {

bool check_precision(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (!value.get<std::string>().starts_with('O'))
    checker.report(at, "rule",
                   "starts with the capital letter O, as in 'O1'; found " + found_value(value));
  return true;
}

bool check_profiling(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  const Json &begin = config_member(value, "begin_on_batch");
  const Json &end = config_member(value, "end_after_batch");
  if (begin.is_number() && end.is_number() && begin.get<double>() > end.get<double>())
    checker.report(at, "rule",
                   "'begin_on_batch' must not be after 'end_after_batch', found " + begin.dump() +
                       " and " + end.dump());
  return true;
}

bool check_seed(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (value.get<double>() > UINT32_MAX)
    checker.report(at, "decode",
                   "must be at most " + std::to_string(UINT32_MAX) + ", found " + value.dump());
  return value.get<double>() <= UINT32_MAX;
}

// Labels are a set.
Json as_set(Json labels) {
  if (!labels.is_array() || !std::all_of(labels.begin(), labels.end(),
                                         [](const Json &label) { return label.is_string(); }))
    return labels;
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

Json merge_labels(const ConfigSchema &, const Json &first, const Json &second) {
  if (!first.is_array() || !second.is_array()) return first;
  Json both = first;
  both.insert(both.end(), second.begin(), second.end());
  return as_set(std::move(both));
}

ConfigSchema optimizations() {
  return object({
      optional("aggregation_frequency", integer().at_least(1), 1),
      optional("average_aggregated_gradients", boolean(), true),
      optional("average_training_metrics", boolean(), true),
      optional("gradient_compression", boolean(), false),
      optional("grad_updates_size_file", text(), nullptr),
      optional("mixed_precision", text().one_of({"O0", "O1", "O2", "O3"}).checked(check_precision),
               "O0"),
      optional("tensor_fusion_threshold", integer().at_least(0), 64),
      optional("tensor_fusion_cycle_time", integer().at_least(0), 1),
      optional("auto_tune_tensor_fusion", boolean(), false),
  });
}

ConfigSchema profiling() {
  return object({
                    optional("enabled", boolean(), false),
                    optional("begin_on_batch", integer().at_least(0), 0),
                    optional("end_after_batch", integer().at_least(0), nullptr),
                    optional("sync_timings", boolean(), true),
                })
      .checked(check_profiling);
}

ConfigSchema integrations(ConfigRules rules) {
  const ConfigSchema pachyderm = object({
      needed("pachd", object({needed("host", text()), needed("port", integer())})),
      needed("proxy",
             object({needed("scheme", text()), needed("host", text()), needed("port", integer())})),
      needed("dataset",
             object({needed("project", text()), needed("repo", text()), needed("commit", text()),
                     needed("branch", text()), needed("token", text())})),
  });
  if (rules == ConfigRules::v0_33) return object({optional("pachyderm", pachyderm)});
  const ConfigSchema webhooks = object({
      optional("webhook_id", list_of(integer())),
      optional("webhook_name", list_of(text())),
      optional("exclude", boolean(), false),
  });
  return object({optional("pachyderm", pachyderm), optional("webhooks", webhooks)});
}

ConfigSchema make_schema(ConfigRules rules) {
  const ConfigSchema slots_per_node = integer().at_least(1);
  const Json no_period = {{"batches", 0}};
  ConfigSchema nothing;
  ConfigSchema schema = object({
      needed("name", text()),
      optional("description", text(), nullptr),
      optional("labels", list_of(text()).decoded(as_set).merged(merge_labels), Json::array()),
      optional("data", open_object(), Json::object()),
      optional("workspace", text(), ""),
      optional("project", text(), ""),
      optional("entrypoint", list_of(text()).or_type(config_type::text), nullptr),
      needed("searcher", searcher_schema(rules)),
      optional("hyperparameters", hyperparameters_schema(), Json::object()),
      needed("checkpoint_storage", storage_schema()),
      optional("checkpoint_policy", text().one_of({"best", "all", "none"}), "best"),
      optional("min_validation_period", length(0), no_period),
      optional("min_checkpoint_period", length(0), no_period),
      optional("perform_initial_validation", boolean(), false),
      optional("scheduling_unit", integer().at_least(1), 100),
      optional("records_per_epoch", integer(), 0),
      optional("max_restarts", integer().at_least(0), 5),
      optional("reproducibility",
               object({optional("experiment_seed", integer().at_least(0).checked(check_seed))}),
               Json::object()),
      optional("resources", resources_schema(rules), Json::object()),
      optional("environment", environment_schema(rules), Json::object()),
      optional("optimizations", optimizations(), Json::object()),
      optional("profiling", profiling(), Json::object()),
      optional("bind_mounts", bind_mounts_schema(), Json::array()),
      optional("log_policies", log_policies_schema(rules), Json::array()),
      optional("retention_policy",
               object({needed("log_retention_days", integer().at_least(-1).at_most(INT16_MAX))})),
      optional("integrations", integrations(rules), nullptr),
      optional("debug", boolean(), false),
      optional("slurm",
               object({optional("slots_per_node", slots_per_node), optional("gpu_type", text()),
                       optional("sbatch_args", list_of(text()))}),
               Json::object()),
      optional("pbs",
               object({optional("slots_per_node", slots_per_node),
                       optional("pbsbatch_args", list_of(text()))}),
               Json::object()),
      optional("security", object({optional("kerberos", object({required("config_file", text())}),
                                            {{"config_file", ""}})})),
      optional("tensorboard_storage", tensorboard_storage_schema()),
      optional("data_layer", open_object()),
      ignored("internal", nothing),
  });
  if (rules == ConfigRules::v0_38)
    schema.fields.push_back(optional("preemption_timeout", integer(), 3600));
  return schema.checked(check_grid);
}

}  // namespace

const ConfigSchema &experiment_schema(ConfigRules rules) {
  static const ConfigSchema v0_33 = make_schema(ConfigRules::v0_33);
  static const ConfigSchema v0_38 = make_schema(ConfigRules::v0_38);
  return rules == ConfigRules::v0_33 ? v0_33 : v0_38;
}

}  // namespace det::config

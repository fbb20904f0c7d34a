#include "core/engine/runs/run_info.h"

namespace det::engine {

Json to_json(const RunInfo &info) {
  return {{"experiment_id", info.experiment_id},
          {"trial_id", info.trial_id},
          {"run_id", info.run_id},
          {"trial_seed", info.trial_seed},
          {"hparams", info.hparams},
          {"config", info.config},
          {"latest_checkpoint", info.latest_checkpoint ? Json(*info.latest_checkpoint) : Json()},
          {"steps_completed", info.steps_completed},
          {"task_id", info.task_id},
          {"allocation_id", info.allocation_id},
          {"cluster_id", info.cluster_id}};
}

RunInfo run_info_from_json(const Json &json) {
  RunInfo info;
  info.experiment_id = json.at("experiment_id");
  info.trial_id = json.at("trial_id");
  info.run_id = json.at("run_id");
  info.trial_seed = json.at("trial_seed");
  info.hparams = json.at("hparams");
  info.config = json.at("config");
  if (const Json &checkpoint = json.at("latest_checkpoint"); !checkpoint.is_null())
    info.latest_checkpoint = checkpoint.get<std::string>();
  info.steps_completed = json.at("steps_completed");
  info.task_id = json.at("task_id");
  info.allocation_id = json.at("allocation_id");
  info.cluster_id = json.at("cluster_id");
  return info;
}

Json to_json(const CheckpointReport &report) {
  return {{"id", report.id},
          {"metadata", report.metadata},
          {"resources", report.resources},
          {"storage", report.storage}};
}

CheckpointReport checkpoint_report_from_json(const Json &json) {
  return {json.at("id"), json.at("metadata"),
          json.at("resources").get<std::map<std::string, uint64_t>>(), json.at("storage")};
}

}  // namespace det::engine

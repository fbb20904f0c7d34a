#include "wrappers/keras/run/running_trial.h"

#include <cstdio>

namespace det::keras {

Trial::Trial(det_core *core, std::string kind)
    : core_(core),
      kind_(std::move(kind)),
      config_(parse_json_object(det_info_config_json(info()), "the configuration")),
      sizes_(trial::divide_batch(
          parse_json_object(det_info_hparams_json(info()), "the hyperparameters"), ranks(),
          "a " + kind_)) {
  if (!sizes_.warning.empty() && rank() == 0)
    std::fprintf(stderr, "warning: %s\n", sizes_.warning.c_str());
}

Trial::Trial(TrialRun run, std::string kind) : Trial(run.core(), std::move(kind)) {
  run_.emplace(std::move(run));
}

Json Trial::section(const char *name) const {
  Json said = Json::object();
  const auto given = config_.find(name);
  if (given == config_.end() || !given->is_object()) return said;
  for (const auto &[key, value] : given->items())
    if (!value.is_null()) said[key] = value;
  return said;
}

Json Trial::averaged(const Json &metrics) const {
  if (ranks() == 1) return metrics;
  return parse_json(
      text_of(det_trial_average_metrics, job(), text_with_bare_numbers(metrics).c_str(), nullptr),
      "the metrics of all ranks");
}

Json Trial::averaged_of_training(const Json &metrics) const {
  return section("optimizations").value("average_training_metrics", true) ? averaged(metrics)
                                                                          : metrics;
}

}  // namespace det::keras

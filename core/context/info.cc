#include "core/context/info.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/base/text/dotted_name.h"

namespace det::context {

namespace {

Json section(const Json &config, const char *name) {
  const auto it = config.find(name);
  return it != config.end() && it->is_object() ? *it : Json::object();
}

bool is_debug(const Json &config) {
  const auto it = config.find("debug");
  return it != config.end() && it->is_boolean() && it->get<bool>();
}

Json inter_node_network_interface() {
  const std::string name = environment_variable("DET_INTER_NODE_NETWORK_INTERFACE");
  return name.empty() ? Json() : Json(name);
}

}  // namespace

Info::Info(const engine::RunInfo &run, const comm::Ranks &ranks,
           const config::MasterLocation &master, const Json &storage, bool on_cluster)
    : run_(run),
      on_cluster_(on_cluster),
      hparams_text_(to_wire(run.hparams)),
      config_text_(to_wire(run.config)),
      user_data_text_(to_wire(section(run.config, "data"))) {
  const Json all = {
      {"experiment_id", run.experiment_id},
      {"trial_id", run.trial_id},
      {"trial_run_id", run.run_id},
      {"trial_seed", run.trial_seed},
      {"hparams", run.hparams},
      {"latest_checkpoint", run.latest_checkpoint ? Json(*run.latest_checkpoint) : Json()},
      {"steps_completed", run.steps_completed},
      {"task_id", run.task_id},
      {"task_type", "TRIAL"},
      {"allocation_id", run.allocation_id},
      {"cluster_id", run.cluster_id},
      {"on_cluster", on_cluster_},
      {"debug", is_debug(run.config)},
      {"inter_node_network_interface", inter_node_network_interface()},
      {"master", master.embedded ? master.home.string() : master.url},
      {"checkpoint_storage", storage},
      {"rank", ranks.rank},
      {"size", ranks.size},
  };
  text_ = to_wire(all);
  each_dotted_name(run.hparams, [this](const std::string &name, const Json &) {
    hparam_names_.push_back(name);
  });
}

const Json *Info::find_hparam(const std::string &name) const {
  return find_by_dotted_name(run_.hparams, name);
}

const Json &Info::hparam(const std::string &name) const {
  if (const Json *found = find_hparam(name)) return *found;
  std::string names;
  for (const std::string &each : hparam_names_) names += (names.empty() ? "" : ", ") + each;
  throw Error(Code::not_found, "looking up hyperparameter '" + name +
                                   "': not set; there are: " + (names.empty() ? "none" : names));
}

std::optional<double> as_double(const Json &value) {
  if (!value.is_number()) return std::nullopt;
  return value.get<double>();
}

std::optional<int64_t> as_integer(const Json &value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return number <= INT64_MAX ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  // 2^63 as a double is the first one that no longer fits.
  if (number != std::floor(number) || number < -0x1p63 || number >= 0x1p63) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::optional<bool> as_bool(const Json &value) {
  if (value.is_boolean()) return value.get<bool>();
  return std::nullopt;
}

}  // namespace det::context

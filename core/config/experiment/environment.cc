// The section `environment`: the container that a trial runs in.
#include <algorithm>
#include <array>

#include "core/config/experiment/check.h"
#include "core/config/experiment/sections.h"
#include "core/config/experiment/transform.h"

namespace det::config {

namespace {

constexpr std::array<const char *, 3> devices = {"cpu", "cuda", "rocm"};

// Whether `value` maps devices, `gpu` among them, to what `fits`. Null fits always.
template <class Fits>
bool is_device_map(const Json &value, Fits fits) {
  for (const auto &[key, inner] : value.items()) {
    const bool is_device =
        key == "gpu" || std::find(devices.begin(), devices.end(), key) != devices.end();
    if (!is_device || !(inner.is_null() || fits(inner))) return false;
  }
  return true;
}

bool is_text_list(const Json &value) {
  return value.is_array() && std::all_of(value.begin(), value.end(),
                                         [](const Json &entry) { return entry.is_string(); });
}

bool check_image(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (!value.is_string() &&
      !is_device_map(value, [](const Json &image) { return image.is_string(); }))
    checker.report(at, "no_alternative",
                   "must be a text, or an object of texts for 'cpu', 'cuda' and 'rocm'");
  return false;
}

bool check_variables(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (!is_text_list(value) && !(value.is_object() && is_device_map(value, is_text_list)))
    checker.report(
        at, "no_alternative",
        "must be a list of texts, or an object of such lists for 'cpu', 'cuda' and 'rocm'");
  return false;
}

// One value stands for every device; `gpu` is the old name of `cuda`.
Json for_each_device(Json value) {
  if (!value.is_object()) {
    Json all = Json::object();
    for (const char *device : devices) all[device] = value;
    return all;
  }
  if (value.contains("gpu")) {
    if (config_member(value, "cuda").is_null()) value["cuda"] = value["gpu"];
    erase_key(value, "gpu");
  }
  return value;
}

Json decode_image(Json value) {
  return value.is_string() || value.is_object() ? for_each_device(std::move(value)) : value;
}

Json decode_variables(Json value) {
  return value.is_array() || value.is_object() ? for_each_device(std::move(value)) : value;
}

// The later of two variables of a name counts, so those with priority come last.
Json merge_variables(const ConfigSchema &, const Json &first, const Json &second) {
  if (!first.is_object() || !second.is_object()) return first;
  Json all = first;
  for (const auto &[device, lower] : second.items()) {
    const Json &mine = config_member(first, device);
    Json both = lower.is_array() ? lower : Json::array();
    if (mine.is_array()) both.insert(both.end(), mine.begin(), mine.end());
    if (mine.is_null() || mine.is_array()) all[device] = std::move(both);
  }
  return all;
}

Json merge_ports(const ConfigSchema &, const Json &first, const Json &second) {
  return append_by_key(first, second, "proxy_port");
}

constexpr std::array<const char *, 13> fixed_in_container = {"image",
                                                             "command",
                                                             "args",
                                                             "working_dir",
                                                             "ports",
                                                             "liveness_probe",
                                                             "readiness_probe",
                                                             "startup_probe",
                                                             "lifecycle",
                                                             "termination_message_path",
                                                             "termination_message_policy",
                                                             "image_pull_policy",
                                                             "security_context"};

// The platform's own container is described by the configuration, not by the pod.
bool check_pod(ConfigChecker &checker, const Json &pod, const ConfigPath &at) {
  for (const char *key : {"name", "name_space"})
    if (pod.contains(key)) checker.report(at, "rule", std::string("'") + key + "' cannot be set");
  const Json &containers = config_member(config_member(pod, "spec"), "containers");
  if (!containers.is_array()) return true;
  const ConfigPath spec = at / "spec";
  const ConfigPath list = spec / "containers";
  for (size_t i = 0; i < containers.size(); ++i) {
    const Json &name = config_member(containers[i], "name");
    if (!name.is_null() && name != "determined-container") continue;
    for (const char *key : fixed_in_container)
      if (!config_member(containers[i], key).is_null())
        checker.report(
            list[i], "rule",
            std::string("'") + key + "' of the container that trains cannot be set here");
  }
  return true;
}

Json default_image(ConfigRules rules, const std::string &device) {
  const bool is_new = rules == ConfigRules::v0_38;
  if (device == "rocm")
    return is_new ? "determinedai/environments:rocm-5.6-pytorch-1.3-tf-2.10-rocm-mpich-0736b6d"
                  : "determinedai/environments:rocm-5.0-pytorch-1.10-tf-2.7-rocm-622d512";
  return is_new ? "determinedai/pytorch-ngc:0.38.1"
                : "determinedai/pytorch-tensorflow-" + device + ":0.33.0";
}

}  // namespace

ConfigSchema environment_schema(ConfigRules rules) {
  std::vector<ConfigField> images, variables, registry;
  for (const char *device : devices) {
    images.push_back(optional(device, text(), default_image(rules, device)));
    variables.push_back(optional(device, list_of(text()), Json::array()));
  }
  for (const char *key :
       {"username", "password", "auth", "email", "serveraddress", "identitytoken", "registrytoken"})
    registry.push_back(optional(key, text()));
  const ConfigSchema port = object({
      required("proxy_port", integer()),
      optional("proxy_tcp", boolean(), false),
      optional("unauthenticated", boolean(), false),
      optional("default_service_id", boolean(), false),
  });
  return object({
      optional("image",
               object(images).or_type(config_type::text).checked(check_image).decoded(decode_image),
               Json::object()),
      optional("environment_variables",
               object(variables)
                   .or_type(config_type::list)
                   .checked(check_variables)
                   .decoded(decode_variables)
                   .merged(merge_variables),
               Json::object()),
      optional("ports", map_of(integer()), Json::object()),
      optional("proxy_ports", list_of(port).merged(merge_ports), Json::array()),
      optional("force_pull_image", boolean(), false),
      optional("registry_auth", object(registry), nullptr),
      optional("add_capabilities", list_of(text()), Json::array()),
      optional("drop_capabilities", list_of(text()), Json::array()),
      optional("pod_spec", open_object().checked(check_pod), nullptr),
  });
}

}  // namespace det::config

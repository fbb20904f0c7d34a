// Checks experiment configurations in YAML or JSON, and fills in every default.
#pragma once

#include <det/config.h>
#include <det/error.hpp>
#include <det/json.hpp>

#include <string>

namespace det {
inline namespace v1 {

enum class ConfigRules : det_config_rules {
  v0_33 = DET_CONFIG_RULES_0_33,
  v0_38 = DET_CONFIG_RULES_0_38,
};

// An empty member is not set. See det_config_options.
struct ConfigOptions {
  std::string file_name;  // for messages
  std::string master;
  Json template_json;
  Json pool_defaults;
  Json workspace_storage;
  Json master_storage;
  bool unmanaged = false;
  ConfigRules rules = ConfigRules::v0_33;
};

namespace detail {

inline det_config_options to_c(const ConfigOptions &options) noexcept {
  det_config_options c_options = DET_CONFIG_OPTIONS_INIT;
  c_options.file_name = null_if_empty(options.file_name);
  c_options.master = null_if_empty(options.master);
  c_options.template_json = options.template_json.capi();
  c_options.pool_defaults_json = options.pool_defaults.capi();
  c_options.workspace_storage_json = options.workspace_storage.capi();
  c_options.master_storage_json = options.master_storage.capi();
  c_options.unmanaged = options.unmanaged ? 1 : 0;
  c_options.rules = static_cast<det_config_rules>(options.rules);
  return c_options;
}

}  // namespace detail

// Returns a list of problems, each an object. "[]": no problems.
[[nodiscard]] inline Json config_check(Text text, const ConfigOptions &options = {},
                                       OnFailure on = {}) {
  const det_config_options c_options = detail::to_c(options);
  return detail::answer(on, det_config_check, text.c_str(), &c_options);
}

[[nodiscard]] inline Json config_complete(Text text, const ConfigOptions &options = {},
                                          OnFailure on = {}) {
  const det_config_options c_options = detail::to_c(options);
  return detail::answer(on, det_config_complete, text.c_str(), &c_options);
}

}  // namespace v1
}  // namespace det

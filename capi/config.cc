#include <det/config.h>

#include "capi/guard.h"
#include "core/base/file.h"
#include "core/config/experiment/experiment_config.h"
#include "core/config/master_location.h"

static_assert(static_cast<int>(det::config::ConfigRules::v0_33) == DET_CONFIG_RULES_0_33);
static_assert(static_cast<int>(det::config::ConfigRules::v0_38) == DET_CONFIG_RULES_0_38);

namespace {

det::Json json_or_null(const char *text, const char *name) {
  if (text == nullptr) return nullptr;
  det::Json value = det::parse_json(text, name);
  if (!value.is_object() && !value.is_null())
    throw det::Error(det::Code::invalid,
                     std::string("reading ") + name + ": expected a JSON object");
  return value;
}

// A master over HTTP has a storage of its own, which nobody here knows.
det::Json storage_of(const char *master) {
  const det::config::MasterLocation location = det::config::locate_master(text_or_empty(master));
  return det::config::store_storage(location.embedded ? location.home : det::user_data_directory());
}

det::config::ExperimentConfigSources sources_from(const char *config,
                                                  const det_config_options *options) {
  const auto given =
      read_options<det_config_options>(options, DET_CONFIG_OPTIONS_INIT, "det_config_options");
  if (given.rules != DET_CONFIG_RULES_0_33 && given.rules != DET_CONFIG_RULES_0_38)
    throw det::Error(det::Code::invalid,
                     "det_config_options.rules must be one of DET_CONFIG_RULES_*");
  det::config::ExperimentConfigSources sources;
  sources.text = text(config, "text");
  if (given.file_name != nullptr) sources.file_name = given.file_name;
  sources.config_template = json_or_null(given.template_json, "template_json");
  sources.task_container_defaults = json_or_null(given.pool_defaults_json, "pool_defaults_json");
  sources.workspace_storage = json_or_null(given.workspace_storage_json, "workspace_storage_json");
  sources.master_storage = given.master_storage_json != nullptr
                               ? json_or_null(given.master_storage_json, "master_storage_json")
                               : storage_of(given.master);
  sources.managed = given.unmanaged == 0;
  sources.rules = static_cast<det::config::ConfigRules>(given.rules);
  return sources;
}

void add_problems(const std::vector<det::config::ConfigProblem> &problems, det::Json &list) {
  for (const det::config::ConfigProblem &problem : problems)
    list.push_back(det::config::to_json(problem));
}

det::Json problems_of(const det::config::ExperimentConfigSources &sources) {
  det::Json list = det::Json::array();
  std::vector<det::config::ConfigProblem> warnings;
  try {
    det::config::read_experiment_config(sources, &warnings);
  } catch (const det::config::ConfigError &e) {
    add_problems(e.problems, list);
  }
  add_problems(warnings, list);
  return list;
}

}  // namespace

det_status det_config_check(const char *text, const det_config_options *options, char **out_json,
                            det_error *err) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json",
         [&] { return copy_text(det::to_wire(problems_of(sources_from(text, options)))); });
  });
}

det_status det_config_complete(const char *text, const det_config_options *options, char **out_json,
                               det_error *err) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json", [&] {
      return copy_text(
          det::to_wire(det::config::read_experiment_config(sources_from(text, options))));
    });
  });
}

// What a checkpoint says of the trial that it is of.
#pragma once

#include <det/trials/context.hpp>
#include <det/trials/files.hpp>

namespace det {
inline namespace v1 {
namespace trials {

inline void write_load_data(const std::filesystem::path &directory, const char *trial_type,
                            const TrialContext &context) {
  const nlohmann::ordered_json said = {
      {"trial_type", trial_type},
      {"experiment_config", context.get_experiment_config().as<nlohmann::ordered_json>()},
      {"hparams", context.get_hparams().as<nlohmann::ordered_json>()}};
  write_text(directory / load_data_file, Json(said).text());
}

// Throws std::runtime_error unless a directory has a checkpoint of a trial of this type.
inline void check_kind(const std::filesystem::path &directory, const std::string &trial_type) {
  const std::string where = "reading the checkpoint '" + directory.string() + "': ";
  if (!std::filesystem::exists(directory / load_data_file))
    throw std::runtime_error(where + "it has no " + load_data_file +
                             ", which every checkpoint of a trial has; download one whole");
  const nlohmann::ordered_json said = read_json(directory / load_data_file);
  const std::string found =
      said.is_object() && said.contains("trial_type") && said["trial_type"].is_string()
          ? said["trial_type"].get<std::string>()
          : "something else";
  if (found != trial_type)
    throw std::runtime_error(where + "it is of " + found + ", and not of " + trial_type);
}

}  // namespace trials
}  // namespace v1
}  // namespace det

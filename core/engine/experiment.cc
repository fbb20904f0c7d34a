#include "core/engine/experiment.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/fifo.h"
#include "core/config/secrets.h"
#include "core/engine/checkpoints/checkpoint_records.h"
#include "core/engine/runs/lifecycle.h"
#include "core/engine/store_places.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

Json to_json(const LaunchPlan &plan) {
  return {{"command", plan.command},
          {"directory", plan.directory.string()},
          {"slots", plan.slots ? Json(*plan.slots) : Json()},
          {"by_metrics", plan.by_metrics},
          {"warm_start", plan.warm_start ? Json(*plan.warm_start) : Json()}};
}

LaunchPlan plan_from_json(const Json &json) {
  LaunchPlan plan;
  plan.command = json.at("command").get<std::vector<std::string>>();
  plan.directory = json.at("directory").get<std::string>();
  if (!json.at("slots").is_null()) plan.slots = json.at("slots").get<int>();
  plan.by_metrics = json.at("by_metrics").get<bool>();
  if (!json.at("warm_start").is_null()) plan.warm_start = json.at("warm_start").get<std::string>();
  return plan;
}

std::optional<std::string> find_warm_start(Database &store, const Json &config) {
  const std::optional<std::string> source = source_of(store, config);
  const Json searcher = config.value("searcher", Json::object());
  const Json trial = searcher.value("source_trial_id", Json());
  const Json uuid = searcher.value("source_checkpoint_uuid", Json());
  const std::string tried = "making an experiment: no checkpoint found ";
  if (!source && trial.is_number_integer())
    throw Error(Code::not_found, tried + "for source trial " + trial.dump() +
                                     " (searcher.source_trial_id); `det checkpoints` lists them");
  if (!source && uuid.is_string())
    throw Error(Code::not_found, tried + "with UUID " + uuid.dump() +
                                     " (searcher.source_checkpoint_uuid); `det checkpoints` lists "
                                     "them");
  return source;
}

fs::path owner_path(const fs::path &directory) { return directory / "owner"; }
fs::path wake_path(const fs::path &directory) { return directory / "wake"; }
fs::path logs_of(const fs::path &directory) { return directory / "logs"; }

fs::path secrets_path(const fs::path &store_directory, int64_t experiment_id) {
  return experiment_directory(store_directory, experiment_id) / "secrets.json";
}

OwnerLock take_seat(const fs::path &directory, int64_t experiment_id) {
  try {
    return OwnerLock::acquire(owner_path(directory));
  } catch (const Error &error) {
    if (error.code != Code::busy) throw;
    const std::string id = std::to_string(experiment_id);
    throw Error(Code::busy, "running experiment " + id +
                                ": another `det run` runs it; `det show -e " + id + "` shows it");
  }
}

}  // namespace

// The trial goes before the checkpoint, as on the platform.
std::optional<std::string> source_of(Database &store, const Json &config) {
  const Json searcher = config.value("searcher", Json());
  if (!searcher.is_object()) return std::nullopt;
  const Json trial = searcher.value("source_trial_id", Json());
  const Json uuid = searcher.value("source_checkpoint_uuid", Json());
  if (trial.is_number_integer()) {
    const auto latest = latest_checkpoint(store, trial.get<int64_t>());
    return latest ? std::optional(latest->uuid) : std::nullopt;
  }
  if (!uuid.is_string()) return std::nullopt;
  Query found = store.query("SELECT uuid FROM checkpoints WHERE uuid=? AND state='COMPLETED'",
                            uuid.get<std::string>());
  return found.next() ? std::optional(found.text(0)) : std::nullopt;
}

Json labels_of(const Json &config) {
  Json labels = config.value("labels", Json());
  const bool is_list = labels.is_array() && std::ranges::all_of(labels, &Json::is_string);
  return is_list ? labels : Json::array();
}

int64_t create_experiment(Database &store, const Json &config, const std::string &original,
                          LaunchPlan launch) {
  launch.warm_start = find_warm_start(store, config);
  Json recorded = config;
  const Json secrets = config::take_secrets(recorded);
  store.run(
      "INSERT INTO experiments (name, state, config, created, managed, original_config, launch,"
      " progress, tags, source) VALUES (?, ?, ?, ?, 1, ?, ?, 0, ?, ?)",
      config.at("name").get<std::string>(), state::paused,
      to_wire(recorded_config(store, recorded)), now_us(),
      config::with_masked_secrets(original, config), to_wire(to_json(launch)),
      to_wire(labels_of(config)), launch.warm_start);
  const int64_t experiment_id = store.last_id();
  keep_secrets(store, experiment_id, secrets);
  return experiment_id;
}

void keep_secrets(Database &store, int64_t experiment_id, const Json &secrets) {
  const fs::path path = secrets_path(store.path().parent_path(), experiment_id);
  if (secrets.empty()) return static_cast<void>(fs::remove(path));
  make_directories(path.parent_path(), 0700);
  write_file_durably(path, to_wire(secrets) + "\n", 0600);
}

void hide_recorded_secrets(Database &store) {
  std::vector<int64_t> all;
  Query experiments = store.query("SELECT id FROM experiments");
  while (experiments.next()) all.push_back(experiments.integer(0));
  for (const int64_t id : all) {
    Query row = store.query("SELECT config, original_config FROM experiments WHERE id=?", id);
    if (!row.next()) continue;
    const Json config = parse_json(row.view(0), "a recorded configuration");
    Json masked = config;
    const Json secrets = config::take_secrets(masked);
    if (secrets.empty()) continue;
    keep_secrets(store, id, secrets);
    store.run("UPDATE experiments SET config=? WHERE id=?", to_wire(masked), id);
    if (!row.is_null(1))
      store.run("UPDATE experiments SET original_config=? WHERE id=?",
                config::with_masked_secrets(row.text(1), config), id);
  }
}

Json kept_secrets(const fs::path &store_directory, int64_t experiment_id) {
  const fs::path path = secrets_path(store_directory, experiment_id);
  if (access(path.c_str(), R_OK) != 0) return Json::object();
  return parse_json_object(read_file(path), "'" + path.string() + "'");
}

Json read_config(Database &store, int64_t experiment_id, std::string_view recorded) {
  Json config = used_config(store, recorded);
  config::put_secrets(config, kept_secrets(store.path().parent_path(), experiment_id));
  return config;
}

ExperimentRecord read_experiment(Database &store, int64_t experiment_id) {
  Query found = store.query(
      "SELECT name, state, config, launch, managed FROM experiments WHERE id=?", experiment_id);
  const std::string tried = "reading experiment " + std::to_string(experiment_id) + ": ";
  if (!found.next())
    throw Error(Code::not_found, tried + "not found in '" + store.path().string() +
                                     "'; `det experiments` shows the ones there are");
  if (found.integer(4) == 0 || found.is_null(3))
    throw Error(Code::state,
                tried + "it belongs to a program that was started by itself; start that again");
  return {experiment_id, found.text(0), found.text(1),
          read_config(store, experiment_id, found.view(2)),
          plan_from_json(parse_json_object(found.view(3), "how trials are started"))};
}

fs::path experiment_directory(const fs::path &store_directory, int64_t experiment_id) {
  return store_directory / "experiments" / std::to_string(experiment_id);
}

fs::path listeners_directory(const fs::path &store_directory, int64_t experiment_id) {
  return experiment_directory(store_directory, experiment_id) / "listeners";
}

void wake_supervisor(const fs::path &store_directory, int64_t experiment_id) {
  wake_fifo(wake_path(experiment_directory(store_directory, experiment_id)));
}

Liveness supervisor_liveness(const fs::path &store_directory, int64_t experiment_id) {
  return owner_liveness(owner_path(experiment_directory(store_directory, experiment_id)));
}

SupervisorSeat::SupervisorSeat(const fs::path &store_directory, int64_t experiment_id)
    : directory_(experiment_directory(store_directory, experiment_id)) {
  make_directories(logs_of(directory_), 0700);
  owner_ = take_seat(directory_, experiment_id);
  const fs::path path = wake_path(directory_);
  if (make_fifo(path)) wake_ = open_fifo(path);
}

fs::path SupervisorSeat::log_file(int64_t trial_id, int64_t run_id) const {
  return logs_of(directory_) / (std::to_string(trial_id) + "." + std::to_string(run_id) + ".log");
}

}  // namespace det::engine

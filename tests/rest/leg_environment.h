// What a cluster, or a user, gives a process of a recorded leg to begin with.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace det::master {

// Where a scenario is played.
struct ReplayPlace {
  std::filesystem::path directory;
  std::string master_url;
  int port = 0;  // of the first rank, for the others

  // Under the name that it got here, where it was stored here.
  Json own_checkpoint(const Json &recorded) const {
    std::ifstream lines(directory / "uuids");
    for (std::string name, own; lines >> name >> own;)
      if (recorded == name) return own;
    return recorded;
  }
};

// A key of a file, the variable with the same value, and the value; null: there is none.
struct LegFact {
  const char *key, *variable;
  Json value;
};
using LegFacts = std::vector<LegFact>;

using Environment = std::vector<std::string>;

inline void add_variables(Environment &environment, const LegFacts &facts) {
  for (const auto &[key, variable, value] : facts)
    if (!value.is_null())
      environment.push_back(std::string(variable) + "=" +
                            (value.is_string() ? value.get<std::string>() : value.dump()));
}

inline void write_facts(const std::filesystem::path &file, const LegFacts &facts) {
  Json json;
  for (const LegFact &fact : facts) json[fact.key] = fact.value;
  std::ofstream(file) << json.dump();
}

inline LegFacts cluster_facts(const ReplayPlace &place, const Json &leg, int node, int slots) {
  std::vector<int> slot_ids;
  for (int slot = 0; slot < slots; ++slot) slot_ids.push_back(slot);
  return {{"master_url", "DET_MASTER", place.master_url},
          {"cluster_id", "DET_CLUSTER_ID", "cluster"},
          {"agent_id", "DET_AGENT_ID", leg["agent_id"]},
          {"slot_ids", "DET_SLOT_IDS", slot_ids},
          {"task_id", "DET_TASK_ID", leg["task_id"]},
          {"allocation_id", "DET_ALLOCATION_ID", leg["allocation_id"]},
          {"session_token", "DET_SESSION_TOKEN", "task-token"},
          {"task_type", "DET_TASK_TYPE", "TRIAL"},
          {"latest_checkpoint", "DET_LATEST_CHECKPOINT",
           place.own_checkpoint(leg["latest_checkpoint"])},
          {"resources_id", "DET_RESOURCES_ID", leg["resources_ids"][static_cast<size_t>(node)]}};
}

inline LegFacts trial_facts(const Json &leg) {
  return {{"trial_id", "DET_TRIAL_ID", leg["trial_id"]},
          {"experiment_id", "DET_EXPERIMENT_ID", leg["experiment_id"]},
          {"trial_seed", "DET_TRIAL_SEED", 7},
          {"trial_run_id", "DET_TRIAL_RUN_ID", leg["run_id"]},
          {"steps_completed", "DET_STEPS_COMPLETED", leg["steps_completed"]},
          {"hparams", "DET_HPARAMS", leg["hparams"]},
          {"config", "DET_EXPERIMENT_CONFIG", leg["config"]}};
}

// Nothing of a cluster, and a home in which what one leg leaves behind is there for the next.
inline Environment plain_environment(const ReplayPlace &place) {
  Environment environment;
  for (char **entry = environ; *entry != nullptr; ++entry)
    if (const std::string text = *entry; !text.starts_with("DET_")) environment.push_back(text);
  for (const char *name : {"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"}) {
    std::erase_if(environment,
                  [&](const auto &text) { return text.starts_with(std::string(name) + "="); });
    environment.push_back(std::string(name) + "=" + place.directory.string());
  }
  return environment;
}

// By files, else by variables; then the one container there is asks whom it should meet.
inline Environment managed_environment(const ReplayPlace &place, const Json &leg, int rank,
                                       bool by_files) {
  Environment environment = plain_environment(place);
  const int nodes = static_cast<int>(leg["resources_ids"].size());
  const int slots = leg["ranks"].get<int>() / nodes, node = rank / slots;
  const std::filesystem::path info = place.directory / ("info-" + std::to_string(rank));
  std::filesystem::remove_all(info);
  std::filesystem::create_directories(info);
  const LegFacts cluster = cluster_facts(place, leg, node, slots);
  if (by_files) {
    const auto containers = static_cast<size_t>(nodes);
    write_facts(info / "cluster.json", cluster);
    write_facts(info / "trial.json", trial_facts(leg));
    write_facts(info / "rendezvous.json",
                {{"container_addrs", "", std::vector<std::string>(containers, "127.0.0.1")},
                 {"container_rank", "", node},
                 {"container_slot_counts", "", std::vector<int>(containers, slots)}});
  } else {
    add_variables(environment, cluster);
    add_variables(environment, trial_facts(leg));
  }
  add_variables(environment, {{"", "DET_INFO_DIR", info.string()},
                              {"", "DET_USER", "admin"},  // with a token of its own, as real ones
                              {"", "DET_USER_TOKEN", "user-token"},
                              {"", "DET_DISTRIBUTED_SECRET", "secret"},
                              {"", "INTER_TRAIN_PROCESS_COMM_PORT_1", place.port}});
  return environment;
}

// With a token, else nobody is logged in.
inline Environment unmanaged_environment(const ReplayPlace &place, const Json &leg,
                                         bool has_token) {
  Environment environment = plain_environment(place);
  add_variables(environment, {{"", "DET_MASTER", place.master_url},
                              {"", "DET_INFO_DIR", (place.directory / "none").string()},
                              {"", "DET_EXTERNAL_EXPERIMENT_ID", leg["external_experiment_id"]},
                              {"", "DET_EXTERNAL_ID", leg["external_trial_id"]}});
  if (has_token)
    add_variables(environment, {{"", "DET_USER", "admin"}, {"", "DET_USER_TOKEN", "user-token"}});
  return environment;
}

}  // namespace det::master

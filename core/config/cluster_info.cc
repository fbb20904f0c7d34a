#include "core/config/cluster_info.h"

#include <array>
#include <filesystem>

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/config/master_location.h"
#include "core/config/master_url.h"
#include "core/config/task_facts.h"

namespace det::config {

namespace fs = std::filesystem;

namespace {

constexpr std::array<FactName, 11> cluster_names{{
    {"master_url", "DET_MASTER", false, true},
    {"cluster_id", "DET_CLUSTER_ID", false, true},
    {"agent_id", "DET_AGENT_ID", false, true},
    {"slot_ids", "DET_SLOT_IDS", true, true},
    {"task_id", "DET_TASK_ID", false, true},
    {"allocation_id", "DET_ALLOCATION_ID", false, true},
    {"session_token", "DET_SESSION_TOKEN", false, true},
    {"task_type", "DET_TASK_TYPE", false, true},
    {"master_cert_name", "DET_MASTER_CERT_NAME", false, false},
    {"master_cert_file", "DET_MASTER_CERT_FILE", false, false},
    {"latest_checkpoint", "DET_LATEST_CHECKPOINT", false, false},
}};

constexpr std::array<FactName, 7> trial_names{{
    {"trial_id", "DET_TRIAL_ID", true, true},
    {"experiment_id", "DET_EXPERIMENT_ID", true, true},
    {"trial_seed", "DET_TRIAL_SEED", true, true},
    {"trial_run_id", "DET_TRIAL_RUN_ID", true, true},
    {"steps_completed", "DET_STEPS_COMPLETED", true, true},
    {"hparams", "DET_HPARAMS", true, true},
    {"config", "DET_EXPERIMENT_CONFIG", true, true},
}};

bool is_trial(const ClusterInfo &info) { return info.task_type == "TRIAL"; }

void read_cluster(const TaskFacts &facts, ClusterInfo &info) {
  info.cluster_id = facts.text("cluster_id");
  info.agent_id = facts.text("agent_id");
  info.task_id = facts.name("task_id");
  info.allocation_id = facts.name("allocation_id");
  info.task_type = facts.name("task_type");
  info.session_token = facts.text("session_token");
  info.cert_name = facts.optional_text("master_cert_name");
  info.cert_file = facts.optional_text("master_cert_file");
  info.slot_ids = facts.integers("slot_ids", 0);
  if (!info.allocation_id.starts_with(info.task_id + "."))
    facts.refuse("allocation_id",
                 "'" + info.allocation_id + "' is not of the task '" + info.task_id + "'");
  const std::string checkpoint = facts.optional_text("latest_checkpoint");
  if (is_trial(info) && !checkpoint.empty()) info.latest_checkpoint = checkpoint;

  try {
    info.master_url = canonical_master_url(facts.name("master_url"), "it");
  } catch (const Error &) {
    facts.refuse("master_url", "it is no address of a master, http(s)://HOST:PORT");
  }
}

ClusterTrial read_trial(const TaskFacts &facts) {
  return {.trial_id = facts.integer("trial_id", 1),
          .experiment_id = facts.integer("experiment_id", 1),
          .trial_seed = facts.integer("trial_seed", 0),
          .run_id = facts.integer("trial_run_id", 1),
          .steps_completed = facts.integer("steps_completed", 0),
          .hparams = facts.object("hparams"),
          .config = facts.object("config")};
}

void read_rendezvous(const TaskFacts &facts, ClusterInfo &info) {
  info.met = true;
  info.container_addresses = facts.texts("container_addrs");
  info.container_rank = facts.integer("container_rank", 0);
  const size_t containers = info.container_addresses.size();
  if (static_cast<size_t>(info.container_rank) >= containers)
    facts.refuse("container_rank", "container_addrs has only " + std::to_string(containers));
  if (facts.has("container_slot_counts")) {
    info.container_slot_counts = facts.integers("container_slot_counts", 0);
    if (info.container_slot_counts.size() != containers)
      facts.refuse("container_slot_counts",
                   "container_addrs has " + std::to_string(containers) + " containers");
  } else if (containers == 1) {
    info.container_slot_counts = {static_cast<int64_t>(info.slot_ids.size())};
  }
}

// Tasks other than trials are alone.
void meet_nobody(ClusterInfo &info) {
  info.met = true;
  info.container_addresses = {"127.0.0.1"};
  info.container_slot_counts = {static_cast<int64_t>(info.slot_ids.size())};
}

std::optional<ClusterInfo> from_files(const fs::path &directory) {
  const auto cluster = TaskFacts::from_file(directory / "cluster.json");
  if (!cluster) return std::nullopt;
  ClusterInfo info;
  info.origin = "'" + directory.string() + "'";
  info.from_files = true;
  read_cluster(*cluster, info);
  if (is_trial(info)) {
    const auto trial = TaskFacts::from_file(directory / "trial.json");
    if (!trial) cluster->refuse("task_type", "it is TRIAL, but there is no trial.json beside it");
    info.trial = read_trial(*trial);
    const auto rendezvous = TaskFacts::from_file(directory / "rendezvous.json");
    if (rendezvous) read_rendezvous(*rendezvous, info);
  } else {
    meet_nobody(info);
  }
  const auto resources = TaskFacts::from_file(directory / "resources.json");
  if (resources) info.gpu_uuids = resources->texts("gpu_uuids");
  return info;
}

// The variables that only a cluster sets, with a master over HTTP.
bool variables_are_of_a_cluster() {
  if (environment_variable("DET_ALLOCATION_ID").empty() ||
      environment_variable("DET_TASK_ID").empty())
    return false;
  const std::string master = environment_variable("DET_MASTER");
  return !master.empty() && !locate_master(master).embedded;
}

std::optional<ClusterInfo> from_variables() {
  if (!variables_are_of_a_cluster()) return std::nullopt;
  std::vector<std::string> missing;
  const TaskFacts cluster = TaskFacts::from_variables(cluster_names, missing);
  std::optional<TaskFacts> trial;
  if (environment_variable("DET_TASK_TYPE") == "TRIAL")
    trial = TaskFacts::from_variables(trial_names, missing);
  if (!missing.empty()) {
    std::string names;
    for (const std::string &name : missing) names += (names.empty() ? "" : ", ") + name;
    throw Error(Code::invalid,
                "reading what the cluster says of this task: DET_ALLOCATION_ID is set, but not " +
                    names + "; set them too, or unset it where no cluster started this process");
  }
  ClusterInfo info;
  info.origin = "the variables DET_*";
  read_cluster(cluster, info);
  if (trial) info.trial = read_trial(*trial);
  else meet_nobody(info);
  return info;
}

}  // namespace

std::optional<ClusterInfo> read_cluster_info() {
  const std::string directory = environment_variable("DET_INFO_DIR");
  std::optional<ClusterInfo> info =
      from_files(directory.empty() ? "/run/determined/info" : directory);
  if (!info) info = from_variables();
  if (info) info->user_token = environment_variable("DET_USER_TOKEN");
  return info;
}

std::optional<std::string> shared_mount() {
  constexpr const char *mounted = "/determined_shared_fs";
  std::error_code absent;
  return fs::is_directory(mounted, absent) ? std::optional<std::string>(mounted) : std::nullopt;
}

}  // namespace det::config

// What a cluster tells the processes of a task that it has started, before any master is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace det::config {

// Of tasks of type TRIAL.
struct ClusterTrial {
  int64_t trial_id = 0;
  int64_t experiment_id = 0;
  int64_t trial_seed = 0;
  int64_t run_id = 0;
  int64_t steps_completed = 0;  // of the latest checkpoint
  Json hparams = Json::object();
  Json config = Json::object();  // of the experiment, completed by the master
};

struct ClusterInfo {
  std::string origin;       // for messages: the info directory, or "the variables DET_*"
  bool from_files = false;  // that the cluster's set-up wrote
  std::string master_url;   // canonical
  std::string cluster_id, agent_id, task_id, allocation_id, task_type;
  std::string session_token;  // of the allocation
  std::string user_token;     // DET_USER_TOKEN; empty: none
  std::string cert_name, cert_file;
  std::vector<int64_t> slot_ids;
  std::optional<std::string> latest_checkpoint;  // of trials only
  std::optional<ClusterTrial> trial;             // of trials only, and always of them

  // Which containers there are, from rank 0's on. Tasks other than trials have one.
  bool met = false;  // else the containers must still meet, which fills the rest
  std::vector<std::string> container_addresses;
  int64_t container_rank = 0;
  std::vector<int64_t> container_slot_counts;  // empty: older clusters do not say

  std::vector<std::string> gpu_uuids;
};

// From the files in DET_INFO_DIR (else /run/determined/info), else from the variables of a task;
// none where no cluster started this process. Throws Code::corrupt naming the file and the key, for
// files that are half written or contradict each other, and Code::invalid naming the variables.
std::optional<ClusterInfo> read_cluster_info();

// Where the container of a cluster has the file system that is shared; none elsewhere.
std::optional<std::string> shared_mount();

}  // namespace det::config

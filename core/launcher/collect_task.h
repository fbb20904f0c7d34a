// Collecting checkpoints as the task that a master starts for it after an experiment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/config/cluster_info.h"

namespace det::launcher {

struct CollectRequest {
  int64_t experiment_id = 0;
  Json storage;
  std::vector<std::string> ids;    // of checkpoints
  std::vector<std::string> globs;  // what of them goes; none: only what is left is told
  bool tensorboards = false;       // those of the experiment too
  bool is_dry = false;
};

// From a command line as masters write it: what is behind an option is a value, or the name of a
// file that has it. Throws Code::invalid.
CollectRequest read_collect_request(const std::vector<std::string> &arguments);

// Deletes, and tells the master what is left. Gives the exit status: 1 when something of it failed,
// which is in the log, and stopped nothing else.
int collect_for_cluster(const CollectRequest &request, const config::ClusterInfo &cluster,
                        const std::shared_ptr<Logger> &logger);

}  // namespace det::launcher

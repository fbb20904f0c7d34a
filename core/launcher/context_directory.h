// The directory that an experiment of a cluster was submitted with.
#pragma once

#include <memory>

#include "core/base/log.h"
#include "core/config/cluster_info.h"

namespace det::launcher {

// Unpacks it where the cluster's own scripts do: into DET_RUN_DIR/train/model and into the current
// directory, where the entrypoint finds its modules. Throws where the master cannot be asked, or
// what it gives cannot be unpacked.
void fetch_context_directory(const config::ClusterInfo &cluster,
                             const std::shared_ptr<Logger> &logger);

}  // namespace det::launcher

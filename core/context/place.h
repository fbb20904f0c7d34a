// Where a run is, on this rank.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "core/config/cluster_info.h"
#include "core/config/location.h"
#include "core/master/master.h"
#include "core/master/rest/session.h"
#include "core/storage/storage.h"

namespace det {

struct Place {
  MasterLocation location;
  std::optional<ClusterInfo> cluster;      // of a trial that a cluster started
  std::shared_ptr<MasterSession> session;  // with a master over HTTP
  std::unique_ptr<Storage> storage;
  std::filesystem::path tensorboard_directory;  // beside the checkpoints of the configuration
  std::unique_ptr<Master> master;
};

}  // namespace det

// Where a run is, on this rank.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "core/config/cluster_info.h"
#include "core/config/master_location.h"
#include "core/master/master.h"
#include "core/master/rest/master_session.h"
#include "core/storage/storage.h"

namespace det::context {

struct Place {
  config::MasterLocation location;
  std::optional<config::ClusterInfo> cluster;      // of a trial that a cluster started
  std::shared_ptr<master::MasterSession> session;  // with a master over HTTP
  std::unique_ptr<storage::Storage> storage;
  std::shared_ptr<storage::Storage> tensorboard_storage;  // of the configuration, where another
  std::unique_ptr<master::Master> master;
};

}  // namespace det::context

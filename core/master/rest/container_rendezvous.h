// How the containers of an allocation learn of each other.
#pragma once

#include "core/config/cluster_info.h"
#include "core/master/rest/master_session.h"

namespace det::master {

// Blocks until every container asks, and fills in the addresses; nothing where set-up has done so.
// Only then does the master stop the trial in good order. One process of each container.
void rendezvous(MasterSession &session, config::ClusterInfo &cluster);

}  // namespace det::master

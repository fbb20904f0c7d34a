// Starting a run of a trial on a master over HTTP, or taking part in one.
#pragma once

#include <memory>
#include <string>

#include "core/base/log/log.h"
#include "core/comm/communicator.h"
#include "core/config/cluster_info.h"
#include "core/engine/runs/run_backend.h"
#include "core/master/rest/master_session.h"

namespace det::master {

// What every rank brings along.
struct RestPlace {
  std::shared_ptr<MasterSession> session;
  std::shared_ptr<Logger> logger;
  comm::Ranks ranks;
  Json storage;  // where checkpoints go, as the master should know it; null: it need not
};

// The run that the cluster has started. All ranks, each on its own.
std::unique_ptr<engine::RunBackend> start_managed_run(const RestPlace &place,
                                                      const config::ClusterInfo &cluster);

struct UnmanagedRequest {
  // Which trial: this one, else the one with these names of the caller's own, else a new one.
  int64_t trial_id = 0;
  std::string external_experiment_id;  // empty: as `external_trial_id`
  std::string external_trial_id;

  // For a new experiment and trial.
  std::string name;
  Json config;   // object or null
  Json hparams;  // object or null
};

// Makes or finds experiment and trial, and begins the next run. The chief.
std::unique_ptr<engine::RunBackend> start_unmanaged_run(const RestPlace &place,
                                                        const UnmanagedRequest &request);

// On the other ranks, with what the chief's master has as info().
std::unique_ptr<engine::RunBackend> join_unmanaged_run(const RestPlace &place,
                                                       const engine::RunInfo &info);

}  // namespace det::master

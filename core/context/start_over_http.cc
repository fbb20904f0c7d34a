#include "core/context/start_over_http.h"

#include <chrono>
#include <thread>
#include <utility>

#include "core/base/command_line.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/context/trial_options.h"
#include "core/master/rest/connect.h"
#include "core/master/rest/meeting.h"
#include "core/master/rest/recover_rest_runs.h"
#include "core/master/rest/start_rest_run.h"
#include "core/search/single.h"

namespace det::context {

namespace {

void check_slots(const config::ClusterInfo &cluster, const comm::Ranks &ranks) {
  const size_t containers = cluster.container_addresses.size();
  if (ranks.size > 1 || (containers <= 1 && cluster.slot_ids.size() <= 1)) return;
  throw Error(Code::invalid, "starting in a task with " + std::to_string(containers) +
                                 " containers, this one of " +
                                 std::to_string(cluster.slot_ids.size()) +
                                 " slots: give det_core_options.distributed, so that each rank "
                                 "knows its part");
}

// Reports that wait from before go first: a new run fences them off for ever, so one that is ours
// to begin does not while the master cannot take them. On every rank, since each machine has its
// own.
void recover(const Place &place, bool begins_run, const std::shared_ptr<Logger> &logger) {
  constexpr int attempts = 5;
  for (int attempt = 1;; ++attempt) {
    try {
      master::recover_rest_runs(place.session, false, logger);
      return;
    } catch (const Error &e) {
      // What is damaged is not this run's trouble.
      if (!begins_run || !master::may_work_later(e))
        return logger->warning(std::string(e.what()) + "; `det sync` tries again");
      if (attempt == attempts)
        throw Error(e.code, "delivering what an earlier run left behind: " + std::string(e.what()),
                    e.os_errno, e.http_status);
      std::this_thread::sleep_for(std::chrono::milliseconds(100 << attempt));
    }
  }
}

// Gives it in the form that the master should know.
Json open_storage_of_trial(const CoreOptions &options, const std::shared_ptr<Logger> &logger,
                           Place &place) {
  const Json &config = place.cluster->trial->config;
  std::unique_ptr<storage::Storage> configured =
      storage_from_config(config, config::shared_mount(), logger);
  if (!options.checkpoint_storage.empty()) {
    place.storage = storage_from_option(options.checkpoint_storage, logger);
    place.tensorboard_storage = std::move(configured);
    return place.storage->config();
  }
  if (!configured)
    throw Error(Code::invalid,
                "starting the trial: neither its experiment's configuration nor "
                "det_core_options.checkpoint_storage says where checkpoints go");
  place.storage = std::move(configured);
  return config.at("checkpoint_storage");
}

// Newer masters want a directory of this machine called that.
Json as_directory(const Json &storage, codec::WireVersion version) {
  if (version < codec::WireVersion::v0_38 || storage.value("type", "") != "shared_fs")
    return storage;
  return {{"type", "directory"}, {"container_path", storage.at("host_path")}};
}

Json open_storage_of_user(const CoreOptions &options, const Json &config,
                          const std::shared_ptr<Logger> &logger, Place &place) {
  const codec::WireVersion version = place.session->version();
  if (!options.checkpoint_storage.empty()) {
    place.storage = storage_from_option(options.checkpoint_storage, logger);
    return as_directory(place.storage->config(), version);
  }
  place.storage = storage_from_config(config, std::nullopt, logger);
  if (place.storage) return place.storage->config();
  place.storage =
      storage::make_storage_from_uri((user_data_directory() / "checkpoints").string(), logger);
  // An older master takes none, or one that its cluster has.
  return version >= codec::WireVersion::v0_38 ? as_directory(place.storage->config(), version)
                                              : Json();
}

}  // namespace

void reach_cluster(const comm::Ranks &ranks, const std::shared_ptr<Logger> &logger, Place &place) {
  if (!place.cluster) place.cluster = config::read_cluster_info();
  if (!place.cluster || !place.cluster->trial)
    throw Error(Code::invalid, "starting: rank 0 is in a trial of the master " +
                                   place.location.url +
                                   ", but nothing here says so; start all "
                                   "ranks with the variables DET_* of their container");
  place.session = master::connect_to_task_master(*place.cluster, logger);
  if (ranks.local_rank == 0) master::meet_containers(*place.session, *place.cluster);
  check_slots(*place.cluster, ranks);
  recover(place, false, logger);
}

void reach_as_user(const std::shared_ptr<Logger> &logger, Place &place) {
  place.session = master::connect_as_user(place.location.url, logger);
  recover(place, true, logger);
}

Json start_in_cluster(const CoreOptions &options, const comm::Ranks &ranks,
                      const std::shared_ptr<Logger> &logger, Place &place) {
  const Json storage = open_storage_of_trial(options, logger, place);
  storage::require_usable(*place.storage);
  place.master = master::start_managed_run({place.session, logger, ranks, storage}, *place.cluster);
  return {{"trial_id", place.master->info().trial_id}, {"run_id", place.master->info().run_id}};
}

void join_in_cluster(const Json &ticket, const CoreOptions &options, const comm::Ranks &ranks,
                     const std::shared_ptr<Logger> &logger, Place &place) {
  const config::ClusterTrial &trial = *place.cluster->trial;
  if (ticket.at("trial_id") != trial.trial_id || ticket.at("run_id") != trial.run_id)
    throw Error(Code::invalid, "starting: rank 0 is in run " + ticket.at("run_id").dump() +
                                   " of trial " + ticket.at("trial_id").dump() +
                                   ", this rank in run " + std::to_string(trial.run_id) +
                                   " of trial " + std::to_string(trial.trial_id) + " (" +
                                   place.cluster->origin + "); start them all in one task");
  const Json storage = open_storage_of_trial(options, logger, place);
  place.master = master::start_managed_run({place.session, logger, ranks, storage}, *place.cluster);
}

Json start_unmanaged(const CoreOptions &options, const comm::Ranks &ranks,
                     const std::shared_ptr<Logger> &logger, Place &place) {
  TrialOptions trial = trial_options(options);
  for (const std::string &one : trial.overridden) logger->warning("starting: " + one);
  const Json storage = open_storage_of_user(options, trial.config, logger, place);
  storage::require_usable(*place.storage);
  if (trial.hparams.is_null() && trial.config.is_object())
    trial.hparams = search::constant_hparams(trial.config);
  master::UnmanagedRequest request{.trial_id = trial.trial_id,
                                   .external_experiment_id = trial.external_experiment_id,
                                   .external_trial_id = trial.external_id,
                                   .name = trial.name.empty() ? program_name() : trial.name,
                                   .config = trial.config,
                                   .hparams = trial.hparams};
  place.master = master::start_unmanaged_run({place.session, logger, ranks, storage}, request);
  // The configuration there is the master's, with what that has added.
  tell_ignored(trial, place.master->info(), false, *logger);
  return {{"run", engine::to_json(place.master->info())},
          {"announced", storage},
          {"storage", place.storage->config()}};
}

void join_unmanaged(const Json &ticket, const CoreOptions &options, const comm::Ranks &ranks,
                    const std::shared_ptr<Logger> &logger, Place &place) {
  const engine::RunInfo run = engine::run_info_from_json(ticket.at("run"));
  place.storage = storage_of_chief(ticket.at("storage"), options, run.config, logger);
  place.master =
      master::join_unmanaged_run({place.session, logger, ranks, ticket.at("announced")}, run);
}

}  // namespace det::context

#include "core/context/start/start.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/base/process/command_line.h"
#include "core/base/process/process.h"
#include "core/comm/communicator.h"
#include "core/config/experiment/experiment_config.h"
#include "core/context/checkpoint/save_stage.h"
#include "core/context/start/trial_options.h"
#include "core/engine/runs/joined_run.h"
#include "core/engine/runs/live_run.h"
#include "core/engine/runs/recover_runs.h"
#include "core/master/rest/connect.h"
#include "core/master/rest/container_rendezvous.h"
#include "core/master/rest/recover_rest_runs.h"
#include "core/master/rest/start_rest_run.h"
#include "core/search/single.h"

namespace det::context {

namespace {

// In an embedded store: on the chief, which gives the ticket for the other ranks, and on these.

// Ranks that are threads need no launcher.
void set_command(engine::RunRequest &request, const std::vector<engine::RankProcess> &workers) {
  const bool is_one_process = std::ranges::all_of(
      workers, [](const auto &worker) { return worker.process.pid == getpid(); });
  const std::optional<std::string> launcher =
      is_one_process ? std::nullopt : launcher_command_line();
  request.command = launcher ? *launcher : command_line();
  request.command_starts_all = launcher || is_one_process;
}

// Whoever starts a program again after a change wonders why nothing is different.
void tell_continued(const TrialOptions &given, engine::RunBackend &master, Logger &logger) {
  tell_ignored(given, master.info(), true, logger);
  const engine::SearchOperation operation = master.operations().current();
  if (operation.completed)
    logger.warning("continuing trial " + std::to_string(master.info().trial_id) +
                   ": it has completed its length of " + std::to_string(operation.length) +
                   ", so there is nothing left to train; raise searcher.max_length to train on, or "
                   "give another external_id for a new trial");
}

Json start_on_store(const CoreOptions &options, std::vector<engine::RankProcess> workers,
                    const std::shared_ptr<Logger> &logger, Place &place) {
  const TrialOptions trial = trial_options(options);
  for (const std::string &one : trial.overridden) logger->warning("starting: " + one);
  engine::RunRequest request;
  request.store_directory = place.location.store_directory();
  request.trial_id = trial.trial_id;
  request.run_id = trial.run_id;
  request.external_id = trial.external_id;
  request.name = trial.name.empty() ? program_name() : trial.name;
  request.config = trial.config;
  request.hparams_given = trial.hparams.is_object();
  request.hparams = trial.hparams;
  set_command(request, workers);
  std::error_code gone;
  request.directory = std::filesystem::current_path(gone);
  request.workers = std::move(workers);
  request.log = logger;
  request.wait = options.run_wait;

  // What the arguments say is checked before a run exists.
  if (request.config.is_object()) config::check_written_config(request.config, trial.config_origin);
  place.storage = options.checkpoint_storage.empty()
                      ? storage_from_config(request.config, std::nullopt, logger)
                      : storage_from_option(options.checkpoint_storage, logger);
  try {
    engine::recover_runs(request.store_directory, *logger);
  } catch (const Error &e) {
    logger->warning(std::string(e.what()) + "; `det sync` tries again");  // not this run's trouble
  }
  request.accept = [&](const Json &config) {
    if (!place.storage) place.storage = storage_from_config(config, std::nullopt, logger);
    if (!place.storage)
      place.storage =
          storage::make_storage(config::store_storage(place.location.home), std::nullopt, logger);
    storage::require_usable(*place.storage);
  };
  place.master = engine::start_live_run(request);
  const engine::RunInfo &run = place.master->info();
  if (trial.run_id == 0 && run.run_id > 1) tell_continued(trial, *place.master, *logger);
  const engine::RunTicket ticket{request.store_directory, place.master->journal_id(),
                                 ProcessIdentity::current(), run};
  return {{"home", place.location.home.string()},
          {"storage", place.storage->config()},
          {"run", engine::to_json(ticket)}};
}

void join_on_store(const Json &ticket, const CoreOptions &options, const comm::Ranks &ranks,
                   const std::shared_ptr<Logger> &logger, Place &place) {
  place.location.home = ticket.at("home").get<std::string>();
  place.master =
      engine::join_live_run(engine::ticket_from_json(ticket.at("run")), ranks.rank, logger);
  place.storage =
      storage_of_chief(ticket.at("storage"), options, place.master->info().config, logger);
  const std::string unreachable = place.master->unreachable();
  if (unreachable.empty()) return;
  if (options.preempt_mode == PreemptMode::workers_ask_master)
    throw Error(Code::unsupported, "starting in mode DET_PREEMPT_MODE_WORKERS_ASK_MASTER: " +
                                       unreachable + ", or use DET_PREEMPT_MODE_WORKERS_ASK_CHIEF");
  logger->info(unreachable);
}

// On a master over HTTP: a run that its cluster has scheduled, or one of this process alone.

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

void reach_cluster(const comm::Ranks &ranks, const std::shared_ptr<Logger> &logger, Place &place) {
  if (!place.cluster) place.cluster = config::read_cluster_info();
  if (!place.cluster || !place.cluster->trial)
    throw Error(Code::invalid, "starting: rank 0 is in a trial of the master " +
                                   place.location.url +
                                   ", but nothing here says so; start all "
                                   "ranks with the variables DET_* of their container");
  place.session = master::connect_to_task_master(*place.cluster, logger);
  if (ranks.local_rank == 0) master::rendezvous(*place.session, *place.cluster);
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

const char *mode_name(PreemptMode mode) {
  switch (mode) {
    case PreemptMode::workers_ask_chief:
      return "DET_PREEMPT_MODE_WORKERS_ASK_CHIEF";
    case PreemptMode::chief_only:
      return "DET_PREEMPT_MODE_CHIEF_ONLY";
    case PreemptMode::workers_ask_master:
      return "DET_PREEMPT_MODE_WORKERS_ASK_MASTER";
  }
  return "unknown";
}

Json parse_introduction(const std::vector<std::string> &introductions, size_t rank) {
  return parse_json_object(introductions[rank], "the introduction of rank " + std::to_string(rank));
}

std::vector<engine::RankProcess> workers_of(const std::vector<std::string> &introductions) {
  std::vector<engine::RankProcess> workers;
  for (size_t rank = 1; rank < introductions.size(); ++rank) {
    const Json worker = parse_introduction(introductions, rank);
    workers.push_back({worker.at("node"), ProcessIdentity::from_json(worker.at("process"))});
  }
  return workers;
}

enum class Kind : char { store = 's', managed = 'm', unmanaged = 'u' };

Kind kind_in(const std::string &choice) { return static_cast<Kind>(choice.at(0)); }

Json begin_run(Kind kind, const CoreOptions &options, const std::vector<std::string> &introductions,
               const comm::Ranks &ranks, const std::shared_ptr<Logger> &logger, Place &place) {
  switch (kind) {
    case Kind::managed:
      return start_in_cluster(options, ranks, logger, place);
    case Kind::unmanaged:
      return start_unmanaged(options, ranks, logger, place);
    default:
      return start_on_store(options, workers_of(introductions), logger, place);
  }
}

void join(Kind kind, const Json &told, const CoreOptions &options, const comm::Ranks &ranks,
          const std::shared_ptr<Logger> &logger, Place &place) {
  switch (kind) {
    case Kind::managed:
      return join_in_cluster(told, options, ranks, logger, place);
    case Kind::unmanaged:
      return join_unmanaged(told, options, ranks, logger, place);
    default:
      return join_on_store(told, options, ranks, logger, place);
  }
}

// Of a ticket: what this run begins from was only finished by its start.
constexpr const char *checkpoint_key = "latest_checkpoint", *steps_key = "steps_completed";

[[noreturn]] void refuse_collection() {
  throw Error(Code::unsupported,
              "starting: this task is no trial, it is there to collect checkpoints "
              "(CHECKPOINT_GC); let DET_PYTHON_EXECUTABLE name `det`, which does that, and the "
              "experiment's entrypoint name this program");
}

// An option decides, else the cluster that started this task, else the environment.
Kind choose(const CoreOptions &options, Place &place) {
  if (options.master.empty()) {
    place.cluster = config::read_cluster_info();
    // Other tasks, such as notebooks, are no trials to their master; nobody wants one there.
    if (place.cluster && place.cluster->task_type == "CHECKPOINT_GC") refuse_collection();
    if (place.cluster && !place.cluster->trial) place.cluster.reset();
    if (place.cluster) {
      place.location = {.embedded = false, .home = {}, .url = place.cluster->master_url};
      return Kind::managed;
    }
  }
  place.location = config::locate_master(options.master);
  return place.location.embedded ? Kind::store : Kind::unmanaged;
}

}  // namespace

std::string introduction(const CoreOptions &options, const comm::Ranks &ranks) {
  if (ranks.size == 1) return {};
  return to_wire({{"node", ranks.cross_rank},
                  {"process", ProcessIdentity::current().to_json()},
                  {"preempt_mode", mode_name(options.preempt_mode)}});
}

void check_agreement(const std::vector<std::string> &introductions) {
  if (introductions.size() == 1) return;
  const auto mode_of = [&](size_t rank) {
    return parse_introduction(introductions, rank).at("preempt_mode").get<std::string>();
  };
  const std::string chief = mode_of(0);
  for (size_t rank = 1; rank < introductions.size(); ++rank)
    if (const std::string other = mode_of(rank); other != chief)
      throw Error(Code::invalid, "starting: preempt_mode is " + chief + " on rank 0 and " + other +
                                     " on rank " + std::to_string(rank) +
                                     "; give the same to all ranks");
}

std::string choose_master(const CoreOptions &options, Place &place) {
  const Kind kind = choose(options, place);
  return static_cast<char>(kind) + place.location.url;
}

void reach_master(const std::string &choice, const comm::Ranks &ranks,
                  const std::shared_ptr<Logger> &logger, Place &place) {
  place.location.embedded = kind_in(choice) == Kind::store;
  place.location.url = choice.substr(1);
  if (kind_in(choice) == Kind::managed) reach_cluster(ranks, logger, place);
  if (kind_in(choice) == Kind::unmanaged) reach_as_user(logger, place);
}

std::string start_run(const std::string &choice, const CoreOptions &options,
                      const std::vector<std::string> &introductions, const comm::Ranks &ranks,
                      const std::shared_ptr<Logger> &logger, Place &place) {
  Json ticket = begin_run(kind_in(choice), options, introductions, ranks, logger, place);
  const std::optional<engine::CheckpointEntry> finished =
      finish_sealed_saves(*place.storage, *place.master, logger);
  if (finished && finished->steps >= place.master->info().steps_completed) {
    place.master->begin_from(*finished);
    ticket[checkpoint_key] = finished->id;
    ticket[steps_key] = finished->steps;
  }
  return to_wire(ticket);
}

void join_run(const std::string &choice, const std::string &ticket, const CoreOptions &options,
              const comm::Ranks &ranks, const std::shared_ptr<Logger> &logger, Place &place) {
  const Json told = parse_json_object(ticket, "rank 0's facts of the run");
  join(kind_in(choice), told, options, ranks, logger, place);
  if (told.contains(checkpoint_key))
    place.master->begin_from({told.at(checkpoint_key), told.at(steps_key)});
}

}  // namespace det::context

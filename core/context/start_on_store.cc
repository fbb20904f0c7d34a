#include "core/context/start_on_store.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/command_line.h"
#include "core/base/error.h"
#include "core/config/experiment/experiment_config.h"
#include "core/context/trial_options.h"
#include "core/engine/recover_runs.h"

namespace det::context {

namespace {

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
void tell_continued(const TrialOptions &given, master::Master &master, Logger &logger) {
  tell_ignored(given, master.info(), true, logger);
  const engine::SearchOperation operation = master.current_operation();
  if (operation.completed)
    logger.warning("continuing trial " + std::to_string(master.info().trial_id) +
                   ": it has completed its length of " + std::to_string(operation.length) +
                   ", so there is nothing left to train; raise searcher.max_length to train on, or "
                   "give another external_id for a new trial");
}

}  // namespace

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
  place.master = master::start_embedded_run(request);
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
      master::join_embedded_run(engine::ticket_from_json(ticket.at("run")), ranks.rank, logger);
  place.storage =
      storage_of_chief(ticket.at("storage"), options, place.master->info().config, logger);
  const std::string unreachable = place.master->unreachable();
  if (unreachable.empty()) return;
  if (options.preempt_mode == PreemptMode::workers_ask_master)
    throw Error(Code::unsupported, "starting in mode DET_PREEMPT_MODE_WORKERS_ASK_MASTER: " +
                                       unreachable + ", or use DET_PREEMPT_MODE_WORKERS_ASK_CHIEF");
  logger->info(unreachable);
}

}  // namespace det::context

#include "core/engine/runs/start_run.h"

#include <unistd.h>

#include <random>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text/utf8.h"
#include "core/base/uuid.h"
#include "core/config/secrets.h"
#include "core/engine/checkpoints/checkpoint_records.h"
#include "core/engine/experiment.h"
#include "core/engine/runs/lifecycle.h"
#include "core/engine/store_places.h"
#include "core/journal/run_directory.h"
#include "core/search/single.h"

namespace det::engine {

namespace {

Json object_or_empty(const Json &value) { return value.is_object() ? value : Json::object(); }

int64_t seed_of(const Json &config) {
  const Json reproducibility = config.value("reproducibility", Json());
  const Json seed =
      reproducibility.is_object() ? reproducibility.value("experiment_seed", Json()) : Json();
  if (seed.is_null()) return static_cast<int64_t>(std::random_device{}() & 0x7fffffffU);
  if (seed.is_number_integer() && seed >= 0 && seed <= UINT32_MAX) return seed.get<int64_t>();
  throw Error(Code::invalid, "reading the configuration: reproducibility.experiment_seed is " +
                                 to_wire(seed) + "; give a whole number from 0 to 4294967295");
}

std::string name_of(const RunRequest &request, const Json &config) {
  if (!request.name.empty()) return request.name;
  if (const Json name = config.value("name", Json()); name.is_string())
    return name.get<std::string>();
  const std::string program = request.command.substr(0, request.command.find(' '));
  const std::string base = std::filesystem::path(program).filename().string();
  return base.empty() ? "experiment" : base;
}

int64_t make_trial(Database &store, const RunRequest &request) {
  const Json config = object_or_empty(request.config);
  const Json hparams =
      request.hparams_given ? object_or_empty(request.hparams) : search::constant_hparams(config);
  const uint64_t length = search::single_length(config);
  const int64_t seed = seed_of(config);
  Json recorded = config;
  const Json secrets = config::take_secrets(recorded);
  store.run(
      "INSERT INTO experiments (name, state, config, created, tags, source)"
      " VALUES (?, ?, ?, ?, ?, ?)",
      name_of(request, config), state::active, to_wire(recorded_config(store, recorded)), now_us(),
      to_wire(labels_of(config)), source_of(store, config));
  const int64_t experiment_id = store.last_id();
  keep_secrets(store, experiment_id, secrets);
  store.run(
      "INSERT INTO trials (experiment_id, external_id, state, hparams, seed, task_id, created)"
      " VALUES (?, ?, ?, ?, ?, ?, ?)",
      experiment_id,
      request.external_id.empty() ? std::nullopt : std::optional(request.external_id),
      state::active, to_wire(hparams), seed, std::to_string(experiment_id) + "." + make_uuid(),
      now_us());
  const int64_t trial_id = store.last_id();
  store.run("INSERT INTO operations (trial_id, number, length) VALUES (?, 1, ?)", trial_id, length);
  return trial_id;
}

std::optional<int64_t> find_trial(Database &store, const RunRequest &request) {
  if (request.trial_id != 0) {
    if (store.query("SELECT 1 FROM trials WHERE id=?", request.trial_id).next())
      return request.trial_id;
    throw Error(Code::not_found, "starting trial " + std::to_string(request.trial_id) +
                                     ": not found in '" + store.path().string() +
                                     "'; `det ls` shows the ones there are");
  }
  if (request.external_id.empty()) return std::nullopt;
  Query trial = store.query("SELECT id FROM trials WHERE external_id=?", request.external_id);
  return trial.next() ? std::optional(trial.integer(0)) : std::nullopt;
}

// Of two runs of a trial at once, each would overwrite what the other saves.
void require_no_live_run(Database &store, const RunRequest &request, int64_t trial_id) {
  const std::optional<RunRecord> run = latest_run(store, trial_id);
  if (!run || run->exit) return;
  if (run_lives(request.store_directory, *run)) {
    const std::string id = std::to_string(trial_id);
    const bool is_local = run->process.is_local();
    if (is_local && run->process.pid == getpid())
      throw Error(Code::state,
                  "starting trial " + id + ": this process already runs it; close that core first")
          .with_retry(true);
    throw Error(Code::state,
                "starting trial " + id + ": it is being run by process " +
                    std::to_string(run->process.pid) + " on host " + run->process.host +
                    (is_local ? "; wait for it, or `det kill " + id + "`"
                              : ", on another machine or in another container; wait for it, or "
                                "run `det kill " +
                                    id + "` there"))
        .with_retry(true);
  }
  record_run_end(store, trial_id, run->run_id, RunExit::died);
  if (request.log)
    request.log->warning("run " + std::to_string(run->run_id) + " of trial " +
                         std::to_string(trial_id) + " died without closing");
}

// Two copies of one program that have one name for their trial go on with each other's work.
void tell_of_other_directory(Database &store, const RunRequest &request, int64_t trial_id) {
  if (request.trial_id != 0 || request.directory.empty() || !request.log) return;
  const std::optional<RunRecord> before = latest_run(store, trial_id);
  if (!before || before->directory.empty() || request.directory == before->directory) return;
  request.log->warning("continuing trial " + std::to_string(trial_id) + " ('" +
                       request.external_id + "'), which was run in '" + before->directory +
                       "' before, in '" + request.directory.string() +
                       "'; if these are two different programs, give each its own external_id, as "
                       "with the variable DET_EXTERNAL_ID");
}

// What is archived or being deleted is out of the way on purpose.
void require_wanted(Database &store, int64_t trial_id) {
  Query row = store.query(
      "SELECT experiments.id, experiments.state, experiments.archived FROM trials"
      " JOIN experiments ON experiments.id=experiment_id WHERE trials.id=?",
      trial_id);
  if (!row.next()) return;
  const std::string tried = "starting trial " + std::to_string(trial_id) + ": its experiment ";
  const std::string id = row.text(0);
  if (row.view(1) == state::deleting || row.view(1) == state::delete_failed)
    throw Error(Code::state, tried + id +
                                 " is being deleted; delete it again to end that, or give "
                                 "another external id");
  if (row.integer(2) != 0)
    throw Error(Code::state, tried + id +
                                 " is archived; take it out of the archive first, or give "
                                 "another external id");
}

// A longer length in the configuration of this start is more work for the same trial.
void extend(Database &store, const Json &given, int64_t trial_id) {
  if (!given.is_object() || !given.contains("searcher")) return;
  const uint64_t length = search::single_length(given);
  Query found = store.query(
      "SELECT number, length, completed IS NOT NULL, experiments.id, config FROM operations"
      " JOIN trials ON trials.id=trial_id JOIN experiments ON experiments.id=experiment_id"
      " WHERE trial_id=? ORDER BY number DESC LIMIT 1",
      trial_id);
  if (!found.next() || length <= static_cast<uint64_t>(found.integer(1))) return;
  const int64_t number = found.integer(0);
  if (found.integer(2) != 0)
    store.run("INSERT INTO operations (trial_id, number, length) VALUES (?, ?, ?)", trial_id,
              number + 1, length);
  else
    store.run("UPDATE operations SET length=? WHERE trial_id=? AND number=?", length, trial_id,
              number);
  Json config = parse_json_object(found.view(4), "the stored configuration");
  config["searcher"]["max_length"] = given.at("searcher").at("max_length");
  store.run("UPDATE experiments SET config=? WHERE id=?", to_wire(config), found.integer(3));
}

// Keys change in the life of a trial: those of this start count, beside the others that it has.
void renew_secrets(Database &store, Json given, int64_t trial_id) {
  const Json secrets = config::take_secrets(given);
  if (secrets.empty()) return;
  Query trial = store.query("SELECT experiment_id FROM trials WHERE id=?", trial_id);
  if (!trial.next()) return;
  Json all = kept_secrets(store.path().parent_path(), trial.integer(0));
  all.merge_patch(secrets);
  keep_secrets(store, trial.integer(0), all);
}

int64_t next_run(Database &store, int64_t trial_id) {
  store.run("UPDATE trials SET last_run=last_run+1, early_exit=NULL WHERE id=?", trial_id);
  Query trial = store.query("SELECT last_run FROM trials WHERE id=?", trial_id);
  trial.next();
  return trial.integer(0);
}

Json config_of(Database &store, int64_t trial_id) {
  Query experiment = store.query(
      "SELECT experiments.id, config FROM trials JOIN experiments ON experiments.id=experiment_id"
      " WHERE trials.id=?",
      trial_id);
  experiment.next();
  return read_config(store, experiment.integer(0), experiment.view(1));
}

// All but its configuration. Of its next run, where no run is given.
RunInfo read_info(Database &store, int64_t trial_id, std::optional<int64_t> run_id = {}) {
  Query trial = store.query(
      "SELECT experiment_id, seed, hparams, task_id,"
      " (SELECT value FROM meta WHERE key='cluster_id'), launch, last_run"
      " FROM trials JOIN experiments ON experiments.id=experiment_id WHERE trials.id=?",
      trial_id);
  if (!trial.next())
    throw Error(Code::corrupt, "reading trial " + std::to_string(trial_id) + " in '" +
                                   store.path().string() + "': it has no experiment");
  RunInfo info;
  info.experiment_id = trial.integer(0);
  info.trial_id = trial_id;
  info.run_id = run_id.value_or(trial.integer(6) + 1);
  info.trial_seed = trial.integer(1);
  info.hparams = parse_json_object(trial.view(2), "the stored hyperparameters");
  info.task_id = trial.text(3);
  info.allocation_id = info.task_id + "." + std::to_string(info.run_id);
  info.cluster_id = trial.text(4);

  if (const auto own = latest_checkpoint(store, trial_id)) {
    info.latest_checkpoint = own->uuid;
    info.steps_completed = own->steps;
  } else if (!trial.is_null(5)) {
    // Another trial's, whose steps are not its own.
    const Json launch = parse_json_object(trial.view(5), "how trials are started");
    if (const Json warm = launch.value("warm_start", Json()); warm.is_string())
      info.latest_checkpoint = warm.get<std::string>();
  }
  return info;
}

struct OwnRun {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  bool supervised = false;
};

void insert_run(Database &store, const RunInfo &info, const std::string &journal_id,
                const std::string &process, const std::string &command,
                const std::optional<std::string> &leader) {
  store.run(
      "INSERT INTO runs (trial_id, run_id, allocation_id, journal_id, process, command, started,"
      " leader) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      info.trial_id, info.run_id, info.allocation_id, journal_id, process, command, now_us(),
      leader);
}

// Whatever its environment says, a process that was started for one trial is none of another's.
void require_own_session(Database &store, int64_t trial_id, const std::string &tried) {
  const std::string leader = to_wire(ProcessIdentity::of(getsid(0)).to_json());
  Query run =
      store.query("SELECT trial_id FROM runs WHERE leader=? AND trial_id<>?", leader, trial_id);
  if (run.next())
    throw Error(Code::access, tried + "this process was started for trial " +
                                  std::to_string(run.integer(0)) +
                                  "; leave DET_TRIAL_ID and the trial id of the options alone");
}

// The run that the supervisor has made for this process. It has no journal before it is taken up.
OwnRun supervised_run(Database &store, const RunRequest &request, int64_t trial_id) {
  const std::string tried = "starting trial " + std::to_string(trial_id) + ": ";
  require_own_session(store, trial_id, tried);
  Query run = store.query(
      "SELECT journal_id='' AND exit IS NULL AND last_run=run_id, experiment_id FROM trials"
      " LEFT JOIN runs ON trial_id=trials.id AND run_id=? WHERE trials.id=?",
      request.run_id, trial_id);
  run.next();
  if (!run.is_null(0) && run.integer(0) != 0) return {trial_id, request.run_id, true};
  if (!run.is_null(0))
    throw Error(Code::state, tried + "its run " + std::to_string(request.run_id) +
                                 " was started before; a process that `det run` starts calls "
                                 "det_core_init() once");
  const std::string experiment = std::to_string(run.integer(1));
  throw Error(Code::state,
              tried + "it belongs to experiment " + experiment +
                  ", whose trials `det run` starts; resume it with `det run --resume " +
                  experiment + "`");
}

OwnRun own_run(Database &store, const RunRequest &request) {
  const std::optional<int64_t> found = find_trial(store, request);
  if (found && supervised_experiment_of(store, *found))
    return supervised_run(store, request, *found);
  if (found) {
    require_wanted(store, *found);
    require_no_live_run(store, request, *found);
    tell_of_other_directory(store, request, *found);
    extend(store, request.config, *found);
    renew_secrets(store, request.config, *found);
  }
  const int64_t trial_id = found ? *found : make_trial(store, request);
  // Whoever starts a paused or ended trial wants it to go on.
  set_trial_state(store, trial_id, state::active);
  return {trial_id, next_run(store, trial_id), false};
}

}  // namespace

namespace {

StartedRun start_now(Database &store, const RunRequest &request) {
  // A power cut ends the run as well; what it then has made durable carries this with it.
  Transaction transaction(store, Durability::relaxed);
  const auto [trial_id, run_id, supervised] = own_run(store, request);
  RunInfo info = read_info(store, trial_id, run_id);
  info.config = config_of(store, trial_id);
  const std::string journal_id = make_uuid();
  const RankProcess chief{0, ProcessIdentity::current()};
  Json described = chief.process.to_json();
  if (is_utf8(request.directory.string())) described["directory"] = request.directory.string();
  if (!request.workers.empty()) described["command_starts_all"] = request.command_starts_all;
  const std::string process = to_wire(described);
  if (supervised)
    store.run("UPDATE runs SET journal_id=?, process=?, command=? WHERE trial_id=? AND run_id=?",
              journal_id, process, request.command, trial_id, run_id);
  else insert_run(store, info, journal_id, process, request.command, std::nullopt);
  if (!request.workers.empty()) record_rank(store, trial_id, run_id, 0, chief);
  int rank = 0;
  for (const RankProcess &worker : request.workers)
    record_rank(store, trial_id, run_id, ++rank, worker);
  OwnerLock owner = journal::make_run_directory(
      request.store_directory, {trial_id, run_id, 0, journal_id}, {.with_signal = true});
  try {
    transaction.commit();
  } catch (...) {
    journal::remove_run_directory(
        journal::run_directory(request.store_directory, trial_id, run_id));
    throw;
  }
  return {std::move(info), 0, request.workers.empty(), supervised, journal_id, std::move(owner)};
}

}  // namespace

StartedRun start_run(Database &store, const RunRequest &request) {
  if (request.accept) {
    const std::optional<int64_t> found = find_trial(store, request);
    request.accept(found ? config_of(store, *found) : request.config);
  }
  constexpr std::chrono::milliseconds between_looks{50};
  const auto end = std::chrono::steady_clock::now() + request.wait;
  bool told = false;
  for (;;) try {
      return start_now(store, request);
    } catch (const Error &error) {
      if (error.code != Code::state || error.retry != true ||
          std::chrono::steady_clock::now() >= end)
        throw;
      if (request.log && !std::exchange(told, true))
        request.log->info(std::string(error.what()) + "; waiting for its end");
      std::this_thread::sleep_for(between_looks);
    }
}

RunInfo describe_next_run(Database &store, int64_t trial_id) {
  const Reading one_moment(store);
  return read_info(store, trial_id);
}

void record_next_run(Database &store, const RunInfo &run, const std::string &leader) {
  store.run("UPDATE trials SET last_run=?, early_exit=NULL WHERE id=? AND last_run=?", run.run_id,
            run.trial_id, run.run_id - 1);
  if (store.changes() == 0)
    throw Error(Code::conflict, "starting trial " + std::to_string(run.trial_id) +
                                    ": another process has started it");
  insert_run(store, run, "", leader, "", leader);
}

}  // namespace det::engine

// How the ranks of a job come to one run. Each says who it is; the chief finds out which master it
// is, all reach it, the chief starts the run and hands out a ticket, and the others join with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/log/log.h"
#include "core/base/log/log_queue.h"
#include "core/comm/communicator.h"
#include "core/config/cluster_info.h"
#include "core/config/master_location.h"
#include "core/context/preempt.h"
#include "core/engine/runs/run_backend.h"
#include "core/master/rest/master_session.h"
#include "core/storage/storage.h"
#include "core/tensorboard/files.h"

namespace det::context {

// What a core is started with. As det_core_options; empty texts and 0 stand for the defaults named
// there.
struct CoreOptions {
  // Of the job: those of the chief count.
  std::string master;
  int64_t trial_id = 0;
  std::string external_id, external_experiment_id, name, config_text, hparams_text,
      checkpoint_storage;
  // The same on all ranks.
  PreemptMode preempt_mode = PreemptMode::workers_ask_chief;
  // Each rank's own.
  tensorboard::TensorboardMode tensorboard_mode = tensorboard::TensorboardMode::automatic;
  std::vector<int> preempt_signals;
  int stack_trace_signal = 0;
  uint64_t journal_limit = uint64_t{1} << 30U;
  std::chrono::milliseconds journal_wait{10'000};  // for room in the journal
  // How long closing waits for the master to take the last reports.
  std::chrono::milliseconds close_limit{60'000};
  std::chrono::milliseconds run_wait{0};  // for the end of the run before
  bool durable_reports = false;           // what was reported survives a power cut
  bool close_at_end = false;              // of the process, when the caller did not
  bool capture_output = false;            // into the trial's log
  LogCallback log;
  std::shared_ptr<LogQueue> log_queue;  // instead
  LogLevel log_level = LogLevel::warning;
};

// Where a run is, on this rank.
struct Place {
  config::MasterLocation location;
  std::optional<config::ClusterInfo> cluster;      // of a trial that a cluster started
  std::shared_ptr<master::MasterSession> session;  // with a master over HTTP
  std::unique_ptr<storage::Storage> storage;
  std::shared_ptr<storage::Storage> tensorboard_storage;  // of the configuration, where another
  std::unique_ptr<engine::RunBackend> master;
};

// What a rank says of itself before anything is started.
std::string introduction(const CoreOptions &options, const comm::Ranks &ranks);

// Throws Code::invalid, on every rank the same, when options differ that must not.
void check_agreement(const std::vector<std::string> &introductions);

// On the chief. Gives the choice for all ranks.
std::string choose_master(const CoreOptions &options, Place &place);

// On every rank: a session with a master over HTTP. The containers of a cluster meet here.
void reach_master(const std::string &choice, const comm::Ranks &ranks,
                  const std::shared_ptr<Logger> &logger, Place &place);

// On the chief: recovers what was left behind and starts the run. `place` has it as soon as there
// is one, so that whoever fails afterwards can end it. Gives the ticket for the other ranks.
std::string start_run(const std::string &choice, const CoreOptions &options,
                      const std::vector<std::string> &introductions, const comm::Ranks &ranks,
                      const std::shared_ptr<Logger> &logger, Place &place);

// On the others.
void join_run(const std::string &choice, const std::string &ticket, const CoreOptions &options,
              const comm::Ranks &ranks, const std::shared_ptr<Logger> &logger, Place &place);

}  // namespace det::context

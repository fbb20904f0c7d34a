// What a core is started with.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/base/log_queue.h"
#include "core/context/preempt.h"
#include "core/tensorboard/files.h"

namespace det::context {

// As det_core_options; empty texts and 0 stand for the defaults named there.
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

}  // namespace det::context

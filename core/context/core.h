// One training process from start to end: makes the parts, starts them, and takes them down in an
// order that loses nothing. The one place that knows which master and which storage it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/comm/communicator.h"
#include "core/config/location.h"
#include "core/context/checkpoint.h"
#include "core/context/gate.h"
#include "core/context/info.h"
#include "core/context/preempt.h"
#include "core/context/profiler.h"
#include "core/context/searcher.h"
#include "core/context/signals.h"
#include "core/context/train.h"
#include "core/master/master.h"
#include "core/metrics/shipper.h"
#include "core/metrics/spool.h"
#include "core/storage/storage.h"
#include "core/tensorboard/event_writer.h"
#include "core/tensorboard/files.h"

namespace det {

// As det_core_options; empty texts and 0 stand for the defaults named there.
struct CoreOptions {
  std::string master;
  int64_t trial_id = 0;
  std::string external_id, name, config_text, hparams_text, checkpoint_storage;
  Communicator *communicator = nullptr;  // borrowed
  PreemptMode preempt_mode = PreemptMode::workers_ask_chief;
  TensorboardMode tensorboard_mode = TensorboardMode::automatic;
  std::vector<int> preempt_signals;
  int stack_trace_signal = 0;
  uint64_t spool_limit = uint64_t{1} << 30U;
  int spool_wait_ms = 10'000;
  // How long closing waits for the master to take the last reports.
  std::chrono::milliseconds close_limit{60'000};
  Logger::Sink log;
  LogLevel log_level = LogLevel::warning;
};

class Core {
 public:
  static std::shared_ptr<Core> start(const CoreOptions &options);
  ~Core();

  // Every step is done even when one fails; throws the first failure. Repeats do nothing.
  void close(RunEnd how);
  bool in_child() const { return gate_.in_child(); }

  const Info &info() const { return *info_; }
  Logger &logger() { return *logger_; }
  Communicator &communicator() { return *communicator_; }
  CheckpointContext &checkpoint() { return *checkpoint_; }
  PreemptContext &preempt() { return *preempt_; }
  TrainContext &train() { return *train_; }
  SearcherContext &searcher() { return *searcher_; }
  ProfilerContext &profiler() { return *profiler_; }

 private:
  explicit Core(const CoreOptions &options);
  void open_master(const CoreOptions &options);
  void open_storage(const CoreOptions &options);
  void open_journal(const CoreOptions &options);

  const std::chrono::milliseconds close_limit_;

  // In the order of making; taken down in the opposite one.
  Gate gate_;
  std::shared_ptr<Logger> logger_;
  std::unique_ptr<Communicator> own_communicator_;
  Communicator *communicator_;
  MasterLocation location_;
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<Master> master_;
  std::unique_ptr<Info> info_;
  std::shared_ptr<TensorboardFiles> tensorboard_;
  std::unique_ptr<EventWriter> events_;
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<Shipper> shipper_;
  std::unique_ptr<TrainContext> train_;
  std::unique_ptr<CheckpointContext> checkpoint_;
  std::unique_ptr<SearcherContext> searcher_;
  std::unique_ptr<ProfilerContext> profiler_;
  std::unique_ptr<PreemptContext> preempt_;
  std::unique_ptr<StackTraceHook> stack_trace_;
};

}  // namespace det

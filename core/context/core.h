// One training process from start to end: makes the parts, starts them, and takes them down in an
// order that loses nothing. A third of its functions lend one part each.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/log/log.h"
#include "core/comm/communicator.h"
#include "core/context/checkpoint/checkpoint_context.h"
#include "core/context/info.h"
#include "core/context/lifetime.h"
#include "core/context/preempt.h"
#include "core/context/process/end_watch.h"
#include "core/context/process/output.h"
#include "core/context/process/signals.h"
#include "core/context/profiler.h"
#include "core/context/searcher.h"
#include "core/context/start/start.h"
#include "core/context/tensorboard.h"
#include "core/context/train.h"
#include "core/journal/shipper.h"
#include "core/journal/spool.h"
#include "core/profiler/regions/regions.h"
#include "core/tensorboard/event_file.h"
#include "core/tensorboard/event_queue.h"
#include "core/tensorboard/event_writer.h"
#include "core/tensorboard/files.h"
#include "core/tensorboard/uploader.h"

namespace det::context {

class Core {
 public:
  // All ranks of `communicator` (borrowed; null: one process) in step: an error on one of them,
  // reading its options included, is an error on all, and no run goes on.
  static std::shared_ptr<Core> start(comm::Communicator *communicator,
                                     const std::function<CoreOptions()> &read_options);
  static std::shared_ptr<Core> start(const CoreOptions &options,
                                     comm::Communicator *communicator = nullptr) {
    return start(communicator, [&options] { return options; });
  }
  ~Core();

  // Every step is done even when one fails; throws the first failure. A repeat ends the run, as the
  // first one was to, where there was no memory for that; else it does nothing.
  void close(engine::RunEnd how) { close(how, close_limit_, std::nullopt); }
  // What the process should leave with; engine::exit_preempted where it was told to stop before its
  // end.
  int exit_status();
  bool in_child() const { return lifetime_.in_child(); }
  void check_process() const {
    if (lifetime_.in_child()) lifetime_.check();
  }

  const Info &info() const { return *info_; }
  Logger &logger() { return *logger_; }
  const std::shared_ptr<Logger> &shared_logger() const { return logger_; }
  comm::Communicator &communicator() { return *communicator_; }
  CheckpointContext &checkpoint() { return *checkpoint_; }
  PreemptContext &preempt() { return *preempt_; }
  TrainContext &train() { return *train_; }
  SearcherContext &searcher() { return *searcher_; }
  ProfilerContext &profiler() { return *profiler_; }
  TensorboardContext &tensorboard() { return *tensorboard_; }

 private:
  Core(const CoreOptions &options, comm::Communicator *communicator);
  static void end(Core *core) noexcept;
  void open(const CoreOptions &options, const std::vector<std::string> &introductions);
  void claim(const CoreOptions &options);
  void watch_end();
  void open_tensorboard(const CoreOptions &options);
  void open_journal(const CoreOptions &options);
  void open_contexts(const CoreOptions &options);
  void begin_capture();
  using Limit = std::optional<std::chrono::milliseconds>;
  void close(engine::RunEnd how, std::chrono::milliseconds limit, Limit saves);
  template <class Steps>
  void take_down(Steps &steps, std::chrono::milliseconds limit, Limit saves);
  void deliver_last(std::chrono::milliseconds limit);
  std::optional<bool> succeeded() const;
  void end_run();
  void tell_people(const CoreOptions &options) noexcept;
  void tell_people_how_it_ended() noexcept;

  const std::chrono::milliseconds close_limit_;
  std::atomic<bool> opened_{false};

  std::mutex closing_;
  std::atomic<engine::RunEnd> end_{engine::RunEnd::error};
  bool ended_ = false;
  bool tells_people_ = false;  // who look on at a terminal
  bool is_busy_ = false;       // when it was closed: a thread waits for a storage

  // In the order of making; taken down in the opposite one.
  Lifetime lifetime_;
  std::shared_ptr<Logger> logger_;
  std::unique_ptr<comm::Communicator> own_communicator_;
  comm::Communicator *communicator_;
  Place place_;
  std::unique_ptr<Info> info_;
  profiler::Regions regions_;
  std::shared_ptr<tensorboard::TensorboardFiles> tensorboard_files_;
  std::shared_ptr<tensorboard::EventFile> event_file_;
  std::unique_ptr<tensorboard::EventWriter> metric_events_;  // of the chief in automatic mode
  std::unique_ptr<tensorboard::Uploader> uploader_;          // into a bucket
  std::unique_ptr<tensorboard::EventQueue> events_;
  std::unique_ptr<TensorboardContext> tensorboard_;
  // Neither where this rank cannot reach the master.
  std::unique_ptr<journal::Spool> spool_;
  std::unique_ptr<journal::Shipper> shipper_;
  std::unique_ptr<TrainContext> train_;
  std::unique_ptr<RegionReports> region_reports_;  // with a spool
  std::unique_ptr<CheckpointContext> checkpoint_;
  std::unique_ptr<SearcherContext> searcher_;
  std::unique_ptr<ProfilerContext> profiler_;
  std::unique_ptr<SignalHooks> signals_;  // until the context has them
  std::unique_ptr<PreemptContext> preempt_;
  std::unique_ptr<StackTraceHook> stack_trace_;
  std::unique_ptr<OutputCapture> output_;
  std::unique_ptr<EndWatch> end_watch_;
};

}  // namespace det::context

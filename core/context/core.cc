#include "core/context/core.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log/log_relay.h"
#include "core/base/process/command_line.h"
#include "core/base/process/process.h"
#include "core/base/text/printable.h"
#include "core/base/thread.h"
#include "core/comm/agreement.h"
#include "core/config/trial_variables.h"
#include "core/engine/states.h"
#include "core/journal/run_directory.h"
#include "core/tensorboard/hparams.h"

namespace det::context {

namespace {

constexpr comm::Call starting{comm::ApiCall::core_init};

// Runs steps one after the other, each whatever the ones before did, and keeps the first failure.
class Steps {
 public:
  template <class Step>
  void run(const Step &step) noexcept {
    try {
      step();
    } catch (...) {
      if (!first_) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

std::shared_ptr<Logger> make_logger(const CoreOptions &options, int rank) {
  std::shared_ptr<LogOutlet> outlet = options.log_queue;
  if (!outlet && options.log) outlet = std::make_shared<LogRelay>(options.log);
  return outlet ? std::make_shared<Logger>(options.log_level, std::move(outlet), rank)
                : std::make_shared<Logger>(options.log_level);
}

// What a person at a terminal sees of a run that has no trouble: a line at its start and one at its
// end.
void say(const std::string &line) {
  std::fprintf(stderr, "detcore: %s\n", printable(line).c_str());
}

// `det COMMAND`, for the store or master that the trial is in.
std::string det_command(const config::MasterLocation &location, const std::string &command) {
  const config::MasterLocation usual = config::locate_master("");
  const bool is_usual = usual.embedded == location.embedded && usual.home == location.home &&
                        usual.url == location.url;
  const std::string master = location.embedded ? location.home.string() : location.url;
  return "`det " + (is_usual ? "" : "-m " + quoted_for_shell(master) + " ") + command + "`";
}

}  // namespace

std::shared_ptr<Core> Core::start(comm::Communicator *communicator,
                                  const std::function<CoreOptions()> &read_options) {
  const auto alone = communicator == nullptr ? comm::make_single_communicator() : nullptr;
  comm::Communicator &job = communicator == nullptr ? *alone : *communicator;
  CoreOptions options;
  std::shared_ptr<Core> core;
  const std::vector<std::string> introductions = comm::all_agree(job, starting, [&] {
    options = read_options();
    core = std::shared_ptr<Core>(new Core(options, communicator), end);
    return introduction(options, job.ranks());
  });
  check_agreement(introductions);
  core->open(options, introductions);
  return core;
}

Core::Core(const CoreOptions &options, comm::Communicator *communicator)
    : close_limit_(options.close_limit),
      logger_(make_logger(options, communicator != nullptr ? communicator->ranks().rank : 0)),
      own_communicator_(communicator == nullptr ? comm::make_single_communicator() : nullptr),
      communicator_(communicator == nullptr ? own_communicator_.get() : communicator) {}

void Core::open(const CoreOptions &options, const std::vector<std::string> &introductions) {
  try {
    const comm::Ranks &ranks = communicator_->ranks();
    const std::string choice = comm::chief_decides(*communicator_, starting,
                                                   [&] { return choose_master(options, place_); });
    comm::all_agree(*communicator_, starting, [&] {
      reach_master(choice, ranks, logger_, place_);
      claim(options);
      return std::string();
    });
    const std::string ticket = comm::chief_decides(*communicator_, starting, [&] {
      return start_run(choice, options, introductions, ranks, logger_, place_);
    });
    comm::all_agree(*communicator_, starting, [&] {
      if (!communicator_->is_chief()) join_run(choice, ticket, options, ranks, logger_, place_);
      open_tensorboard(options);
      open_journal(options);
      open_contexts(options);
      tell_people(options);  // while the terminal is still where it is written to
      if (output_) begin_capture();
      return std::string();
    });
    opened_ = true;
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    // What was opened so far must not look like a run that goes on.
    Steps().run([&] { close(engine::RunEnd::error); });
    std::rethrow_exception(failure);
  }
}

// Takes what others in this process may have, before anything is recorded: where that fails there
// is no run.
void Core::claim(const CoreOptions &options) {
  signals_ = std::make_unique<SignalHooks>(options.preempt_signals);
  if (options.stack_trace_signal != 0)
    stack_trace_ = std::make_unique<StackTraceHook>(options.stack_trace_signal);
  // A cluster that has set the container up collects its output.
  const bool is_collected = place_.cluster && place_.cluster->from_files;
  if (options.capture_output && !is_collected) output_ = std::make_unique<OutputCapture>();
  if (options.close_at_end) watch_end();
}

void Core::open_tensorboard(const CoreOptions &options) {
  const engine::RunInfo &run = place_.master->info();
  std::shared_ptr<storage::Storage> kept(std::shared_ptr<void>(), place_.storage.get());
  if (place_.tensorboard_storage) kept = place_.tensorboard_storage;
  const std::filesystem::path directory = kept->directory();
  tensorboard_files_ = std::make_shared<tensorboard::TensorboardFiles>(
      options.tensorboard_mode,
      tensorboard::TensorboardPlace{directory, run.cluster_id, run.experiment_id, run.trial_id,
                                    run.allocation_id, communicator_->ranks().rank,
                                    directory.empty() ? kept : nullptr, run.run_id});
  const bool of_metrics = options.tensorboard_mode == tensorboard::TensorboardMode::automatic &&
                          communicator_->is_chief();
  event_file_ = std::make_shared<tensorboard::EventFile>(
      tensorboard_files_, of_metrics ? tensorboard::session_start_event(
                                           static_cast<double>(now_us()) / 1e6, run.hparams)
                                     : "");
  if (of_metrics)
    metric_events_ = std::make_unique<tensorboard::EventWriter>(event_file_, logger_, run.config);
  if (tensorboard_files_->wants_sync())
    uploader_ = std::make_unique<tensorboard::Uploader>(tensorboard_files_, logger_);
  events_ = std::make_unique<tensorboard::EventQueue>(
      event_file_, logger_,
      tensorboard::EventQueue::Options{.wait = options.journal_wait, .written = [this] {
                                         if (uploader_) uploader_->note_change();
                                       }});
  tensorboard_ =
      std::make_unique<TensorboardContext>(lifetime_, *tensorboard_files_, regions_, events_.get());
}

void Core::open_journal(const CoreOptions &options) {
  engine::RunBackend &master = *place_.master;
  const engine::RunInfo &run = master.info();
  const comm::Ranks &ranks = communicator_->ranks();
  info_ = std::make_unique<Info>(run, ranks, place_.location, place_.storage->config(),
                                 place_.cluster.has_value());
  if (!master.unreachable().empty()) return;
  journal::Shipper::Observer observer;
  if (metric_events_) {
    observer = [this](std::span<const Report> reports) {
      metric_events_->write(reports);
      if (uploader_) uploader_->note_change();
    };
  }
  spool_ = journal::Spool::create(
      master.run_directory(), JournalKey{run.trial_id, run.run_id, ranks.rank, master.journal_id()},
      journal::SpoolOptions{.limit_bytes = options.journal_limit,
                            .durable = options.durable_reports,
                            .wait = options.journal_wait});
  if (options.durable_reports) {
    journal::sync_run_directory(master.run_directory());
    master.make_durable();
  }
  shipper_ = std::make_unique<journal::Shipper>(*spool_, master, logger_, std::move(observer));
}

void Core::open_contexts(const CoreOptions &options) {
  engine::RunBackend &master = *place_.master;
  train_ = std::make_unique<TrainContext>(lifetime_, master, spool_.get(), shipper_.get(),
                                          *tensorboard_, regions_, *logger_);
  const engine::RunInfo &run = master.info();
  const comm::Ranks &ranks = communicator_->ranks();
  regions_.keep_trace(master.trace_file(), {run.trial_id, run.run_id, ranks.rank, {}});
  if (spool_)
    region_reports_ =
        std::make_unique<RegionReports>(regions_, ranks, *spool_, *shipper_, *logger_);
  checkpoint_ = std::make_unique<CheckpointContext>(
      RunParts{lifetime_, *communicator_, master, *place_.storage, *train_, *logger_});
  if (communicator_->is_chief()) checkpoint_->recover();
  searcher_ = std::make_unique<SearcherContext>(lifetime_, *communicator_, master, *train_);
  const std::string agent = place_.cluster ? place_.cluster->agent_id : std::string();
  profiler_ =
      std::make_unique<ProfilerContext>(lifetime_, communicator_->ranks(),
                                        agent.empty() ? host_name() : agent, spool_.get(), logger_);
  profiler_->configure(master.info().config);
  preempt_ = std::make_unique<PreemptContext>(lifetime_, *communicator_, master, regions_, *logger_,
                                              options.preempt_mode, std::move(signals_));
}

void Core::begin_capture() {
  if (!spool_) return output_.reset();
  // A line that finds no room in the journal has been seen where it went before.
  output_->begin([this](LogLevel level, std::string_view line) {
    spool_->append_log(static_cast<int>(level), line);
  });
}

void Core::watch_end() {
  // A signal leaves little time; what is not delivered then waits in the journal.
  static constexpr std::chrono::milliseconds hurry{2000};
  static constexpr std::chrono::milliseconds patience{5000};
  end_watch_ = std::make_unique<EndWatch>(
      [this](int status) {
        // In the middle of the start the parts belong to the thread that makes them; the run is
        // left to the recovery.
        if (!opened_) return;
        const bool is_well =
            status == 0 || (status == engine::exit_preempted && exit_status() == status);
        close(is_well ? engine::RunEnd::ok : engine::RunEnd::error,
              status < 0 ? hurry : close_limit_, status < 0 ? Limit(hurry) : std::nullopt);
      },
      patience);
}

int Core::exit_status() {
  if (!lifetime_.open() && end_ == engine::RunEnd::error) return EXIT_FAILURE;
  if (!preempt_ || !preempt_->has_told() || end_ == engine::RunEnd::invalid_hp) return EXIT_SUCCESS;
  return searcher_ && searcher_->has_completed() ? EXIT_SUCCESS : engine::exit_preempted;
}

void Core::close(engine::RunEnd how, std::chrono::milliseconds limit, Limit saves) {
  if (lifetime_.in_child()) return;
  const std::unique_lock lock(closing_, std::try_to_lock);
  if (!lock) return;
  Steps steps;
  if (lifetime_.close()) {
    end_ = how;
    take_down(steps, limit, saves);
  }
  steps.run([&] {
    end_run();
    tell_people_how_it_ended();
  });
  steps.run([&] {
    if (!shipper_) return;
    if (const std::optional<std::string> told = shipper_->take_told())
      throw Error(Code::conflict, *told);
  });
  constexpr std::chrono::milliseconds patience_with_host{1000};
  if (logger_->outlet() != nullptr) logger_->outlet()->flush(patience_with_host);
  steps.rethrow();
}

template <class Steps>
void Core::take_down(Steps &steps, std::chrono::milliseconds limit, Limit saves) {
  steps.run([&] { end_watch_.reset(); });
  steps.run([&] {
    if (output_) output_->stop(limit);
    output_.reset();
  });
  steps.run([&] { stack_trace_.reset(); });
  steps.run([&] {
    if (checkpoint_) checkpoint_->background().finish(saves);
  });
  steps.run([&] {
    if (profiler_) profiler_->stop();
  });
  steps.run([&] {
    if (region_reports_) region_reports_->report();
  });
  // The end of the run must not overtake its reports, and until they are there the watcher keeps
  // the run alive to the master.
  const auto end = std::chrono::steady_clock::now() + limit;
  bool is_delivered = false;
  steps.run([&] {
    deliver_last(limit);
    is_delivered = true;
  });
  steps.run([&] {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    if (checkpoint_ &&
        !checkpoint_->retention().finish(is_delivered, std::max(left, milliseconds(0))))
      is_busy_ = true;
  });
  steps.run([&] {
    // They are in a storage as well.
    if (metric_events_ && !is_busy_) metric_events_->end(succeeded());
  });
  steps.run([&] {
    if (events_ && !events_->finish(limit)) is_busy_ = true;
    if (uploader_ && !uploader_->finish(limit)) is_busy_ = true;
  });
  steps.run([&] {
    if (preempt_) preempt_->stop();
  });
}

// Of the trial, as far as this run can tell: nothing where another one may go on with it.
std::optional<bool> Core::succeeded() const {
  switch (end_) {
    case engine::RunEnd::ok:
      if (preempt_ && preempt_->preempted()) return std::nullopt;
      return true;
    case engine::RunEnd::invalid_hp:
      return false;
    case engine::RunEnd::error:
      break;
  }
  const bool is_restarted = place_.cluster || config::read_trial_variables().run_id != 0;
  return is_restarted ? std::nullopt : std::optional(false);
}

void Core::end_run() {
  if (std::exchange(ended_, true) || !place_.master) return;
  try {
    place_.master->end_run(end_);
  } catch (const std::exception &failure) {
    ended_ =
        !is_shortage_of_memory(failure);  // a run that is not ended looks like one that goes on
    throw;
  }
}

void Core::deliver_last(std::chrono::milliseconds limit) {
  if (!shipper_ || shipper_->stop(limit)) return;
  if (shipper_->is_busy()) is_busy_ = true;
  const std::string reason = shipper_->last_failure();
  throw Error(Code::timeout, "closing: the last reports could not be delivered within " +
                                 std::to_string(limit.count()) + " ms" +
                                 (reason.empty() ? "" : " (" + reason + ")") +
                                 "; they are kept, and `det sync` delivers them later");
}

// Nobody waits for a storage that hangs: the core, which has all that its threads touch, is left to
// one more of them, and goes when they have ended.
void Core::end(Core *core) noexcept {
  std::unique_ptr<Core> owned(core);
  Steps().run([&] { owned->close(engine::RunEnd::error); });
  if (!owned->is_busy_) return;
  static_cast<void>(owned.release());
  Steps().run([&] {  // where there is no thread to be had its memory stays
    start_thread("det-leftover", [core] { delete core; }).detach();
  });
}

Core::~Core() {
  Steps().run([&] { close(engine::RunEnd::error); });
}

void Core::tell_people(const CoreOptions &options) noexcept try {
  const bool is_started_by_us = place_.cluster || config::read_trial_variables().run_id != 0;
  tells_people_ = communicator_->is_chief() && logger_->outlet() == nullptr && !is_started_by_us &&
                  options.log_level <= LogLevel::warning && isatty(STDERR_FILENO) != 0;
  if (!tells_people_) return;
  const engine::RunInfo &run = place_.master->info();
  const std::string id = std::to_string(run.trial_id);
  std::string line = "trial " + id;
  if (run.run_id > 1) line += ", run " + std::to_string(run.run_id);
  if (run.latest_checkpoint) line += ", from step " + std::to_string(run.steps_completed);
  line +=
      ", in " + (place_.location.embedded ? place_.location.home.string() : place_.location.url);
  say(line + "; " + det_command(place_.location, "show " + id) + " and " +
      det_command(place_.location, "plot " + id) + " show its progress");
} catch (const std::exception &) {
  // Without the line a run is as good.
}

void Core::tell_people_how_it_ended() noexcept try {
  if (!ended_ || !std::exchange(tells_people_, false)) return;
  const std::string id = std::to_string(place_.master->info().trial_id);
  const bool is_preempted = preempt_ && preempt_->preempted();
  std::string line = "trial " + id;
  if (end_ != engine::RunEnd::ok) line += " ended with an error; ";
  else line += is_preempted ? " stopped as it was asked to; " : " ended well; ";
  if (end_ == engine::RunEnd::ok && !is_preempted)
    line += det_command(place_.location, "show " + id) + " shows the result";
  else if (place_.location.embedded)
    line += det_command(place_.location, "resume " + id) + " continues it";
  else line += det_command(place_.location, "logs " + id) + " shows its log";
  say(line);
} catch (const std::exception &) {
  // As above.
}

}  // namespace det::context

#include "core/context/core.h"

#include <exception>
#include <functional>
#include <utility>

#include "core/base/command_line.h"
#include "core/base/error.h"
#include "core/config/cluster.h"
#include "core/master/embedded/embedded_master.h"
#include "core/metrics/left_behind.h"

namespace det {

namespace {

// Runs steps one after the other, each whatever the ones before did, and keeps the first failure.
class Steps {
 public:
  void run(const std::function<void()> &step) noexcept {
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

Json parse_object_or_null(const std::string &option, const char *option_name,
                          const std::string &variable, const char *variable_name) {
  if (!option.empty()) return parse_json_object(option, option_name);
  if (!variable.empty()) return parse_json_object(variable, variable_name);
  return nullptr;
}

// A JSON object, or a path or URI.
std::unique_ptr<Storage> storage_from_option(const std::string &option,
                                             std::shared_ptr<Logger> logger) {
  const size_t first = option.find_first_not_of(" \t\n");
  if (first == option.npos || option[first] != '{')
    return make_storage_from_uri(option, std::move(logger));
  const Json config = parse_json_object(option, "checkpoint_storage");
  if (config.value("type", Json()) == "shared_fs")
    throw Error(Code::invalid,
                "reading checkpoint_storage: an object of type shared_fs is not allowed here; give "
                "the directory itself as a path");
  return make_storage(config, std::nullopt, std::move(logger));
}

std::unique_ptr<Storage> storage_from_config(const Json &config, std::shared_ptr<Logger> logger) {
  if (!config.is_object()) return nullptr;
  const auto section = config.find("checkpoint_storage");
  if (section == config.end() || section->is_null()) return nullptr;
  if (section->is_string()) return make_storage_from_uri(*section, std::move(logger));
  return make_storage(*section, std::nullopt, std::move(logger));
}

}  // namespace

std::shared_ptr<Core> Core::start(const CoreOptions &options) {
  return std::shared_ptr<Core>(new Core(options));
}

Core::Core(const CoreOptions &options)
    : close_limit_(options.close_limit),
      logger_(std::make_shared<Logger>(options.log_level, options.log)),
      own_communicator_(options.communicator == nullptr ? make_single_communicator() : nullptr),
      communicator_(options.communicator == nullptr ? own_communicator_.get()
                                                    : options.communicator) {
  try {
    open_master(options);
    open_journal(options);
    train_ = std::make_unique<TrainContext>(gate_, *master_, *spool_, *shipper_, *tensorboard_,
                                            *logger_);
    checkpoint_ = std::make_unique<CheckpointContext>(gate_, *communicator_, *master_, *storage_,
                                                      *train_, *logger_);
    checkpoint_->recover();
    searcher_ = std::make_unique<SearcherContext>(gate_, *communicator_, *master_, *train_);
    profiler_ = std::make_unique<ProfilerContext>(gate_);
    preempt_ = std::make_unique<PreemptContext>(gate_, *communicator_, *master_, *logger_,
                                                options.preempt_mode, options.preempt_signals);
    if (options.stack_trace_signal != 0)
      stack_trace_ = std::make_unique<StackTraceHook>(options.stack_trace_signal);
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    // What was opened so far must not look like a run that goes on.
    Steps().run([&] { close(RunEnd::error); });
    std::rethrow_exception(failure);
  }
}

void Core::open_master(const CoreOptions &options) {
  const TrialVariables variables = read_trial_variables();
  if (options.master.empty() && read_cluster_file())
    throw Error(Code::unsupported,
                "starting inside a cluster: a master over HTTP is not in this release; give a "
                "directory as master to use an embedded store");
  location_ = locate_master(options.master);
  if (!location_.embedded)
    throw Error(Code::unsupported, "starting with the master '" + location_.url +
                                       "': a master over HTTP is not in this release; give a "
                                       "directory, or unset DET_MASTER");

  RunRequest request;
  request.store_directory = location_.store_directory();
  request.trial_id = options.trial_id != 0 ? options.trial_id : variables.trial_id;
  request.external_id = options.external_id.empty() ? variables.external_id : options.external_id;
  request.name = options.name.empty() ? program_name() : options.name;
  request.config = parse_object_or_null(options.config_text, "config_json", variables.config_text,
                                        "the variable DET_EXPERIMENT_CONFIG");
  request.hparams = parse_object_or_null(options.hparams_text, "hparams_json",
                                         variables.hparams_text, "the variable DET_HPARAMS");
  request.hparams_given = request.hparams.is_object();
  request.command = command_line();
  request.ranks = communicator_->ranks();
  request.log = logger_;
  if (options.name.empty() && request.config.is_object() && request.config.contains("name") &&
      request.config["name"].is_string())
    request.name = request.config["name"];

  // What the arguments say about storage is checked before a run exists.
  storage_ = options.checkpoint_storage.empty()
                 ? storage_from_config(request.config, logger_)
                 : storage_from_option(options.checkpoint_storage, logger_);
  try {
    recover_runs(request.store_directory, *logger_);
  } catch (const Error &e) {
    logger_->warning(std::string(e.what()) + "; `det sync` tries again");  // not this run's trouble
  }
  master_ = start_embedded_run(request);
  if (!storage_) storage_ = storage_from_config(master_->info().config, logger_);
  if (!storage_) storage_ = make_storage_from_uri(location_.home.string(), logger_);
}

void Core::open_journal(const CoreOptions &options) {
  const RunInfo &run = master_->info();
  const Ranks &ranks = communicator_->ranks();
  info_ = std::make_unique<Info>(run, ranks, location_, storage_->config());
  tensorboard_ = std::make_shared<TensorboardFiles>(
      options.tensorboard_mode,
      TensorboardPlace{storage_->directory(), run.cluster_id, run.experiment_id, run.trial_id,
                       run.allocation_id, ranks.rank});
  Shipper::Observer observer;
  if (options.tensorboard_mode == TensorboardMode::automatic && communicator_->is_chief()) {
    events_ = std::make_unique<EventWriter>(tensorboard_, logger_);
    observer = [this](std::span<const Report> reports) { events_->write(reports); };
  }
  spool_ = Spool::create(
      master_->run_directory(),
      JournalKey{run.trial_id, run.run_id, ranks.rank, master_->journal_id()},
      SpoolOptions{.limit_bytes = options.spool_limit, .wait_ms = options.spool_wait_ms});
  shipper_ = std::make_unique<Shipper>(*spool_, *master_, logger_, std::move(observer));
}

void Core::close(RunEnd how) {
  if (gate_.in_child() || !gate_.close()) return;
  Steps steps;
  steps.run([&] { stack_trace_.reset(); });
  steps.run([&] {
    if (preempt_) preempt_->stop();
  });
  // The end of the run must not overtake its reports.
  steps.run([&] {
    if (shipper_ && !shipper_->stop(close_limit_))
      throw Error(Code::timeout, "closing: the last reports could not be delivered (" +
                                     shipper_->last_failure() +
                                     "); they are kept, and `det sync` delivers them later");
  });
  steps.run([&] {
    if (master_) master_->end_run(how);
  });
  steps.run([&] {
    if (!shipper_) return;
    if (const std::optional<std::string> conflict = shipper_->take_conflict())
      throw Error(Code::conflict, *conflict);
  });
  steps.rethrow();
}

Core::~Core() {
  Steps().run([&] { close(RunEnd::error); });
}

}  // namespace det

// One training process from start to end. Includes every other header, except those of MPI and of
// JSON libraries.
#pragma once

#include <det/core.h>
#include <det/checkpoint.hpp>
#include <det/client.hpp>
#include <det/config.hpp>
#include <det/detail/callbacks.hpp>
#include <det/distributed.hpp>
#include <det/error.hpp>
#include <det/info.hpp>
#include <det/json.hpp>
#include <det/log.hpp>
#include <det/preempt.hpp>
#include <det/profiler.hpp>
#include <det/searcher.hpp>
#include <det/storage.hpp>
#include <det/tensorboard.hpp>
#include <det/tensors.hpp>
#include <det/train.hpp>
#include <det/trial_cache.hpp>
#include <det/trial_gradients.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace det {
inline namespace v1 {

// A member that is empty or 0 has the default that det_core_options names.
struct CoreOptions {
  std::string master;  // a URL, or the directory of a store
  int64_t trial_id = 0;
  std::string external_id;  // the next start with the same one resumes the trial
  std::string external_experiment_id;
  std::string name;
  Json config;
  Json hparams;
  std::string checkpoint_storage;

  std::vector<int32_t> preempt_signals;  // such as SIGTERM
  int64_t journal_limit = 0;             // bytes
  Timeout journal_wait;
  Timeout close_wait;

  LogCallback log;
  const LogQueue *log_queue = nullptr;  // you may free it before the core
  LogLevel log_level = LogLevel::usual;

  PreemptMode preempt_mode = PreemptMode::workers_ask_chief;
  TensorboardMode tensorboard_mode = TensorboardMode::automatic;
  int stack_trace_signal = 0;
  bool close_at_end = false;
  bool capture_output = false;
  bool durable_reports = false;
  Timeout run_wait;  // for the previous run; usually none
};

enum class Outcome : det_outcome {
  ok = DET_OUTCOME_OK,
  error = DET_OUTCOME_ERROR,
  invalid_hp = DET_OUTCOME_INVALID_HP,
};

namespace detail {

struct ReleaseCore {
  Distributed distributed;  // must outlive the core
  std::shared_ptr<LogSink> log;
  bool is_borrowed = false;
  void operator()(det_core *core) const noexcept {
    if (!is_borrowed) det_core_free(core);
  }
};

}  // namespace detail

// Without close() the end of its scope closes it as a failed training. Its views are valid as long
// as the core is, also after a move.
class Core {
 public:
  Core() noexcept = default;
  explicit Core(det_core *owned) noexcept : core_(owned) {}
  // A core that somebody else owns. It must outlive this.
  [[nodiscard]] static Core borrowed(det_core *core) noexcept {
    return Core(Handle(core, {Distributed(), nullptr, true}));
  }

  // For a job of several ranks. The core then owns them.
  [[nodiscard]] static Core init(const CoreOptions &options, Distributed distributed,
                                 OnFailure on = {});
  [[nodiscard]] static Core init(const CoreOptions &options = {}, OnFailure on = {}) {
    return init(options, Distributed(), on);
  }
  // Takes the options as an object with their names. See det_core_init_json().
  [[nodiscard]] static Core init_json(const Json &options, Distributed distributed = {},
                                      const LogQueue *log_queue = nullptr, OnFailure on = {});

  // Delivers every report and ends the run. If the log callable threw, this throws the exception.
  void close(Outcome how = Outcome::ok, OnFailure on = {}) const {
    detail::call(on, det_core_close, core_.get(), static_cast<det_outcome>(how));
    if (core_.get_deleter().log != nullptr) core_.get_deleter().log->rethrow();
  }

  // The exit status for main(), usually 0. DET_EXIT_PREEMPTED if the run was asked to stop before
  // its end. 1 if it was closed as failed.
  [[nodiscard]] int exit_status() const noexcept { return det_core_exit_status(core_.get()); }

  [[nodiscard]] Info info() const &noexcept { return Info(det_core_info(core_.get())); }
  [[nodiscard]] DistributedView distributed() const &noexcept {
    return DistributedView(det_core_distributed(core_.get()));
  }
  [[nodiscard]] Checkpoint checkpoint() const &noexcept {
    return Checkpoint(det_core_checkpoint(core_.get()));
  }
  [[nodiscard]] Preempt preempt() const &noexcept { return Preempt(det_core_preempt(core_.get())); }
  [[nodiscard]] Train train() const &noexcept { return Train(det_core_train(core_.get())); }
  [[nodiscard]] Searcher searcher() const &noexcept {
    return Searcher(det_core_searcher(core_.get()));
  }
  [[nodiscard]] Profiler profiler() const &noexcept {
    return Profiler(det_core_profiler(core_.get()));
  }
  [[nodiscard]] Tensorboard tensorboard() const &noexcept {
    return Tensorboard(det_core_tensorboard(core_.get()));
  }
  // Not for a temporary core: it would be freed before you can use its view.
  Info info() const && = delete;
  DistributedView distributed() const && = delete;
  Checkpoint checkpoint() const && = delete;
  Preempt preempt() const && = delete;
  Train train() const && = delete;
  Searcher searcher() const && = delete;
  Profiler profiler() const && = delete;
  Tensorboard tensorboard() const && = delete;

  [[nodiscard]] det_core *capi() const noexcept { return core_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return core_ != nullptr; }

 private:
  using Handle = std::unique_ptr<det_core, detail::ReleaseCore>;

  explicit Core(Handle core) noexcept : core_(std::move(core)) {}

  Handle core_;
};

inline Core Core::init(const CoreOptions &options, Distributed distributed, OnFailure on) {
  det_core_options c_options = DET_CORE_OPTIONS_INIT;
  c_options.master = detail::null_if_empty(options.master);
  c_options.trial_id = options.trial_id;
  c_options.external_id = detail::null_if_empty(options.external_id);
  c_options.external_experiment_id = detail::null_if_empty(options.external_experiment_id);
  c_options.name = detail::null_if_empty(options.name);
  c_options.config_json = options.config.capi();
  c_options.hparams_json = options.hparams.capi();
  c_options.checkpoint_storage = detail::null_if_empty(options.checkpoint_storage);
  c_options.distributed = distributed.capi();
  c_options.preempt_signals = options.preempt_signals.data();
  c_options.preempt_signal_count = options.preempt_signals.size();
  c_options.journal_limit = options.journal_limit;
  c_options.journal_wait_ms = options.journal_wait.capi();
  c_options.close_wait_ms = options.close_wait.capi();
  c_options.log_queue = options.log_queue != nullptr ? options.log_queue->capi() : nullptr;
  c_options.log_level = static_cast<det_log_level>(options.log_level);
  c_options.preempt_mode = static_cast<det_preempt_mode>(options.preempt_mode);
  c_options.tensorboard_mode = static_cast<det_tensorboard_mode>(options.tensorboard_mode);
  c_options.stack_trace_signal = options.stack_trace_signal;
  c_options.close_at_end = options.close_at_end ? 1 : 0;
  c_options.capture_output = options.capture_output ? 1 : 0;
  c_options.durable_reports = options.durable_reports ? 1 : 0;
  c_options.run_wait_ms = options.run_wait.capi();
  auto log = detail::send_log(options.log, c_options);
  det_core *core = nullptr;
  detail::call(on, det_core_init, &c_options, &core);
  return Core(Handle(core, {std::move(distributed), std::move(log), false}));
}

inline Core Core::init_json(const Json &options, Distributed distributed, const LogQueue *log_queue,
                            OnFailure on) {
  det_core *core = nullptr;
  detail::call(on, det_core_init_json, options.capi(), distributed.capi(),
               log_queue != nullptr ? log_queue->capi() : nullptr, &core);
  return Core(Handle(core, {std::move(distributed), nullptr, false}));
}

}  // namespace v1
}  // namespace det

// Here, because it takes a core.
#include <det/trial.hpp>

#include <det/core.h>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/start_core.h"
#include "core/engine/states.h"

namespace {

static_assert(static_cast<int>(det::context::PreemptMode::workers_ask_master) ==
              DET_PREEMPT_MODE_WORKERS_ASK_MASTER);
static_assert(static_cast<int>(det::context::PreemptMode::chief_only) ==
              DET_PREEMPT_MODE_CHIEF_ONLY);
static_assert(static_cast<int>(det::tensorboard::TensorboardMode::manual) ==
              DET_TENSORBOARD_MODE_MANUAL);

constexpr size_t most_preempt_signals = 8;

template <class Mode>
Mode mode_from(int32_t value, int32_t last, const char *name) {
  if (value < 0 || value > last)
    throw det::Error(det::Code::invalid, std::string("starting: ") + name + " " +
                                             std::to_string(value) + " is none of its constants");
  return static_cast<Mode>(value);
}

det::context::CoreOptions to_core(const det_core_options &given, const HostLog &log) {
  det::context::CoreOptions options;
  options.master = text_or_empty(given.master);
  options.trial_id = given.trial_id;
  options.external_id = text_or_empty(given.external_id);
  options.external_experiment_id = text_or_empty(given.external_experiment_id);
  options.name = text_or_empty(given.name);
  options.config_text = text_or_empty(given.config_json);
  options.hparams_text = text_or_empty(given.hparams_json);
  options.checkpoint_storage = text_or_empty(given.checkpoint_storage);
  options.preempt_mode = mode_from<det::context::PreemptMode>(
      given.preempt_mode, DET_PREEMPT_MODE_WORKERS_ASK_MASTER, "preempt_mode");
  options.tensorboard_mode = mode_from<det::tensorboard::TensorboardMode>(
      given.tensorboard_mode, DET_TENSORBOARD_MODE_MANUAL, "tensorboard_mode");
  if (counted(given.preempt_signal_count, "preempt_signal_count") > most_preempt_signals)
    throw det::Error(det::Code::invalid, "starting: preempt_signal_count " +
                                             std::to_string(given.preempt_signal_count) +
                                             " is above " + std::to_string(most_preempt_signals));
  if (given.preempt_signal_count > 0) {
    const int32_t *first = &deref(given.preempt_signals, "preempt_signals");
    options.preempt_signals.assign(first, first + given.preempt_signal_count);
  }
  options.stack_trace_signal = given.stack_trace_signal;
  if (given.journal_limit < 0)
    throw det::Error(det::Code::invalid, "starting: journal_limit " +
                                             std::to_string(given.journal_limit) +
                                             " is negative; give bytes, or 0");
  if (given.journal_limit != 0) options.journal_limit = static_cast<uint64_t>(given.journal_limit);
  options.journal_wait =
      finite_limit_from(given.journal_wait_ms, options.journal_wait, "journal_wait_ms");
  options.close_limit =
      finite_limit_from(given.close_wait_ms, options.close_limit, "close_wait_ms");
  options.run_wait = finite_limit_from(given.run_wait_ms, options.run_wait, "run_wait_ms");
  options.close_at_end = given.close_at_end != 0;
  options.capture_output = given.capture_output != 0;
  options.durable_reports = given.durable_reports != 0;
  options.log_level = log_level_from(given.log_level, options.log_level, "log_level");
  options.log = log.callback();
  options.log_queue = log.queue();
  return options;
}

}  // namespace

void det_core_options_init(det_core_options *options) noexcept {
  if (options != nullptr) *options = DET_CORE_OPTIONS_INIT;
}

void start_core(det_distributed_context *distributed, const HostLog &log,
                const std::function<det_core_options()> &read, det_core **out) {
  give(out, "out", [&] {
    det::comm::Communicator *communicator = distributed != nullptr ? distributed->impl : nullptr;
    return new det_core(
        det::context::Core::start(communicator, [&] { return to_core(read(), log); }));
  });
}

det_status det_core_init(const det_core_options *options, det_core **out, det_error *err) noexcept {
  return guarded(err, [&] {
    if (out != nullptr) *out = nullptr;
    const auto given = read_options<det_core_options>(options, DET_CORE_OPTIONS_INIT, "options");
    start_core(
        given.distributed, host_log_from(given), [&] { return given; }, out);
  });
}

det_status det_core_close(det_core *core, det_outcome how, det_error *err) noexcept {
  return guarded(err, [&] {
    static_assert(static_cast<int>(det::engine::RunEnd::invalid_hp) == DET_OUTCOME_INVALID_HP);
    once([&] {
      deref(core, "core")
          .impl->close(mode_from<det::engine::RunEnd>(how, DET_OUTCOME_INVALID_HP, "how"));
    });
  });
}

int32_t det_core_exit_status(det_core *core) noexcept {
  static_assert(det::engine::exit_preempted == DET_EXIT_PREEMPTED);
  return or_else<int32_t>(EXIT_FAILURE,
                          [&] { return core != nullptr ? core->impl->exit_status() : 0; });
}

void det_core_free(det_core *core) noexcept {
  if (core == nullptr) return;
  static_cast<void>(det_core_close(core, DET_OUTCOME_ERROR, nullptr));
  // A forked child shares the parent's files, and has none of its threads: nothing to take down.
  if (core->impl->in_child()) return;
  const std::shared_ptr<det::Logger> logger = core->impl->shared_logger();
  delete core;
  // Stores and readers may keep the core's memory, but the host's callback ends here.
  end_host_log(*logger);
}

det_info *det_core_info(det_core *core) noexcept { return core != nullptr ? &core->info : nullptr; }

det_distributed_context *det_core_distributed(det_core *core) noexcept {
  return core != nullptr ? &core->distributed : nullptr;
}

det_checkpoint_context *det_core_checkpoint(det_core *core) noexcept {
  return core != nullptr ? &core->checkpoint : nullptr;
}

det_preempt_context *det_core_preempt(det_core *core) noexcept {
  return core != nullptr ? &core->preempt : nullptr;
}

det_train_context *det_core_train(det_core *core) noexcept {
  return core != nullptr ? &core->train : nullptr;
}

det_searcher_context *det_core_searcher(det_core *core) noexcept {
  return core != nullptr ? &core->searcher : nullptr;
}

det_profiler_context *det_core_profiler(det_core *core) noexcept {
  return core != nullptr ? &core->profiler : nullptr;
}

det_tensorboard_context *det_core_tensorboard(det_core *core) noexcept {
  return core != nullptr ? &core->tensorboard : nullptr;
}

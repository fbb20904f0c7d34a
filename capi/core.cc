#include <det/core.h>

#include <array>
#include <csignal>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/host_log.h"
#include "core/base/json.h"
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
Mode mode_from(int32_t value, int32_t last, const char *tried, const char *constants) {
  if (value < 0 || value > last)
    throw det::Error(det::Code::invalid, std::string(tried) + " " + std::to_string(value) +
                                             " is unknown; give one of " + constants);
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
  options.preempt_mode =
      mode_from<det::context::PreemptMode>(given.preempt_mode, DET_PREEMPT_MODE_WORKERS_ASK_MASTER,
                                           "starting: preempt_mode", "DET_PREEMPT_MODE_*");
  options.tensorboard_mode = mode_from<det::tensorboard::TensorboardMode>(
      given.tensorboard_mode, DET_TENSORBOARD_MODE_MANUAL, "starting: tensorboard_mode",
      "DET_TENSORBOARD_MODE_*");
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

// `read` throws for options that are wrong; other ranks learn of that.
void start_core(det_distributed_context *distributed, const HostLog &log,
                const std::function<det_core_options()> &read, det_core **out) {
  give(out, "out", [&] {
    det::comm::Communicator *communicator = distributed != nullptr ? distributed->impl : nullptr;
    return new det_core(
        det::context::Core::start(communicator, [&] { return to_core(read(), log); }));
  });
}

// The options of a core as JSON text.
using det::Json;

constexpr const char *tried = "starting: options_json: ";

[[noreturn]] void refuse(const std::string &what) {
  throw det::Error(det::Code::invalid, tried + what);
}

// Options, with what their pointers point to.
class OptionsReader {
 public:
  const det_core_options &read(const Json &given) {
    for (const auto &[name, value] : given.items()) {
      const auto found = members().find(name);
      if (found == members().end()) refuse("there is no '" + name + "'; there are " + names());
      if (value.is_null()) continue;  // the default
      name_ = name;
      (this->*found->second)(value);
    }
    return options_;
  }

 private:
  using Member = void (OptionsReader::*)(const Json &);

  template <auto Field>
  void text(const Json &value) {
    if (!value.is_string()) wrong("text");
    options_.*Field = keep(value.get<std::string>());
  }
  template <auto Field>
  void text_or_object(const Json &value) {
    if (!value.is_string() && !value.is_object()) wrong("text or an object");
    options_.*Field = keep(value.is_string() ? value.get<std::string>() : det::to_wire(value));
  }
  template <auto Field>
  void number(const Json &value) {
    using Number = std::remove_reference_t<decltype(options_.*Field)>;
    const auto all = value.is_number_integer() ? value.get<int64_t>() : 0;
    const bool fits = !value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX;
    if (!value.is_number_integer() || !fits || static_cast<Number>(all) != all)
      wrong("a whole number");
    options_.*Field = static_cast<Number>(all);
  }
  template <auto Field>
  void flag(const Json &value) {
    if (value.is_boolean()) options_.*Field = value.get<bool>() ? 1 : 0;
    else if (value == 0 || value == 1) options_.*Field = value.get<int32_t>();
    else wrong("true or false");
  }
  // The constants from 0 on.
  template <auto Field, const auto &Names>
  void constant(const Json &value) {
    std::string all;
    for (size_t i = 0; i < Names.size(); ++i) {
      if (value == Names[i]) {
        options_.*Field = static_cast<int32_t>(i);
        return;
      }
      all.append(all.empty() ? "\"" : "\", \"").append(Names[i]);
    }
    wrong("one of " + all + "\"");
  }
  void signals(const Json &value) {
    if (!value.is_array()) wrong("a list of signals");
    for (const Json &one : value) signals_.push_back(signal_from(one));
    options_.preempt_signals = signals_.data();
    options_.preempt_signal_count = signals_.size();
  }
  void stack_trace_signal(const Json &value) { options_.stack_trace_signal = signal_from(value); }

  int32_t signal_from(const Json &value) const {
    static const std::map<std::string, int32_t> named{
        {"SIGHUP", SIGHUP},   {"SIGINT", SIGINT},   {"SIGQUIT", SIGQUIT}, {"SIGTERM", SIGTERM},
        {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGXCPU", SIGXCPU}};
    if (value.is_number_integer() && value >= 0 && value <= SIGRTMAX) return value.get<int32_t>();
    const auto found = value.is_string() ? named.find(value.get<std::string>()) : named.end();
    if (found == named.end()) wrong("a signal, such as \"SIGTERM\" or its number");
    return found->second;
  }

  [[noreturn]] void wrong(const std::string &expected) const {
    refuse("'" + name_ + "' must be " + expected);
  }
  const char *keep(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }

  static constexpr std::array preempt_modes{"WORKERS_ASK_CHIEF", "CHIEF_ONLY",
                                            "WORKERS_ASK_MASTER"};
  static constexpr std::array tensorboard_modes{"AUTO", "MANUAL"};
  static constexpr std::array log_levels{"DEFAULT", "DEBUG", "INFO", "WARNING", "ERROR"};

  static const std::map<std::string, Member> &members() {
    using O = det_core_options;
    using R = OptionsReader;
    static const std::map<std::string, Member> all{
        {"master", &R::text<&O::master>},
        {"trial_id", &R::number<&O::trial_id>},
        {"external_id", &R::text<&O::external_id>},
        {"external_experiment_id", &R::text<&O::external_experiment_id>},
        {"name", &R::text<&O::name>},
        {"config_json", &R::text_or_object<&O::config_json>},
        {"hparams_json", &R::text_or_object<&O::hparams_json>},
        {"checkpoint_storage", &R::text_or_object<&O::checkpoint_storage>},
        {"preempt_signals", &R::signals},
        {"journal_limit", &R::number<&O::journal_limit>},
        {"journal_wait_ms", &R::number<&O::journal_wait_ms>},
        {"close_wait_ms", &R::number<&O::close_wait_ms>},
        {"run_wait_ms", &R::number<&O::run_wait_ms>},
        {"preempt_mode", &R::constant<&O::preempt_mode, preempt_modes>},
        {"tensorboard_mode", &R::constant<&O::tensorboard_mode, tensorboard_modes>},
        {"stack_trace_signal", &R::stack_trace_signal},
        {"close_at_end", &R::flag<&O::close_at_end>},
        {"capture_output", &R::flag<&O::capture_output>},
        {"durable_reports", &R::flag<&O::durable_reports>},
        {"log_level", &R::constant<&O::log_level, log_levels>},
    };
    return all;
  }
  static std::string names() {
    std::string all;
    for (const auto &[name, member] : members()) all += (all.empty() ? "" : ", ") + name;
    return all;
  }

  det_core_options options_ = DET_CORE_OPTIONS_INIT;
  std::deque<std::string> texts_;
  std::vector<int32_t> signals_;
  std::string name_;
};

}  // namespace

det_status det_core_init(const det_core_options *options, det_core **out, det_error *err) noexcept {
  return guarded(err, [&] {
    if (out != nullptr) *out = nullptr;
    const auto given = read_options<det_core_options>(options, DET_CORE_OPTIONS_INIT, "options");
    start_core(
        given.distributed, host_log_from(given), [&] { return given; }, out);
  });
}

det_status det_core_init_json(const char *options_json, det_distributed_context *distributed,
                              det_log_queue *log_queue, det_core **out, det_error *err) noexcept {
  return guarded(err, [&] {
    if (out != nullptr) *out = nullptr;
    OptionsReader reader;
    const auto read = [&] {
      return reader.read(
          det::parse_json_object(options_json != nullptr ? options_json : "{}", "options_json"));
    };
    start_core(distributed, {nullptr, nullptr, nullptr, log_queue}, read, out);
  });
}

det_status det_core_close(det_core *core, det_outcome how, det_error *err) noexcept {
  return guarded(err, [&] {
    static_assert(static_cast<int>(det::engine::RunEnd::invalid_hp) == DET_OUTCOME_INVALID_HP);
    once([&] {
      deref(core, "core")
          .impl->close(mode_from<det::engine::RunEnd>(how, DET_OUTCOME_INVALID_HP,
                                                      "closing: outcome", "DET_OUTCOME_*"));
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

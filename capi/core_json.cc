// The options of a core as JSON text.
#include <det/core.h>

#include <array>
#include <csignal>
#include <deque>
#include <map>
#include <vector>

#include "capi/guard.h"
#include "capi/start_core.h"
#include "core/base/json.h"

namespace {

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

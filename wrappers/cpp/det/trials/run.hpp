// Runs a trial of any kind: alone, and as the main() of a program.
#pragma once

#include <det/trials/context.hpp>
#include <det/trials/program.hpp>

#include <csignal>
#include <cstdio>
#include <string>

namespace det {
inline namespace v1 {
namespace trials {

// The core of a run: under `det run`, under mpirun, or alone with these `options`.
[[nodiscard]] inline Core start(CoreOptions options) {
  // The sequencer decides for all ranks.
  options.preempt_mode = PreemptMode::chief_only;
  if (options.preempt_signals.empty()) options.preempt_signals = {SIGTERM};
  return Core::init(options, Distributed::from_env());
}

// `make` returns the trial, while it is built. Without `workloads` the search gives them.
template <class T, class Make>
void train(typename T::Context &context, const Make &make, WorkloadSource *workloads = nullptr) {
  Caught caught;
  std::optional<typename T::Controller> controller;
  const auto build = [&] {
    T &trial = make();
    controller.emplace(trial, context, caught);
    controller->describe();
  };
  train(context.capi(), caught, build, workloads);
}

// Makes the trial itself. Its constructor gets the context and then `more`.
template <class T, class... More>
void make_and_train(typename T::Context &context, const More &...more) {
  std::optional<T> trial;
  train<T>(context, [&]() -> T & { return trial.emplace(context, more...); });
}

// Sets `is_told`, if given: true if a failure is already on standard error.
template <class T, class... More>
void train_to_end(bool *is_told, const CoreOptions &options, const More &...more) {
  const Core core = start(options);
  typename T::Context context(core);
  if (is_told != nullptr) *is_told = core.distributed().size() > 1;
  make_and_train<T>(context, more...);
}

}  // namespace trials

// Checks that a trial of `T` runs, in this process. It trains one batch, validates with one, saves
// a checkpoint, and keeps nothing. `config` is a configuration, an object. Without `hparams` the
// hyperparameters are drawn from its ranges. Throws the exceptions of the trial, also InvalidHP.
// The constructor gets the context and then `more`.
template <class T, class... More>
void test_one_batch(const Json &config, const Json &hparams = {}, const More &...more) {
  typename T::Context context(config, hparams);
  trials::make_and_train<T>(context, more...);
  context.core().close();
}

// Trains a trial of `T` to its end: under `det run`, under mpirun, or alone with these `options`.
// SIGTERM, or the signals in `options`, ask it to save a checkpoint and leave. Errors end the run
// and are thrown. The constructor gets the context and then `more`.
template <class T, class... More>
void train_trial(const CoreOptions &options = {}, const More &...more) {
  trials::train_to_end<T>(nullptr, options, more...);
}

// The main() of a trial: `int main(int argc, char **argv) { return det::run_trial<T>(argc, argv);
// }`. Without `det run`, `--config FILE` replaces the configuration of the options. With
// `--external-id NAME` the next start under that name resumes the trial. `--test` calls
// test_one_batch().
template <class T>
int run_trial(int argc, char **argv, CoreOptions options = {}) {
  bool is_told = false;
  try {
    const auto told = detail::answer({}, det_keras_read_arguments, argv, static_cast<size_t>(argc))
                          .as<nlohmann::ordered_json>();
    if (told.contains("config")) {
      options.config = told["config"];
      options.hparams = Json();  // those of the configuration
    }
    if (told.contains("external_id")) options.external_id = told["external_id"].get<std::string>();
    if (told["tests_one_batch"].get<bool>()) test_one_batch<T>(options.config, options.hparams);
    else trials::train_to_end<T>(&is_told, options);
    return 0;
  } catch (const std::exception &failure) {
    if (!is_told) std::fprintf(stderr, "%s: %s\n", argv[0], failure.what());
    return 1;
  }
}

}  // namespace v1
}  // namespace det

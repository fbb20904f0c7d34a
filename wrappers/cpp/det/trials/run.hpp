// Runs a trial of any kind: by itself, and as the main() of a program.
#pragma once

#include <det/trials/context.hpp>
#include <det/trials/program.hpp>

#include <csignal>
#include <cstdio>
#include <string>

namespace det {
inline namespace v1 {
namespace trials {

// The core of a run under `det run`, under mpirun, or by itself with what `options` say of it.
[[nodiscard]] inline Core start(CoreOptions options) {
  // Of the ranks the sequencer decides for all.
  options.preempt_mode = PreemptMode::chief_only;
  if (options.preempt_signals.empty()) options.preempt_signals = {SIGTERM};
  return Core::init(options, Distributed::from_env());
}

// `make` gives the trial, while it is built. Without `workloads` they are those of the search.
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

// Makes the trial itself. What is `more` goes to its constructor, behind the context.
template <class T, class... More>
void make_and_train(typename T::Context &context, const More &...more) {
  std::optional<T> trial;
  train<T>(context, [&]() -> T & { return trial.emplace(context, more...); });
}

// `is_told`, where given: whether standard error has the failure already.
template <class T, class... More>
void train_to_end(bool *is_told, const CoreOptions &options, const More &...more) {
  const Core core = start(options);
  typename T::Context context(core);
  if (is_told != nullptr) *is_told = core.distributed().size() > 1;
  make_and_train<T>(context, more...);
}

}  // namespace trials

// Trains one batch, validates with one and saves a checkpoint: whether a trial of `T` runs at all.
// In this process; nothing of it is kept. Of a configuration, an object; hyperparameters are drawn
// from its ranges where `hparams` gives none. Throws InvalidHP where the trial does, and what it
// fails with. What is `more` goes to its constructor, behind the context.
template <class T, class... More>
void test_one_batch(const Json &config, const Json &hparams = {}, const More &...more) {
  typename T::Context context(config, hparams);
  trials::make_and_train<T>(context, more...);
  context.core().close();
}

// Trains a trial of `T` to its end: under `det run`, under mpirun, or by itself with what `options`
// say of it. SIGTERM, where they name no other signals, asks it to save a checkpoint and leave.
// Errors end the run and are thrown. What is `more` goes to its constructor, behind the context.
template <class T, class... More>
void train_trial(const CoreOptions &options = {}, const More &...more) {
  trials::train_to_end<T>(nullptr, options, more...);
}

// The main() of a trial: `int main(int argc, char **argv) { return det::run_trial<T>(argc, argv);
// }`. Without `det run`, `--config FILE` is the configuration in the place of that of the options,
// and `--external-id NAME` the name under which the next start goes on; with `--test` it is
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

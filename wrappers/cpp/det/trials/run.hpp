// Runs a trial of any kind: its workloads, and its main().
#pragma once

#include <det/trials/arguments.hpp>
#include <det/trials/context.hpp>
#include <det/trials/offline.hpp>
#include <det/trials/workloads.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
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

// Whether another rank found the hyperparameters invalid, for which this one waited.
[[nodiscard]] inline bool is_refused_elsewhere(const Error &error) {
  const std::string said = error.what();
  return error.code() == Code::conflict &&
         said.find("det_trial_sequencer_respond_invalid_hparams") != said.npos;
}

// `train` makes a trial and does all workloads of the source that it is given. Errors end the run
// and are thrown; `is_told`, where given: whether standard error has the reason already.
template <class Train>
void run_to_end(const Core &core, const TrialContext &context, const Train &train,
                bool *is_told = nullptr) {
  Sequencer sequencer(core, context.get_global_batch_size());
  const auto refuse = [&sequencer](const char *why) {
    std::fprintf(stderr, "the hyperparameters cannot be trained: %s\n", why);
    sequencer.refuse();
    return Outcome::invalid_hp;
  };
  // While this rank is still in the job: once it has left, the others fail, and a launcher may end
  // all of them before the caller has said why.
  const auto tell = [&context, is_told](const std::exception &failure) {
    const DistributedView job = context.distributed();
    if (job.size() == 1) return;
    if (is_told != nullptr) *is_told = true;
    std::fprintf(stderr, "the trial ends on rank %s: %s\n", std::to_string(job.rank()).c_str(),
                 failure.what());
  };
  Outcome outcome = Outcome::error;
  try {
    train(sequencer);
    outcome = Outcome::ok;
  } catch (const InvalidHP &refusal) {
    outcome = refuse(refusal.what());
  } catch (const Error &error) {
    if (!is_refused_elsewhere(error)) {
      tell(error);
      throw;
    }
    outcome = refuse("another rank found them invalid");
  } catch (const std::exception &failure) {
    tell(failure);
    throw;
  }
  core.close(outcome);
}

template <class T, class... More>
void train(bool *is_told, const CoreOptions &options, const More &...more) {
  const Core core = start(options);
  typename T::Context context(core);
  const auto all = [&](WorkloadSource &workloads) {
    T trial(context, more...);
    typename T::Controller(trial, context, workloads).run();
  };
  run_to_end(core, context, all, is_told);
}

}  // namespace trials

// Trains a trial of `T` to its end: under `det run`, under mpirun, or by itself with what `options`
// say of it. SIGTERM, where they name no other signals, asks it to save a checkpoint and leave.
// Errors end the run and are thrown. What is `more` goes to its constructor, behind the context.
template <class T, class... More>
void train_trial(const CoreOptions &options = {}, const More &...more) {
  trials::train<T>(nullptr, options, more...);
}

namespace trials {

// What a program of a trial of `T` was told to do, `options` saying what it was not told. `is_told`
// as in run_to_end().
template <class T, class... More>
void run_as_told(const Arguments &told, CoreOptions options, bool *is_told, const More &...more) {
  if (!told.config.empty()) {
    options.config = read_config(told.config);
    options.hparams = Json();  // those of the configuration
  }
  if (!told.external_id.empty()) options.external_id = told.external_id;
  if (told.tests_one_batch) test_one_batch<T>(options.config, options.hparams, more...);
  else train<T>(is_told, options, more...);
}

}  // namespace trials

// The main() of a trial: `int main(int argc, char **argv) { return det::run_trial<T>(argc, argv);
// }`. Without `det run`, `--config FILE` is the configuration in the place of that of the options,
// and `--external-id NAME` the name under which the next start goes on; with `--test` it is
// test_one_batch().
template <class T>
int run_trial(int argc, char **argv, CoreOptions options = {}) {
  bool is_told = false;
  try {
    trials::run_as_told<T>(trials::arguments_of(argc, argv), std::move(options), &is_told);
    return 0;
  } catch (const std::exception &failure) {
    if (!is_told) std::fprintf(stderr, "%s: %s\n", argv[0], failure.what());
    return 1;
  }
}

}  // namespace v1
}  // namespace det

// Runs a trial of any kind: its workloads, and its main().
#pragma once

#include <det/nlohmann_json.hpp>
#include <det/trials/context.hpp>

#include <cstdio>

namespace det {
inline namespace v1 {
namespace trials {

// Until there are no more workloads. Each of the three answers with what
// det_trial_sequencer_respond() takes.
template <class Train, class Validate, class Save>
void do_workloads(const TrialSequencer &sequencer, const Train &train, const Validate &validate,
                  const Save &save) {
  while (const std::optional<Workload> workload = sequencer.next()) {
    try {
      if (workload->kind == WorkloadKind::train) sequencer.respond(train(workload->batches));
      else if (workload->kind == WorkloadKind::validate) sequencer.respond(validate());
      else sequencer.respond(save());
    } catch (const InvalidHP &) {
      sequencer.respond_invalid_hparams();
    }
  }
}

}  // namespace trials

// Trains a trial of `T` to its end: under `det run`, under mpirun, or by itself with what `options`
// say of it. Errors end the run and are thrown.
template <class T>
void train_trial(CoreOptions options = {}) {
  // Of the ranks the sequencer decides for all.
  options.preempt_mode = PreemptMode::chief_only;
  const Core core = Core::init(options, Distributed::from_env());
  typename T::Context context(core);
  Outcome outcome = Outcome::error;
  try {
    T trial(context);
    typename T::Controller(trial, context).run();
    outcome = Outcome::ok;
  } catch (const InvalidHP &refusal) {
    std::fprintf(stderr, "the hyperparameters cannot be trained: %s\n", refusal.what());
    outcome = Outcome::invalid_hp;
  }
  core.close(outcome);
}

// The main() of a trial: `int main(int argc, char **argv) { return det::run_trial<T>(argc, argv);
// }`.
template <class T>
int run_trial(int /*argc*/, char **argv, const CoreOptions &options = {}) {
  try {
    train_trial<T>(options);
    return 0;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "%s: %s\n", argv[0], failure.what());
    return 1;
  }
}

}  // namespace v1
}  // namespace det

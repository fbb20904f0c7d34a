// Runs a trial of any kind: its workloads, and its main().
#pragma once

#include <det/nlohmann_json.hpp>
#include <det/trials/context.hpp>

#include <cstdio>
#include <string>

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

// Whether another rank found the hyperparameters invalid, for which this one waited.
[[nodiscard]] inline bool is_refused_elsewhere(const Error &error) {
  const std::string said = error.what();
  return error.code() == Code::conflict &&
         said.find("det_trial_sequencer_respond_invalid_hparams") != said.npos;
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
  const auto sequencer = TrialSequencer::create(core, context.get_global_batch_size());
  const auto refuse = [&sequencer](const char *why) {
    std::fprintf(stderr, "the hyperparameters cannot be trained: %s\n", why);
    sequencer.respond_invalid_hparams();
    return Outcome::invalid_hp;
  };
  Outcome outcome = Outcome::error;
  try {
    T trial(context);
    typename T::Controller(trial, context, sequencer).run();
    outcome = Outcome::ok;
  } catch (const InvalidHP &refusal) {
    outcome = refuse(refusal.what());
  } catch (const Error &error) {
    if (!trials::is_refused_elsewhere(error)) throw;
    outcome = refuse("another rank found them invalid");
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

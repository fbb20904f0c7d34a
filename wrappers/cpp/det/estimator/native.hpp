// Programs that train an estimator without a trial class. Follows
// determined.experimental.estimator.init().
#pragma once

#include <det/estimator/controller.hpp>

namespace det {
inline namespace v1 {
namespace estimator {

// The context that init() returns.
class NativeContext : public TrialContext {
 public:
  // As in a Trial.
  ServingInputReceiverFns serving_input_receiver_fns;

  // Trains these parts as a trial is trained: once, to the end of its run. If init() is to test, it
  // tries one batch of everything, and may be called again.
  void train_and_evaluate(const Estimator &estimator, const TrainSpec &train_spec,
                          const EvalSpec &eval_spec) {
    if (!tests_ && std::exchange(has_trained_, true))
      throw std::logic_error("training an estimator: its run is over; a program trains once");
    Parts trial(*this, estimator, train_spec, eval_spec);
    trials::train<Parts>(*this, [&]() -> Parts & { return trial; });
  }

 private:
  friend struct NativeRun;

  // A trial whose parts exist already.
  class Parts : public Trial {
   public:
    Parts(NativeContext &context, const Estimator &estimator, const TrainSpec &train_spec,
          const EvalSpec &eval_spec)
        : Trial(context),
          serving_(context.serving_input_receiver_fns),
          estimator_(estimator),
          train_spec_(train_spec),
          eval_spec_(eval_spec) {}

    Estimator build_estimator() override { return estimator_; }
    TrainSpec build_train_spec() override { return train_spec_; }
    EvalSpec build_validation_spec() override { return eval_spec_; }
    ServingInputReceiverFns build_serving_input_receiver_fns() override { return serving_; }

   private:
    const ServingInputReceiverFns &serving_;
    const Estimator &estimator_;
    const TrainSpec &train_spec_;
    const EvalSpec &eval_spec_;
  };

  explicit NativeContext(const Core &core) : TrialContext(core), tests_(false) {}
  NativeContext(const Json &config, const Json &hparams)
      : TrialContext(config, hparams), tests_(true) {}

  bool tests_;
  bool has_trained_ = false;
};

using EstimatorNativeContext = NativeContext;

// A context with its run. The run is that of init(), or one of which nothing is kept.
struct NativeRun {
  explicit NativeRun(const CoreOptions &options)
      : started(trials::start(options)), context(started) {}
  NativeRun(const Json &config, const Json &hparams) : context(config, hparams) {}

  Core started;
  NativeContext context;
};

}  // namespace estimator

namespace experimental {
namespace estimator {

// Begins the run of this program: under `det run`, under mpirun, or alone with these `options`.
// With `test` no run begins. train_and_evaluate() then tries the configuration of `options`.
[[nodiscard]] inline std::shared_ptr<det::estimator::NativeContext> init(
    const CoreOptions &options = {}, bool test = false) {
  using det::estimator::NativeRun;
  const auto run = test ? std::make_shared<NativeRun>(options.config, options.hparams)
                        : std::make_shared<NativeRun>(options);
  return {run, &run->context};
}

}  // namespace estimator
}  // namespace experimental
}  // namespace v1
}  // namespace det

// A trial and its context. Follows EstimatorTrial and EstimatorTrialContext.
#pragma once

#include <det/estimator/saved_model.hpp>
#include <det/trials/context.hpp>
#include <det/trials/program.hpp>

namespace det {
inline namespace v1 {
namespace estimator {

using det::InvalidHP;

class TrialContext : public det::TrialContext {
 public:
  // `core` must outlive it.
  explicit TrialContext(const Core &core) : det::TrialContext(core, "det::estimator::Trial") {}
  // For a run of which nothing is kept.
  TrialContext(const Json &config, const Json &hparams)
      : det::TrialContext(config, hparams, "det::estimator::Trial") {}
  // For using a trial by hand, with plain calls. `config` is a configuration, an object. Without
  // `hparams` the hyperparameters are drawn from its ranges.
  [[nodiscard]] static std::shared_ptr<TrialContext> from_config(const Json &config,
                                                                 const Json &hparams = {}) {
    return std::make_shared<TrialContext>(config, hparams);
  }
};

class Controller;

// Derive from it, with a constructor that takes a TrialContext &. The functions are called once
// each, in this order.
class Trial {
 public:
  using Context = TrialContext;
  using Controller = estimator::Controller;

  explicit Trial(TrialContext &context) : context_(context) {}
  virtual ~Trial() = default;
  Trial(const Trial &) = delete;
  Trial &operator=(const Trial &) = delete;

  virtual Estimator build_estimator() = 0;
  virtual TrainSpec build_train_spec() = 0;
  virtual EvalSpec build_validation_spec() = 0;
  // For each function, checkpoints get a model that takes its features. The model is below a
  // directory of the function's name.
  virtual ServingInputReceiverFns build_serving_input_receiver_fns() { return {}; }

 protected:
  [[nodiscard]] TrialContext &context() const { return context_; }

 private:
  TrialContext &context_;
};

using EstimatorTrial = Trial;
using EstimatorTrialContext = TrialContext;
using EstimatorContext = TrialContext;
using EstimatorExperimentalContext = det::TrialContext;

}  // namespace estimator
}  // namespace v1
}  // namespace det

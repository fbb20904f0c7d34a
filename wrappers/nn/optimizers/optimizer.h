// What makes weights better.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "wrappers/nn/keras_fields.h"
#include "wrappers/nn/optimizers/gradient_clipping.h"
#include "wrappers/nn/optimizers/loss_scale.h"
#include "wrappers/nn/schedules/schedule.h"
#include "wrappers/nn/weights.h"

namespace det::nn {

// Walks over all trained weights at once, as they lie side by side. Its state is arrays of the same
// layout, so that what belongs to one weight lies where the weight does.
class Optimizer {
 public:
  struct Slot {
    std::string name;  // "momentum"
    Array values;
  };

  virtual ~Optimizer() = default;

  // "SGD"
  virtual std::string name() const = 0;

  // Makes the slots. Once, before the first step.
  void attach(const Weights &weights);
  // One step: the gradients of `weights` are clipped and applied to their values. Those of a scaled
  // loss are divided by the scale before; where they are then not finite and the scale is not fixed
  // the step counts, and nothing else changes.
  void apply(const Weights &weights);

  // A step whose gradients are kept for a later one: it counts, and nothing changes.
  void skip() { ++iterations_; }

  // Of the next step.
  double learning_rate() const;
  // Before anything divides it; none where a schedule says what it is.
  std::optional<double> base_learning_rate() const {
    return schedule_ ? std::nullopt : std::optional(learning_rate_);
  }
  // Throws Code::state where a schedule says what it is.
  void set_learning_rate(double learning_rate);
  // The `decay` of Keras' older optimizers: from now on the rate is divided by 1 + decay * step.
  void divide_by_steps(double decay) { decay_ = decay; }
  // What the loss is to be multiplied by; none: it is not.
  const std::optional<LossScale> &loss_scale() const { return loss_scale_; }
  void scale_loss(const LossScale &scale) { loss_scale_ = scale; }
  int64_t iterations() const { return iterations_; }
  void set_iterations(int64_t iterations) { iterations_ = iterations; }
  // What a checkpoint needs beside iterations() to go on as before.
  const std::vector<Slot> &slots() const { return slots_; }
  // The same by weights, those of attach(): `give` is called with "dense/kernel/momentum" and where
  // it lies in the slot, for each trained weight of the first slot, then of the next.
  void for_each_state(const Weights &weights,
                      const std::function<void(const std::string &, const Array &)> &give) const;

 protected:
  Optimizer(Fields &fields, double usual_learning_rate, double usual_weight_decay = 0);

  struct SlotOptions {
    std::string name;
    float initial = 0;
  };
  virtual std::vector<SlotOptions> slot_options() const { return {}; }
  // Of as many elements each; iterations() are those before this step.
  virtual void update(std::span<float> weights, std::span<const float> gradients) = 0;
  float *slot(size_t index) const { return slots_.at(index).values.data(); }

 private:
  struct MovingAverage {
    float momentum;
    int64_t overwrites_every;  // steps; 0: never
  };
  void read_moving_average(Fields &fields);
  void follow(std::span<float> weights);

  double learning_rate_ = 0;
  double decay_ = 0;
  std::shared_ptr<const Schedule> schedule_;
  GradientClipping clipping_;
  std::optional<LossScale> loss_scale_;
  float weight_decay_ = 0;
  std::optional<MovingAverage> average_;
  int64_t iterations_ = 0;
  std::vector<Slot> slots_;  // the moving average is the last
};

// From a name in any case ("adam"), or an object with "class_name" and "config": Keras' optimizers,
// its older ones (module "keras.optimizers.legacy"), and those of TensorFlow 1
// ("AdagradOptimizer"); and "LossScaleOptimizer" around one of them. Throws Code::invalid, with the
// nearest name.
std::unique_ptr<Optimizer> make_optimizer(const Json &config);

}  // namespace det::nn

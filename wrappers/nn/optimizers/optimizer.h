// What makes weights better.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/optimizers/schedule.h"
#include "wrappers/nn/optimizers/update_rule.h"
#include "wrappers/nn/weights/weights.h"

namespace det::nn {

class WeightArithmetic;

class GradientClipping {
 public:
  // "clipnorm", "clipvalue", "global_clipnorm": one of them, or none. Throws Code::invalid.
  explicit GradientClipping(Fields &fields);

  void clip(const Weights &weights, WeightArithmetic &arithmetic) const;

 private:
  std::optional<double> norm_;         // of each weight
  std::optional<double> global_norm_;  // of all of them together
  std::optional<double> value_;        // of each element
};

class WeightArithmetic;

// A fixed factor, or one that finds its size: it is halved, and the step skipped, where gradients
// are not finite, and doubled after so many steps in which they were.
class LossScale {
 public:
  // What changes as it is used, and a checkpoint keeps.
  struct State {
    float scale = 0x1p15F;
    int64_t good_steps = 0;  // since the scale was changed
  };

  // As Keras takes it under mixed_float16.
  LossScale() = default;
  // The fields of Keras' LossScaleOptimizer beside the optimizer. Throws Code::invalid.
  explicit LossScale(Fields &fields);

  const State &state() const { return state_; }
  // What is fixed stays as it is.
  void set_state(const State &state) {
    if (growth_steps_ > 0) state_ = state;
  }

  // Divides gradients by it. Says whether they are to be applied: where several ranks train, all
  // say the same of the same gradients.
  bool unscale(const Array &gradients, WeightArithmetic &arithmetic);

 private:
  void follow(bool is_finite);

  State state_;
  int64_t growth_steps_ = 2000;  // 0: the scale is fixed
};

class Backend;
class WeightArithmetic;

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

  // Makes the slots, in memory of the back end. Once, before the first step.
  void attach(const Weights &weights, Backend &backend);
  // One step: the gradients of `weights` are clipped and applied to their values. Those of a scaled
  // loss are divided by the scale before; where they are then not finite and the scale is not fixed
  // the step counts, and nothing else changes.
  // Everything is done by the arithmetic of the back end, which may have more to do afterwards;
  // only where weights have constraints, which are applied last, it is waited for.
  void apply(const Weights &weights, Backend &backend);

  // A step whose gradients are kept for a later one: it counts, and nothing changes.
  void count_step() { ++iterations_; }

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
  // Of the next step: iterations() are those before it. It takes the slots of slot_options().
  virtual UpdateRule rule() = 0;

 private:
  struct MovingAverage {
    float momentum;
    int64_t overwrites_every;  // steps; 0: never
  };
  void read_moving_average(Fields &fields);
  void follow(const Array &weights, WeightArithmetic &arithmetic);
  static void constrain(const Weights &weights, Backend &backend);

  double learning_rate_ = 0;
  double decay_ = 0;
  std::shared_ptr<const Schedule> schedule_;
  GradientClipping clipping_;
  std::optional<LossScale> loss_scale_;
  float weight_decay_ = 0;
  std::optional<MovingAverage> average_;
  int64_t iterations_ = 0;
  std::vector<Slot> slots_;          // the moving average is the last
  std::vector<float *> rule_slots_;  // those before it
};

// From a name in any case ("adam"), or an object with "class_name" and "config": Keras' optimizers,
// its older ones (module "keras.optimizers.legacy"), and those of TensorFlow 1
// ("AdagradOptimizer"); and "LossScaleOptimizer" around one of them. Throws Code::invalid, with the
// nearest name.
std::unique_ptr<Optimizer> make_optimizer(const Json &config);

}  // namespace det::nn

// Optimizers that go by the sum of all gradients so far: Adagrad, Adadelta, FTRL.
#include <algorithm>
#include <cmath>

#include "wrappers/nn/optimizers/editions.h"

namespace det::nn {

namespace {

float read_float(Fields &fields, const char *key, double usual) {
  return static_cast<float>(fields.number(key, usual));
}

class Adagrad : public Optimizer {
 public:
  Adagrad(Fields &fields, Edition edition)
      : Optimizer(fields, 0.001),
        initial_(read_float(fields, "initial_accumulator_value", 0.1)),
        epsilon_(edition == Edition::v1 ? 0 : read_float(fields, "epsilon", 1e-7)),
        is_outside_(edition == Edition::legacy) {}

  std::string name() const override { return "Adagrad"; }

 protected:
  std::vector<SlotOptions> slot_options() const override { return {{"accumulator", initial_}}; }

  void update(std::span<float> weights, std::span<const float> gradients) override {
    const auto rate = static_cast<float>(learning_rate());
    float *sum = slot(0);
    for (size_t i = 0; i < weights.size(); ++i) {
      sum[i] += gradients[i] * gradients[i];
      const float by = is_outside_ ? std::sqrt(sum[i]) + epsilon_ : std::sqrt(sum[i] + epsilon_);
      weights[i] -= rate * gradients[i] / by;
    }
  }

 private:
  const float initial_, epsilon_;
  const bool is_outside_;
};

class Adadelta : public Optimizer {
 public:
  explicit Adadelta(Fields &fields)
      : Optimizer(fields, 0.001),
        rho_(fields.number("rho", 0.95), Edition::keras),
        epsilon_(read_float(fields, "epsilon", 1e-7)) {}

  std::string name() const override { return "Adadelta"; }

 protected:
  std::vector<SlotOptions> slot_options() const override {
    return {{"accumulated_grad"}, {"accumulated_delta_var"}};
  }

  void update(std::span<float> weights, std::span<const float> gradients) override {
    const auto rate = static_cast<float>(learning_rate());
    float *squares = slot(0);
    float *changes = slot(1);
    for (size_t i = 0; i < weights.size(); ++i) {
      const float g = gradients[i];
      squares[i] = rho_.value * squares[i] + rho_.rest * g * g;
      const float change = std::sqrt(changes[i] + epsilon_) * g / std::sqrt(squares[i] + epsilon_);
      changes[i] = rho_.value * changes[i] + rho_.rest * change * change;
      weights[i] -= rate * change;
    }
  }

 private:
  const Rate rho_;
  const float epsilon_;
};

class Ftrl : public Optimizer {
 public:
  explicit Ftrl(Fields &fields)
      : Optimizer(fields, 0.001),
        power_(-read_float(fields, "learning_rate_power", -0.5)),
        initial_(read_float(fields, "initial_accumulator_value", 0.1)),
        l1_(read_float(fields, "l1_regularization_strength", 0)),
        l2_(read_float(fields, "l2_regularization_strength", 0)),
        shrinkage_(read_float(fields, "l2_shrinkage_regularization_strength", 0)),
        beta_(read_float(fields, "beta", 0)) {}

  std::string name() const override { return "Ftrl"; }

 protected:
  std::vector<SlotOptions> slot_options() const override {
    return {{"accumulator", initial_}, {"linear"}};
  }

  void update(std::span<float> weights, std::span<const float> gradients) override {
    if (power_ == 0.5F) walk(weights, gradients, [](float sum) { return std::sqrt(sum); });
    else walk(weights, gradients, [this](float sum) { return std::pow(sum, power_); });
  }

 private:
  template <class Power>
  void walk(std::span<float> weights, std::span<const float> gradients, const Power &power) {
    const auto rate = static_cast<float>(learning_rate());
    const float l2 = l2_ + beta_ / (2 * rate);
    float *sum = slot(0);
    float *linear = slot(1);
    for (size_t i = 0; i < weights.size(); ++i) {
      const float g = gradients[i];
      const float before = power(sum[i]);
      sum[i] += g * g;
      const float now = power(sum[i]);
      linear[i] += g + 2 * shrinkage_ * weights[i] - (now - before) / rate * weights[i];
      const float beyond = std::clamp(linear[i], -l1_, l1_) - linear[i];
      weights[i] = beyond / (now / rate + 2 * l2);
    }
  }

  const float power_, initial_, l1_, l2_, shrinkage_, beta_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adagrad(Fields &fields, Edition edition) {
  return std::make_unique<Adagrad>(fields, edition);
}

std::unique_ptr<Optimizer> make_adadelta(Fields &fields) {
  return std::make_unique<Adadelta>(fields);
}

std::unique_ptr<Optimizer> make_ftrl(Fields &fields) { return std::make_unique<Ftrl>(fields); }

}  // namespace det::nn

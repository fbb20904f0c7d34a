#include <cmath>

#include "wrappers/nn/optimizers/editions.h"
#include "wrappers/nn/vectorised.h"

namespace det::nn {

namespace {

DET_VECTORISED
void descend(float *weights, const float *gradients, size_t count, float rate) {
  for (size_t i = 0; i < count; ++i) weights[i] -= rate * gradients[i];
}

DET_VECTORISED
void descend_with_momentum(float *weights, const float *gradients, float *velocities, size_t count,
                           float momentum, float taken, float moved) {
  for (size_t i = 0; i < count; ++i) {
    velocities[i] = momentum * velocities[i] - taken * gradients[i];
    weights[i] += moved * velocities[i];
  }
}

DET_VECTORISED
void descend_with_nesterov(float *weights, const float *gradients, float *velocities, size_t count,
                           float momentum, float taken, float moved) {
  for (size_t i = 0; i < count; ++i) {
    const float change = taken * gradients[i];
    velocities[i] = momentum * velocities[i] - change;
    weights[i] += moved * (momentum * velocities[i] - change);
  }
}

class Sgd : public Optimizer {
 public:
  Sgd(Fields &fields, Edition edition)
      : Optimizer(fields, 0.01),
        momentum_(static_cast<float>(fields.number("momentum", 0))),
        is_nesterov_(fields.flag(edition == Edition::v1 ? "use_nesterov" : "nesterov", false)),
        is_v1_(edition == Edition::v1) {}

  std::string name() const override { return "SGD"; }

 protected:
  std::vector<SlotOptions> slot_options() const override {
    if (momentum_ == 0) return {};
    return {{"momentum"}};
  }

  void update(std::span<float> weights, std::span<const float> gradients) override {
    const auto rate = static_cast<float>(learning_rate());
    const size_t count = weights.size();
    if (momentum_ == 0) {
      descend(weights.data(), gradients.data(), count, rate);
      return;
    }
    // Velocities of TensorFlow 1 are without the rate.
    const float taken = is_v1_ ? -1 : rate;
    const float moved = is_v1_ ? -rate : 1;
    const auto step = is_nesterov_ ? descend_with_nesterov : descend_with_momentum;
    step(weights.data(), gradients.data(), slot(0), count, momentum_, taken, moved);
  }

 private:
  const float momentum_;
  const bool is_nesterov_, is_v1_;
};

class Lion : public Optimizer {
 public:
  explicit Lion(Fields &fields)
      : Optimizer(fields, 0.0001),
        beta_1_(static_cast<float>(fields.number("beta_1", 0.9))),
        beta_2_(static_cast<float>(fields.number("beta_2", 0.99))) {}

  std::string name() const override { return "Lion"; }

 protected:
  std::vector<SlotOptions> slot_options() const override { return {{"m"}}; }

  void update(std::span<float> weights, std::span<const float> gradients) override {
    const auto rate = static_cast<float>(learning_rate());
    float *m = slot(0);
    for (size_t i = 0; i < weights.size(); ++i) {
      const float direction = m[i] * beta_1_ + gradients[i] * (1 - beta_1_);
      weights[i] -= rate * static_cast<float>((direction > 0) - (direction < 0));
      m[i] = m[i] * beta_2_ + gradients[i] * (1 - beta_2_);
    }
  }

 private:
  const float beta_1_, beta_2_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(Fields &fields, Edition edition) {
  return std::make_unique<Sgd>(fields, edition);
}

std::unique_ptr<Optimizer> make_lion(Fields &fields) { return std::make_unique<Lion>(fields); }

}  // namespace det::nn

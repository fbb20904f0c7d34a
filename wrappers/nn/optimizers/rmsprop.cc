#include <cmath>

#include "wrappers/nn/optimizers/editions.h"

namespace det::nn {

namespace {

class RmsProp : public Optimizer {
 public:
  RmsProp(Fields &fields, Edition edition)
      : Optimizer(fields, 0.001),
        rho_(fields.number(edition == Edition::v1 ? "decay" : "rho", 0.9), edition),
        momentum_(static_cast<float>(fields.number("momentum", 0))),
        epsilon_(
            static_cast<float>(fields.number("epsilon", edition == Edition::v1 ? 1e-10 : 1e-7))),
        is_centered_(fields.flag("centered", false)),
        edition_(edition) {}

  std::string name() const override { return "RMSprop"; }

 protected:
  std::vector<SlotOptions> slot_options() const override {
    std::vector<SlotOptions> slots{{"velocity", edition_ == Edition::v1 ? 1.0F : 0.0F}};
    if (momentum_ != 0) slots.push_back({"momentum"});
    if (is_centered_) slots.push_back({"average_gradient"});
    return slots;
  }

  void update(std::span<float> weights, std::span<const float> gradients) override {
    const auto rate = static_cast<float>(learning_rate());
    float *velocity = slot(0);
    float *moment = momentum_ != 0 ? slot(1) : nullptr;
    float *mean = is_centered_ ? slot(momentum_ != 0 ? 2 : 1) : nullptr;
    // The older one without momentum adds epsilon to the root.
    const bool is_outside = edition_ == Edition::legacy && momentum_ == 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      const float g = gradients[i];
      velocity[i] = rho_.value * velocity[i] + rho_.rest * g * g;
      float size = velocity[i];
      if (mean != nullptr) {
        mean[i] = rho_.value * mean[i] + rho_.rest * g;
        size -= mean[i] * mean[i];
      }
      const float by = is_outside ? std::sqrt(size) + epsilon_ : std::sqrt(size + epsilon_);
      float change = rate * g / by;
      if (moment != nullptr) change = moment[i] = momentum_ * moment[i] + change;
      weights[i] -= change;
    }
  }

 private:
  const Rate rho_;
  const float momentum_, epsilon_;
  const bool is_centered_;
  const Edition edition_;
};

}  // namespace

std::unique_ptr<Optimizer> make_rmsprop(Fields &fields, Edition edition) {
  return std::make_unique<RmsProp>(fields, edition);
}

}  // namespace det::nn

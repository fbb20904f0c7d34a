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

  UpdateRule rule() override {
    // The older one without momentum adds epsilon to the root.
    const bool is_outside = edition_ == Edition::legacy && momentum_ == 0;
    const RmsPropFactors by{static_cast<float>(learning_rate()), rho_.value, rho_.rest, epsilon_,
                            is_outside};
    if (momentum_ == 0) {
      if (is_centered_) return CentredRmsPropRule{by};
      return RmsPropRule{by};
    }
    if (is_centered_) return CentredRmsPropMomentumRule{by, momentum_};
    return RmsPropMomentumRule{by, momentum_};
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

#include "wrappers/nn/optimizers/editions.h"

namespace det::nn {

namespace {

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

  UpdateRule rule() override {
    const auto rate = static_cast<float>(learning_rate());
    if (momentum_ == 0) return SgdRule{rate};
    // Velocities of TensorFlow 1 are without the rate.
    const float taken = is_v1_ ? -1 : rate;
    const float moved = is_v1_ ? -rate : 1;
    if (is_nesterov_) return NesterovRule{momentum_, taken, moved};
    return MomentumRule{momentum_, taken, moved};
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

  UpdateRule rule() override {
    return LionRule{static_cast<float>(learning_rate()), beta_1_, beta_2_};
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

// Adam and its relatives: each divides a mean of gradients by how large they are.
#include <cmath>

#include "wrappers/nn/optimizers/editions.h"

namespace det::nn {

namespace {

// What all of them read. TensorFlow 1 has other names for it.
class Moments : public Optimizer {
 protected:
  Moments(Fields &fields, Edition edition, double usual_weight_decay = 0)
      : Optimizer(fields, 0.001, usual_weight_decay),
        beta_1_(fields.number(edition == Edition::v1 ? "beta1" : "beta_1", 0.9), edition),
        beta_2_(fields.number(edition == Edition::v1 ? "beta2" : "beta_2", 0.999), edition),
        epsilon_(
            static_cast<float>(fields.number("epsilon", edition == Edition::v1 ? 1e-8 : 1e-7))) {}

  float rate() const { return static_cast<float>(learning_rate()); }
  // In float32 all through, as TensorFlow has it: of the first steps that is not what double gives.
  float power(const Rate &beta) const {
    return std::pow(beta.value, static_cast<float>(iterations() + 1));
  }

  const Rate beta_1_, beta_2_;
  const float epsilon_;
};

class Adam : public Moments {
 public:
  Adam(Fields &fields, Edition edition, const char *name, double usual_weight_decay)
      : Moments(fields, edition, usual_weight_decay),
        name_(name),
        is_amsgrad_(fields.flag("amsgrad", false)) {}

  std::string name() const override { return name_; }

 protected:
  std::vector<SlotOptions> slot_options() const override {
    std::vector<SlotOptions> slots{{"m"}, {"v"}};
    if (is_amsgrad_) slots.push_back({"vhat"});
    return slots;
  }

  UpdateRule rule() override {
    const float alpha = rate() * std::sqrt(1 - power(beta_2_)) / (1 - power(beta_1_));
    if (is_amsgrad_) return AmsgradRule{alpha, beta_1_.rest, beta_2_.rest, epsilon_};
    return AdamRule{alpha, beta_1_.rest, beta_2_.rest, epsilon_};
  }

 private:
  const std::string name_;
  const bool is_amsgrad_;
};

class Adamax : public Moments {
 public:
  Adamax(Fields &fields, Edition edition) : Moments(fields, edition) {}

  std::string name() const override { return "Adamax"; }

 protected:
  std::vector<SlotOptions> slot_options() const override { return {{"m"}, {"u"}}; }

  UpdateRule rule() override {
    const float alpha = rate() / (1 - power(beta_1_));
    return AdamaxRule{alpha, beta_1_.rest, beta_2_.value, epsilon_};
  }
};

class Nadam : public Moments {
 public:
  // Takes the rest of rates as TensorFlow's kernels do, in both editions. What the older one calls
  // decay is that of the momenta.
  Nadam(Fields &fields, Edition edition)
      : Moments(fields, Edition::legacy),
        slowness_(edition == Edition::keras ? 1.0F
                                            : static_cast<float>(fields.number("decay", 0.004))) {}

  std::string name() const override { return "Nadam"; }

 protected:
  std::vector<SlotOptions> slot_options() const override { return {{"m"}, {"v"}}; }

  UpdateRule rule() override {
    const float now = momentum_at(iterations() + 1);
    const float next = momentum_at(iterations() + 2);
    const float product = product_until(iterations() + 1);
    return NadamRule{.alpha = rate(),
                     .rest_1 = beta_1_.rest,
                     .rest_2 = beta_2_.rest,
                     .epsilon = epsilon_,
                     .by_m = next / (1 - product * next),
                     .by_gradient = (1 - now) / (1 - product),
                     .by_v = 1 / (1 - power(beta_2_))};
  }

 private:
  float momentum_at(int64_t step) const {
    return beta_1_.value * (1 - 0.5F * std::pow(0.96F, slowness_ * static_cast<float>(step)));
  }

  // Of the momenta of all steps; after a restart it is multiplied anew.
  float product_until(int64_t step) {
    if (multiplied_ > step) {
      multiplied_ = 0;
      product_ = 1;
    }
    while (multiplied_ < step) {
      const float before = product_;
      product_ *= momentum_at(++multiplied_);
      // Later momenta are larger: they change it neither.
      if (product_ == before || std::isnan(product_)) multiplied_ = step;
    }
    return product_;
  }

  const float slowness_;
  int64_t multiplied_ = 0;
  float product_ = 1;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(Fields &fields, Edition edition) {
  return std::make_unique<Adam>(fields, edition, "Adam", 0);
}

std::unique_ptr<Optimizer> make_adamw(Fields &fields) {
  return std::make_unique<Adam>(fields, Edition::keras, "AdamW", 0.004);
}

std::unique_ptr<Optimizer> make_adamax(Fields &fields, Edition edition) {
  return std::make_unique<Adamax>(fields, edition);
}

std::unique_ptr<Optimizer> make_nadam(Fields &fields, Edition edition) {
  return std::make_unique<Nadam>(fields, edition);
}

}  // namespace det::nn

// Optimizers that go by the sum of all gradients so far: Adagrad, Adadelta, FTRL.
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

  UpdateRule rule() override {
    return AdagradRule{static_cast<float>(learning_rate()), epsilon_, is_outside_};
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

  UpdateRule rule() override {
    return AdadeltaRule{static_cast<float>(learning_rate()), rho_.value, rho_.rest, epsilon_};
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

  UpdateRule rule() override {
    const auto rate = static_cast<float>(learning_rate());
    return FtrlRule{.rate = rate,
                    .power = power_,
                    .l1 = l1_,
                    .l2 = l2_ + beta_ / (2 * rate),
                    .shrinkage = shrinkage_};
  }

 private:
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

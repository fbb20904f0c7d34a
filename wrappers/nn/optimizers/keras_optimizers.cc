// The optimizers of Keras 2.15 by their names, with its older ones and those of TensorFlow 1.

#include <cmath>
#include <functional>
#include <map>
#include <type_traits>

#include "core/base/error.h"
#include "wrappers/nn/configuration/named_config.h"
#include "wrappers/nn/optimizers/optimizer.h"

namespace det::nn {

namespace {

// The optimizers of Keras 2.15, and what its older ones and TensorFlow 1 compute otherwise.
enum class Edition {
  keras,
  legacy,  // tf.keras.optimizers.legacy, which tf.estimator uses as well
  v1,      // tf.compat.v1.train
};

// A part that is kept at each step, and the rest that is new. Keras takes the rest of the number
// that was given, TensorFlow's kernels of what float32 makes of it: for rates near 1 that differs.
struct Rate {
  Rate(double given, Edition edition)
      : value(static_cast<float>(given)),
        rest(edition == Edition::keras ? static_cast<float>(1 - given) : 1 - value) {}

  float value;
  float rest;
};

float read_float(Fields &fields, const char *key, double usual) {
  return static_cast<float>(fields.number(key, usual));
}

class Sgd : public Optimizer {
 public:
  Sgd(Fields &fields, Edition edition)
      : Optimizer(fields, 0.01),
        momentum_(read_float(fields, "momentum", 0)),
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
        beta_1_(read_float(fields, "beta_1", 0.9)),
        beta_2_(read_float(fields, "beta_2", 0.99)) {}

  std::string name() const override { return "Lion"; }

 protected:
  std::vector<SlotOptions> slot_options() const override { return {{"m"}}; }

  UpdateRule rule() override {
    return LionRule{static_cast<float>(learning_rate()), beta_1_, beta_2_};
  }

 private:
  const float beta_1_, beta_2_;
};

// What all of them read. TensorFlow 1 has other names for it.
class Moments : public Optimizer {
 protected:
  Moments(Fields &fields, Edition edition, double usual_weight_decay = 0)
      : Optimizer(fields, 0.001, usual_weight_decay),
        beta_1_(fields.number(edition == Edition::v1 ? "beta1" : "beta_1", 0.9), edition),
        beta_2_(fields.number(edition == Edition::v1 ? "beta2" : "beta_2", 0.999), edition),
        epsilon_(read_float(fields, "epsilon", edition == Edition::v1 ? 1e-8 : 1e-7)) {}

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
  Adam(Fields &fields, Edition edition, const char *name = "Adam", double usual_weight_decay = 0)
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

class AdamW : public Adam {
 public:
  explicit AdamW(Fields &fields) : Adam(fields, Edition::keras, "AdamW", 0.004) {}
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
        slowness_(edition == Edition::keras ? 1.0F : read_float(fields, "decay", 0.004)) {}

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

class RmsProp : public Optimizer {
 public:
  RmsProp(Fields &fields, Edition edition)
      : Optimizer(fields, 0.001),
        rho_(fields.number(edition == Edition::v1 ? "decay" : "rho", 0.9), edition),
        momentum_(read_float(fields, "momentum", 0)),
        epsilon_(read_float(fields, "epsilon", edition == Edition::v1 ? 1e-10 : 1e-7)),
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

using OptimizerMaker = std::function<std::unique_ptr<Optimizer>(Fields &fields, Edition edition)>;

template <class O>
OptimizerMaker making() {
  return [](Fields &fields, Edition edition) -> std::unique_ptr<Optimizer> {
    if constexpr (std::is_constructible_v<O, Fields &, Edition>)
      return std::make_unique<O>(fields, edition);
    else return std::make_unique<O>(fields);
  };
}

const std::map<std::string, OptimizerMaker> &optimizers() {
  static const std::map<std::string, OptimizerMaker> all{
      {"adadelta", making<Adadelta>()}, {"adagrad", making<Adagrad>()},
      {"adam", making<Adam>()},         {"adamax", making<Adamax>()},
      {"adamw", making<AdamW>()},       {"ftrl", making<Ftrl>()},
      {"lion", making<Lion>()},         {"nadam", making<Nadam>()},
      {"rmsprop", making<RmsProp>()},   {"sgd", making<Sgd>()},
  };
  return all;
}

// "AdagradOptimizer" of TensorFlow 1 is "adagrad".
std::string of_v1(const std::string &name) {
  const std::string ending = "optimizer";
  if (!name.ends_with(ending)) return name;
  const std::string stem = name.substr(0, name.size() - ending.size());
  return stem == "gradientdescent" || stem == "momentum" ? "sgd" : stem;
}

std::unique_ptr<Optimizer> make_scaled(const NamedConfig &named) {
  Fields fields(named.config, "the optimizer " + named.name);
  auto optimizer = make_optimizer(fields.any("inner_optimizer"));
  if (optimizer->loss_scale())
    throw Error(Code::invalid, "reading " + fields.where() + ": the loss is scaled twice");
  optimizer->scale_loss(LossScale(fields));
  fields.finish();
  return optimizer;
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const Json &config) {
  const NamedConfig named = named_config(config, "an optimizer");
  const std::string folded = folded_name(named.name);
  // The second is that of Keras' newer optimizers.
  if (folded == "lossscaleoptimizer" || folded == "lossscaleoptimizerv3") return make_scaled(named);
  const std::string name = of_v1(folded);
  const auto known = optimizers().find(name);
  if (known == optimizers().end()) refuse_name(named.name, "optimizer", keys_of(optimizers()));
  const bool is_legacy = named.module.find("legacy") != std::string::npos;
  const Edition edition = name != folded ? Edition::v1
                          : is_legacy    ? Edition::legacy
                                         : Edition::keras;
  Fields fields(named.config, "the optimizer " + named.name);
  auto optimizer = known->second(fields, edition);
  if (edition == Edition::legacy && name != "nadam")
    optimizer->divide_by_steps(fields.number("decay", 0));
  fields.finish();
  return optimizer;
}

}  // namespace det::nn

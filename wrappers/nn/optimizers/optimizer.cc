#include "wrappers/nn/optimizers/optimizer.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/arithmetic/weight_arithmetic.h"
#include "wrappers/nn/backend.h"

namespace det::nn {

GradientClipping::GradientClipping(Fields &fields)
    : norm_(fields.number_or_none("clipnorm")),
      global_norm_(fields.number_or_none("global_clipnorm")),
      value_(fields.number_or_none("clipvalue")) {
  if (norm_.has_value() + global_norm_.has_value() + value_.has_value() > 1)
    throw Error(Code::invalid,
                "reading " + fields.where() +
                    ": of 'clipnorm', 'global_clipnorm' and 'clipvalue' only one can be given");
  for (const auto &limit : {norm_, global_norm_, value_})
    if (limit && !(*limit >= 0))
      throw Error(Code::invalid,
                  "reading " + fields.where() + ": gradients cannot be clipped to less than 0");
}

// A limit of 0 is none, as in Keras.
void GradientClipping::clip(const Weights &weights, WeightArithmetic &arithmetic) const {
  const Array &all = weights.gradients();
  if (norm_.value_or(0) > 0)
    for (const Weight &weight : weights.all())
      if (weight.gradient) arithmetic.shorten(weight.gradient, *norm_);
  if (global_norm_.value_or(0) > 0) arithmetic.shorten(all, *global_norm_);
  if (value_.value_or(0) > 0) arithmetic.limit(all, static_cast<float>(*value_));
}

LossScale::LossScale(Fields &fields) {
  const bool is_dynamic = fields.flag("dynamic", true);
  const auto scale = fields.number_or_none("initial_scale");
  if (scale) state_.scale = static_cast<float>(*scale);
  const auto refuse = [&](const char *problem) {
    throw Error(Code::invalid, "reading " + fields.where() + ": " + problem);
  };
  if (!is_dynamic && !scale) refuse("'initial_scale' is missing, the fixed scale");
  if (!std::isfinite(state_.scale) || state_.scale <= 0)
    refuse("'initial_scale' must be a number above 0");
  if (fields.has("dynamic_growth_steps")) {
    if (!is_dynamic) refuse("'dynamic_growth_steps' is given, and the scale is not 'dynamic'");
    growth_steps_ = fields.positive_integer("dynamic_growth_steps");
  } else {
    fields.any("dynamic_growth_steps");
    if (!is_dynamic) growth_steps_ = 0;
  }
}

bool LossScale::unscale(const Array &gradients, WeightArithmetic &arithmetic) {
  const bool is_finite = arithmetic.scale_and_check(gradients, 1 / state_.scale);
  if (growth_steps_ == 0) return true;
  follow(is_finite);
  return is_finite;
}

void LossScale::follow(bool is_finite) {
  if (!is_finite) {
    state_ = {std::max(state_.scale / 2, 1.0F), 0};
    return;
  }
  if (++state_.good_steps < growth_steps_) return;
  state_.good_steps = 0;
  if (std::isfinite(state_.scale * 2)) state_.scale *= 2;
}

namespace {

double checked_rate(double rate, const std::string &doing) {
  if (std::isfinite(rate) && rate >= 0) return rate;
  throw Error(Code::invalid,
              doing + ": a learning rate is a number from 0, and this is " + std::to_string(rate));
}

}  // namespace

Optimizer::Optimizer(Fields &fields, double usual_learning_rate, double usual_weight_decay)
    : clipping_(fields) {
  const Json &rate = fields.any("learning_rate", usual_learning_rate);
  if (rate.is_object()) schedule_ = make_schedule(rate, fields.where());
  else
    learning_rate_ = checked_rate(fields.number("learning_rate", usual_learning_rate),
                                  "reading " + fields.where());
  const bool has_decay = fields.is_given("weight_decay");
  const double decay = fields.number_or_none("weight_decay").value_or(0);
  weight_decay_ = static_cast<float>(has_decay ? decay : usual_weight_decay);
  read_moving_average(fields);
  for (const char *key : {"name", "jit_compile", "is_legacy_optimizer", "use_locking"})
    fields.without_effect(key);
}

void Optimizer::read_moving_average(Fields &fields) {
  const bool is_used = fields.flag("use_ema", false);
  const double momentum = fields.number("ema_momentum", 0.99);
  const auto every = fields.number_or_none("ema_overwrite_frequency");
  if (!is_used) return;
  if (!(momentum >= 0 && momentum <= 1) || every.value_or(1) < 1)
    throw Error(Code::invalid, "reading " + fields.where() +
                                   ": 'ema_momentum' must be between 0 and 1, and "
                                   "'ema_overwrite_frequency' null or 1 and more");
  average_ = {static_cast<float>(momentum), static_cast<int64_t>(every.value_or(0))};
}

double Optimizer::learning_rate() const {
  const double rate = schedule_ ? schedule_->at(iterations_) : learning_rate_;
  return rate / (1 + decay_ * static_cast<double>(iterations_));
}

void Optimizer::set_learning_rate(double learning_rate) {
  if (schedule_)
    throw Error(Code::state, "setting the learning rate of the optimizer " + name() +
                                 ": a schedule says what it is; compile the model with a number");
  learning_rate_ = checked_rate(learning_rate, "setting the learning rate of " + name());
}

void Optimizer::attach(const Weights &weights, Backend &backend) {
  const ArrayType type = weights.trained().type();
  WeightArithmetic &arithmetic = backend.arithmetic();
  slots_.clear();
  rule_slots_.clear();
  for (const SlotOptions &options : slot_options()) {
    slots_.push_back({options.name, backend.make_array(type)});
    rule_slots_.push_back(slots_.back().values.data());
    if (options.initial != 0) arithmetic.fill(slots_.back().values, options.initial);
  }
  if (average_) {
    slots_.push_back({"average", backend.make_array(type)});
    arithmetic.copy(weights.trained(), slots_.back().values);
  }
  backend.synchronize();
}

void Optimizer::for_each_state(
    const Weights &weights,
    const std::function<void(const std::string &, const Array &)> &give) const {
  for (const Slot &slot : slots_)
    for (const Weight &weight : weights.all())
      if (weight.gradient) give(weight.name + "/" + slot.name, weights.beside(weight, slot.values));
}

void Optimizer::apply(const Weights &weights, Backend &backend) {
  WeightArithmetic &arithmetic = backend.arithmetic();
  const Array &values = weights.trained();
  const Array &gradients = weights.gradients();
  if (loss_scale_ && !loss_scale_->unscale(gradients, arithmetic)) return count_step();
  clipping_.clip(weights, arithmetic);
  if (weight_decay_ != 0)
    arithmetic.decay(values, weight_decay_ * static_cast<float>(learning_rate()));
  arithmetic.update(rule(), values, gradients, rule_slots_);
  ++iterations_;
  if (average_) follow(values, arithmetic);
  constrain(weights, backend);
}

void Optimizer::constrain(const Weights &weights, Backend &backend) {
  bool is_at_rest = false;
  for (const Weight &weight : weights.all()) {
    if (!weight.options.constraint || !weight.options.is_trained) continue;
    if (!is_at_rest) backend.synchronize();
    is_at_rest = true;
    weight.options.constraint->apply(weight.value);
  }
}

void Optimizer::follow(const Array &weights, WeightArithmetic &arithmetic) {
  const Array &average = slots_.back().values;
  arithmetic.follow(average, weights, average_->momentum);
  if (average_->overwrites_every > 0 && iterations_ % average_->overwrites_every == 0)
    arithmetic.copy(average, weights);
}

}  // namespace det::nn

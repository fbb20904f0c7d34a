#include "wrappers/nn/optimizers/optimizer.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::nn {

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

void Optimizer::attach(const Weights &weights) {
  const ArrayType type = weights.trained().type();
  slots_.clear();
  for (const SlotOptions &options : slot_options()) {
    slots_.push_back({options.name, Array(type)});
    const auto values = slots_.back().values.elements();
    std::fill(values.begin(), values.end(), options.initial);
  }
  if (!average_) return;
  slots_.push_back({"average", Array(type)});
  const auto now = weights.trained().elements();
  std::copy(now.begin(), now.end(), slots_.back().values.data());
}

void Optimizer::for_each_state(
    const Weights &weights,
    const std::function<void(const std::string &, const Array &)> &give) const {
  for (const Slot &slot : slots_)
    for (const Weight &weight : weights.all())
      if (weight.gradient) give(weight.name + "/" + slot.name, weights.beside(weight, slot.values));
}

void Optimizer::apply(const Weights &weights) {
  if (loss_scale_ && !loss_scale_->unscale(weights.gradients())) return skip();
  const auto values = weights.trained().elements();
  clipping_.clip(weights);
  if (weight_decay_ != 0) {
    const float by = weight_decay_ * static_cast<float>(learning_rate());
    for (float &value : values) value -= value * by;
  }
  update(values, weights.gradients().elements());
  ++iterations_;
  if (average_) follow(values);
}

void Optimizer::follow(std::span<float> weights) {
  float *average = slots_.back().values.data();
  const float kept = average_->momentum;
  const float added = 1 - kept;
  for (size_t i = 0; i < weights.size(); ++i) average[i] = kept * average[i] + added * weights[i];
  if (average_->overwrites_every > 0 && iterations_ % average_->overwrites_every == 0)
    std::copy_n(average, weights.size(), weights.begin());
}

}  // namespace det::nn

#include "core/trial/rules/validation_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/error.h"

namespace det::trial {

namespace {

[[noreturn]] void refuse_state(const char *key, const Json &value, const char *expected) {
  throw Error(Code::invalid, std::string("loading the state of a rule: ") + key + " is " +
                                 to_wire(value) + "; expected " + expected);
}

// The worst of all values.
double worst(bool smaller_is_better) { return smaller_is_better ? HUGE_VAL : -HUGE_VAL; }

// A value of a saved state; `otherwise` where it has none.
double number_in(const Json &state, const char *key, double otherwise) {
  const auto found = state.find(key);
  if (found == state.end()) return otherwise;
  if (!found->is_number()) refuse_state(key, *found, "a number");
  return found->get<double>();
}

int64_t count_in(const Json &state, const char *key, int64_t otherwise) {
  const auto found = state.find(key);
  if (found == state.end()) return otherwise;
  if (!found->is_number_integer() || *found < 0 || *found > INT32_MAX)
    refuse_state(key, *found, "a whole number from 0 on");
  return found->get<int64_t>();
}

bool is_loss(const std::string &monitor) {
  return !monitor.ends_with("acc") && !monitor.ends_with("accuracy") && !monitor.ends_with("auc");
}

}  // namespace

EarlyStopping::EarlyStopping(const EarlyStoppingOptions &options)
    : options_(options),
      smaller_is_better_(options.mode == MonitorMode::by_name ? is_loss(options.monitor)
                                                              : options.mode == MonitorMode::min),
      best_(worst(smaller_is_better_)) {
  if (!std::isfinite(options.min_delta))
    throw Error(Code::invalid, "making an early stopping rule: min_delta must be a finite number");
}

bool EarlyStopping::improves(double value, double reference) const {
  const double delta = std::fabs(options_.min_delta);
  return smaller_is_better_ ? value + delta < reference : value - delta > reference;
}

EarlyStopping::Result EarlyStopping::update(std::optional<double> value) {
  const int64_t epoch = count_++;
  if (!value || epoch < options_.start_from) return {};
  Result result;
  ++wait_;
  if (improves(*value, best_)) {
    result.improved = true;
    best_ = *value;
    best_epoch_ = epoch;
    // Short of the baseline it is no reason to wait longer.
    if (!options_.baseline || improves(*value, *options_.baseline)) wait_ = 0;
  }
  // Not after the first validation.
  result.stop = wait_ > 0 && wait_ >= std::abs(options_.patience) && epoch > 0;
  if (result.stop) stopped_epoch_ = epoch;
  return result;
}

Json EarlyStopping::state() const {
  return {{"best", best_},
          {"best_epoch", best_epoch_},
          {"wait", wait_},
          {"stopped_epoch", stopped_epoch_},
          {"test_end_count", count_}};
}

void EarlyStopping::load_state(const Json &state) {
  const double best = number_in(state, "best", best_);
  const int64_t best_epoch = count_in(state, "best_epoch", best_epoch_);
  const int64_t wait = count_in(state, "wait", wait_);
  const int64_t stopped_epoch = count_in(state, "stopped_epoch", stopped_epoch_);
  count_ = count_in(state, "test_end_count", count_);
  best_ = best;
  best_epoch_ = best_epoch;
  wait_ = wait;
  stopped_epoch_ = stopped_epoch;
}

Plateau::Plateau(const PlateauOptions &options)
    : options_(options),
      smaller_is_better_(options.mode == MonitorMode::by_name
                             ? options.monitor.find("acc") == std::string::npos
                             : options.mode == MonitorMode::min),
      best_(worst(smaller_is_better_)) {
  if (!(options.factor >= 0 && options.factor < 1))
    throw Error(Code::invalid, "making a rule for the learning rate: factor is " +
                                   to_wire(options.factor) +
                                   "; it must be from 0 on and less than 1");
  if (!std::isfinite(options.min_delta) || !std::isfinite(options.min_learning_rate))
    throw Error(Code::invalid,
                "making a rule for the learning rate: min_delta and the least learning rate must "
                "be finite numbers");
}

bool Plateau::improves(double value) const {
  return smaller_is_better_ ? value < best_ - options_.min_delta
                            : value > best_ + options_.min_delta;
}

Plateau::Result Plateau::update(std::optional<double> value, double learning_rate) {
  ++count_;
  Result result{false, learning_rate};
  if (!value) return result;
  if (cooldown_ > 0) {
    --cooldown_;
    wait_ = 0;
  }
  if (improves(*value)) {
    result.improved = true;
    best_ = *value;
    wait_ = 0;
  } else if (cooldown_ == 0 && ++wait_ >= options_.patience) {
    // Compared as frameworks keep them: the least one, once set, is not above itself.
    if (static_cast<float>(learning_rate) > static_cast<float>(options_.min_learning_rate)) {
      result.learning_rate = std::max(learning_rate * options_.factor, options_.min_learning_rate);
      cooldown_ = options_.cooldown;
      wait_ = 0;
    }
  }
  return result;
}

Json Plateau::state() const {
  return {{"best", best_},
          {"wait", wait_},
          {"cooldown_counter", cooldown_},
          {"test_end_count", count_}};
}

void Plateau::load_state(const Json &state) {
  const double best = number_in(state, "best", best_);
  const int64_t wait = count_in(state, "wait", wait_);
  const int64_t cooldown = count_in(state, "cooldown_counter", cooldown_);
  count_ = count_in(state, "test_end_count", count_);
  best_ = best;
  wait_ = wait;
  cooldown_ = cooldown;
}

}  // namespace det::trial

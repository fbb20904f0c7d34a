#include "core/trial/plateau.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace det::trial {

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

Plateau::Verdict Plateau::update(std::optional<double> value, double learning_rate) {
  ++count_;
  Verdict verdict{false, learning_rate};
  if (!value) return verdict;
  if (cooldown_ > 0) {
    --cooldown_;
    wait_ = 0;
  }
  if (improves(*value)) {
    verdict.improved = true;
    best_ = *value;
    wait_ = 0;
  } else if (cooldown_ == 0 && ++wait_ >= options_.patience) {
    // Compared as frameworks keep them: the least one, once set, is not above itself.
    if (static_cast<float>(learning_rate) > static_cast<float>(options_.min_learning_rate)) {
      verdict.learning_rate = std::max(learning_rate * options_.factor, options_.min_learning_rate);
      cooldown_ = options_.cooldown;
      wait_ = 0;
    }
  }
  return verdict;
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

#include "core/trial/early_stopping.h"

#include <cmath>
#include <cstdlib>

#include "core/base/error.h"

namespace det::trial {

namespace {

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

EarlyStopping::Verdict EarlyStopping::update(std::optional<double> value) {
  const int64_t epoch = count_++;
  if (!value || epoch < options_.start_from) return {};
  Verdict verdict;
  ++wait_;
  if (improves(*value, best_)) {
    verdict.improved = true;
    best_ = *value;
    best_epoch_ = epoch;
    // Short of the baseline it is no reason to wait longer.
    if (!options_.baseline || improves(*value, *options_.baseline)) wait_ = 0;
  }
  // Not after the first validation.
  verdict.stop = wait_ > 0 && wait_ >= std::abs(options_.patience) && epoch > 0;
  if (verdict.stop) stopped_epoch_ = epoch;
  return verdict;
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

}  // namespace det::trial

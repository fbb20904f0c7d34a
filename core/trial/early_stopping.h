// Stops a trial whose validation metric no longer improves, by the rule of Keras, a validation
// taken for an epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/trial/monitor.h"

namespace det::trial {

struct EarlyStoppingOptions {
  std::string monitor;
  MonitorMode mode = MonitorMode::by_name;
  double min_delta = 0;  // what is no more than this is no improvement
  int64_t patience = 0;  // validations without one
  std::optional<double> baseline;
  int64_t start_from = 0;  // validations that are not looked at
};

class EarlyStopping {
 public:
  // Throws Code::invalid.
  explicit EarlyStopping(const EarlyStoppingOptions &options);

  struct Verdict {
    bool stop = false;
    bool improved = false;
  };
  // After each validation; nothing where it had no such metric.
  Verdict update(std::optional<double> value);

  Json state() const;
  void load_state(const Json &state);

 private:
  bool improves(double value, double reference) const;

  const EarlyStoppingOptions options_;
  const bool smaller_is_better_;
  double best_;
  int64_t best_epoch_ = 0;
  int64_t wait_ = 0;
  int64_t stopped_epoch_ = 0;
  int64_t count_ = 0;
};

}  // namespace det::trial

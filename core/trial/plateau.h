// Lowers the learning rate when the validation metric no longer improves, by the rule of Keras, a
// validation taken for an epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/trial/monitor.h"

namespace det::trial {

struct PlateauOptions {
  std::string monitor;
  MonitorMode mode = MonitorMode::by_name;
  double factor = 0.1;  // from 0, below 1
  double min_delta = 1e-4;
  double min_learning_rate = 0;
  int64_t patience = 10;
  int64_t cooldown = 0;  // validations after a reduction that are not counted
};

class Plateau {
 public:
  // Throws Code::invalid.
  explicit Plateau(const PlateauOptions &options);

  struct Verdict {
    bool improved = false;
    double learning_rate = 0;  // the one to go on with
  };
  // After each validation; nothing where it had no such metric.
  Verdict update(std::optional<double> value, double learning_rate);

  Json state() const;
  void load_state(const Json &state);

 private:
  bool improves(double value) const;

  const PlateauOptions options_;
  const bool smaller_is_better_;
  double best_;
  int64_t wait_ = 0;
  int64_t cooldown_ = 0;
  int64_t count_ = 0;
};

}  // namespace det::trial

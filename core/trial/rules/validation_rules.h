// Rules of Keras that follow a validation metric, a validation taken for an epoch: when a trial
// stops, and when its learning rate is lowered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/json.h"

namespace det::trial {

// Same numbers as DET_MONITOR_* in include/det/trial.h. By its name: whether small values of the
// metric are good.
enum class MonitorMode : int { by_name = 0, min = 1, max = 2 };

// When a trial stops whose metric no longer improves.
struct EarlyStoppingOptions {
  std::string monitor;
  MonitorMode mode = MonitorMode::by_name;
  double min_delta = 0;  // what is no more than this is no improvement
  int64_t patience = 0;  // validations without one
  std::optional<double> baseline = {};
  int64_t start_from = 0;  // validations that are not looked at
};

class EarlyStopping {
 public:
  // Throws Code::invalid.
  explicit EarlyStopping(const EarlyStoppingOptions &options);

  struct Result {
    bool stop = false;
    bool improved = false;
  };
  // After each validation; nothing where it had no such metric.
  Result update(std::optional<double> value);

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

// When the learning rate is lowered as the metric no longer improves.
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

  struct Result {
    bool improved = false;
    double learning_rate = 0;  // the one to go on with
  };
  // After each validation; nothing where it had no such metric.
  Result update(std::optional<double> value, double learning_rate);

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

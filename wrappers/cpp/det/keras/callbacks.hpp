// The built-in callbacks. Follows keras.callbacks. The library does their work, so their hooks are
// empty here.
#pragma once

#include <det/keras/callback.hpp>
#include <det/trial.hpp>

namespace det {
inline namespace v1 {
namespace keras {

class KnownCallback : public Callback {
 public:
  [[nodiscard]] std::string name() const final { return described_.class_name(); }
  // The JSON for det_keras_add_known_callback().
  [[nodiscard]] const nn::Described &described() const noexcept { return described_; }

 protected:
  explicit KnownCallback(const char *class_name) : described_(class_name) {}
  void set(const char *key, const nn::ConfigValue &value) { described_.set_field(key, value); }
  void set_mode(MonitorMode mode) {
    set("mode", mode == MonitorMode::by_name ? "auto" : mode == MonitorMode::min ? "min" : "max");
  }

 private:
  nn::Described described_;
};

// Stops a trial when validations no longer improve. Follows keras.callbacks.EarlyStopping.
class EarlyStopping final : public KnownCallback {
 public:
  // With `restore_best_weights` a trial that it stops ends with the weights of its best validation.
  explicit EarlyStopping(const EarlyStoppingOptions &options = {},
                         bool restore_best_weights = false)
      : KnownCallback("EarlyStopping") {
    set("monitor", options.monitor);
    set("min_delta", options.min_delta);
    set("patience", options.patience);
    set_mode(options.mode);
    if (options.baseline) set("baseline", *options.baseline);
    set("restore_best_weights", restore_best_weights);
    set("start_from_epoch", options.start_from);
  }
};

// Lowers the learning rate when validations no longer improve. Follows
// keras.callbacks.ReduceLROnPlateau.
class ReduceLROnPlateau final : public KnownCallback {
 public:
  explicit ReduceLROnPlateau(const PlateauOptions &options = {})
      : KnownCallback("ReduceLROnPlateau") {
    set("monitor", options.monitor);
    set("factor", options.factor);
    set("patience", options.patience);
    set_mode(options.mode);
    set("min_delta", options.min_delta);
    set("cooldown", options.cooldown);
    set("min_lr", options.min_learning_rate);
  }
};

struct TensorBoardOptions {
  // Workloads between two distributions of the weights. 0: none.
  int64_t histogram_freq = 0;
  // Batches between two sets of metrics, "batch_NAME". 0: none.
  int64_t update_freq = 0;
};

// Shows in TensorBoard the data that Keras shows, beside the metrics of every trial. Follows
// keras.callbacks.TensorBoard. Training workloads take the place of epochs. Each has "epoch_NAME"
// and the learning rate. Validations have "evaluation_val_NAME_vs_iterations".
class TensorBoard final : public KnownCallback {
 public:
  explicit TensorBoard(const TensorBoardOptions &options = {}) : KnownCallback("TensorBoard") {
    set("histogram_freq", options.histogram_freq);
    set("update_freq", options.update_freq);
  }
};

namespace callbacks {

using keras::Callback;
using keras::EarlyStopping;
using keras::ReduceLROnPlateau;
using keras::TensorBoard;

}  // namespace callbacks
}  // namespace keras
}  // namespace v1
}  // namespace det

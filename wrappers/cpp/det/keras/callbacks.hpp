// Callbacks that are there already (seed: keras.callbacks). The library does what they do; their
// hooks do nothing here.
#pragma once

#include <det/keras/callback.hpp>
#include <det/trial.hpp>

namespace det {
inline namespace v1 {
namespace keras {

class KnownCallback : public Callback {
 public:
  [[nodiscard]] std::string name() const final { return described_.class_name(); }
  // What det_keras_add_known_callback() takes.
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

// Stops where validations no longer get better (seed: keras.callbacks.EarlyStopping).
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

// Lowers the learning rate where validations no longer get better (seed:
// keras.callbacks.ReduceLROnPlateau).
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
  // Distributions of the weights after every so many workloads; 0: none.
  int64_t histogram_freq = 0;
  // Metrics of every so many batches, "batch_NAME"; 0: none.
  int64_t update_freq = 0;
};

// What Keras shows in TensorBoard, beside the metrics that every trial has there (seed:
// keras.callbacks.TensorBoard). Training workloads stand in the place of epochs: "epoch_NAME" of
// each, the learning rate among them, and "evaluation_val_NAME_vs_iterations" of validations.
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

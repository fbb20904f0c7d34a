// The base of callbacks, which follow the training of a trial. Follows keras.callbacks.Callback.
#pragma once

#include <det/keras.h>
#include <det/core.hpp>
#include <det/nn.hpp>

#include <filesystem>
#include <string>

namespace det {
inline namespace v1 {
namespace keras {

using nn::Metrics;

namespace detail {
class ToldCallback;
}

// Override the hooks that you need. All ranks have the same callbacks.
class Callback {
 public:
  virtual ~Callback() = default;

  virtual void on_train_begin() {}
  virtual void on_train_end() {}
  // Epochs of `records_per_epoch`. Without it there is one epoch, which does not end.
  virtual void on_epoch_begin(int64_t /*epoch*/) {}
  virtual void on_epoch_end(int64_t /*epoch*/) {}
  virtual void on_train_workload_begin(int64_t /*total_batches*/, int64_t /*batches*/) {}
  virtual void on_train_workload_end(int64_t /*total_batches*/, const Metrics & /*metrics*/) {}
  // `batch` counts within the epoch.
  virtual void on_train_batch_begin(int64_t /*batch*/) {}
  virtual void on_train_batch_end(int64_t /*batch*/, const Metrics & /*metrics*/) {}
  virtual void on_test_begin() {}
  virtual void on_test_batch_begin(int64_t /*batch*/) {}
  virtual void on_test_batch_end(int64_t /*batch*/, const Metrics & /*metrics*/) {}
  // Has the metrics of all ranks, named "val_...".
  virtual void on_test_end(const Metrics & /*metrics*/) {}
  // Called on the chief, when the checkpoint has all files except those of detcore.
  virtual void on_checkpoint_end(const std::filesystem::path & /*directory*/) {}
  // Called on all ranks, after load_state(). The files of on_checkpoint_end() can be read here.
  virtual void on_checkpoint_load(const std::filesystem::path & /*directory*/) {}

  // The state to keep in checkpoints: JSON, or nothing.
  [[nodiscard]] virtual Json get_state() const { return {}; }
  virtual void load_state(const Json & /*state*/) {}

  // Finds its state in a checkpoint. Order tells callbacks of one name apart.
  [[nodiscard]] virtual std::string name() const { return "Callback"; }
  // True: only the chief has this callback.
  [[nodiscard]] virtual bool is_for_chief_only() const { return false; }

 protected:
  // Valid from on_train_begin() to on_train_end().
  [[nodiscard]] const nn::Model &model() const { return *model_; }
  // For your own data. Valid from on_train_begin() to on_train_end(), on the chief.
  [[nodiscard]] Tensorboard tensorboard() const {
    return Tensorboard(det_core_tensorboard(det_keras_core(context_)));
  }
  // Ends the trial after the workload, with a checkpoint.
  void stop_training() { det_keras_set_stop_requested(context_, 1); }

 private:
  friend class detail::ToldCallback;
  const nn::Model *model_ = nullptr;
  det_keras_context *context_ = nullptr;
};

}  // namespace keras
}  // namespace v1
}  // namespace det

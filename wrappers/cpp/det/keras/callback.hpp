// What a trial is told of its training (seed: keras.callbacks.Callback).
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

// Every hook does nothing unless it is overridden. All ranks have the same callbacks.
class Callback {
 public:
  virtual ~Callback() = default;

  virtual void on_train_begin() {}
  virtual void on_train_end() {}
  // Of `records_per_epoch`; without it there is one epoch, which does not end.
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
  // With metrics of all ranks, named "val_...".
  virtual void on_test_end(const Metrics & /*metrics*/) {}
  // Of the chief, when all files of a checkpoint but ours are written.
  virtual void on_checkpoint_end(const std::filesystem::path & /*directory*/) {}
  // Of all ranks, behind load_state(): what on_checkpoint_end() wrote can be read here.
  virtual void on_checkpoint_load(const std::filesystem::path & /*directory*/) {}

  // Kept in checkpoints: JSON, or nothing.
  [[nodiscard]] virtual Json get_state() const { return {}; }
  virtual void load_state(const Json & /*state*/) {}

  // Under which its state is found again; callbacks of one name are told apart by their order.
  [[nodiscard]] virtual std::string name() const { return "Callback"; }
  // Where true, other ranks than the chief do without it.
  [[nodiscard]] virtual bool is_for_chief_only() const { return false; }

 protected:
  // From on_train_begin() to on_train_end().
  [[nodiscard]] const nn::Model &model() const { return *model_; }
  // Likewise, for what it shows itself; of the chief.
  [[nodiscard]] Tensorboard tensorboard() const {
    return Tensorboard(det_core_tensorboard(det_keras_core(context_)));
  }
  // The trial ends after the workload, with a checkpoint.
  void stop_training() { det_keras_set_stop_requested(context_, 1); }

 private:
  friend class detail::ToldCallback;
  const nn::Model *model_ = nullptr;
  det_keras_context *context_ = nullptr;
};

}  // namespace keras
}  // namespace v1
}  // namespace det

// What a trial is told of its training (seed: keras.callbacks.Callback).
#pragma once

#include <det/core.hpp>
#include <det/nn.hpp>

#include <filesystem>
#include <utility>

namespace det {
inline namespace v1 {
namespace keras {

using nn::Metrics;

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
  [[nodiscard]] Tensorboard tensorboard() const { return core_->tensorboard(); }
  // As a name in files: of this callback, and of no other.
  [[nodiscard]] const std::string &key() const { return key_; }
  // The trial ends after the workload, with a checkpoint.
  void stop_training() { wants_stop_ = true; }

 private:
  friend class Callbacks;
  const nn::Model *model_ = nullptr;
  const Core *core_ = nullptr;
  std::string key_;
  bool wants_stop_ = false;
};

// All callbacks of a trial on this rank, in their order.
class Callbacks {
 public:
  // What is given outlives it.
  Callbacks(const std::vector<std::shared_ptr<Callback>> &given, const nn::Model &model,
            const Core &core) {
    std::map<std::string, size_t> seen;
    for (const auto &one : given) {
      if (one == nullptr) throw std::invalid_argument("a trial's keras_callbacks() has a null one");
      const std::string key = one->name() + "#" + std::to_string(seen[one->name()]++);
      if (one->is_for_chief_only() && core.distributed().rank() != 0) continue;
      one->model_ = &model;
      one->core_ = &core;
      one->key_ = key;
      all_.push_back(one);
    }
  }

  template <class... Parameters, class... Arguments>
  void call(void (Callback::*hook)(Parameters...), const Arguments &...arguments) const {
    for (const auto &one : all_) (one.get()->*hook)(arguments...);
  }

  // Whether one of them wanted to stop since it was last asked.
  [[nodiscard]] bool take_stop() const {
    bool stop = false;
    for (const auto &one : all_) stop = std::exchange(one->wants_stop_, false) || stop;
    return stop;
  }

  // Each with its key.
  template <class Visit>
  void for_each(const Visit &visit) const {
    for (const auto &one : all_) visit(one->key_, *one);
  }

 private:
  std::vector<std::shared_ptr<Callback>> all_;
};

}  // namespace keras
}  // namespace v1
}  // namespace det

// What a trial is told of its training, and what stops it (seed: keras.callbacks).
#pragma once

#include <det/nn.hpp>
#include <det/trial.hpp>

#include <filesystem>
#include <optional>
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

  // Kept in checkpoints: JSON, or nothing.
  [[nodiscard]] virtual Json get_state() const { return {}; }
  virtual void load_state(const Json & /*state*/) {}

  // Under which its state is found again; callbacks of one name are told apart by their order.
  [[nodiscard]] virtual std::string name() const { return "Callback"; }

 protected:
  // From on_train_begin() to on_train_end().
  [[nodiscard]] const nn::Model &model() const { return *model_; }
  // The trial ends after the workload, with a checkpoint.
  void stop_training() { wants_stop_ = true; }

 private:
  friend class Callbacks;
  const nn::Model *model_ = nullptr;
  bool wants_stop_ = false;
};

namespace detail {

[[nodiscard]] inline std::optional<double> metric_of(const Metrics &metrics,
                                                     const std::string &name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? std::nullopt : std::optional<double>(found->second);
}

}  // namespace detail

// Stops where validations no longer get better (seed: keras.callbacks.EarlyStopping).
class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {})
      : monitor_(options.monitor), rule_(det::EarlyStopping::create(options)) {}

  void on_test_end(const Metrics &metrics) override {
    if (rule_.update(detail::metric_of(metrics, monitor_)).stop) stop_training();
  }
  [[nodiscard]] Json get_state() const override { return rule_.state(); }
  void load_state(const Json &state) override { rule_.load_state(state); }
  [[nodiscard]] std::string name() const override { return "EarlyStopping"; }

 private:
  std::string monitor_;
  det::EarlyStopping rule_;
};

// Lowers the learning rate where validations no longer get better (seed:
// keras.callbacks.ReduceLROnPlateau).
class ReduceLROnPlateau : public Callback {
 public:
  explicit ReduceLROnPlateau(PlateauOptions options = {})
      : monitor_(options.monitor), rule_(Plateau::create(options)) {}

  void on_test_end(const Metrics &metrics) override {
    model().set_learning_rate(
        rule_.update(detail::metric_of(metrics, monitor_), model().learning_rate()));
  }
  [[nodiscard]] Json get_state() const override { return rule_.state(); }
  void load_state(const Json &state) override { rule_.load_state(state); }
  [[nodiscard]] std::string name() const override { return "ReduceLROnPlateau"; }

 private:
  std::string monitor_;
  Plateau rule_;
};

// All callbacks of a trial, in their order.
class Callbacks {
 public:
  Callbacks(std::vector<std::shared_ptr<Callback>> all, const nn::Model &model)
      : all_(std::move(all)) {
    for (const auto &one : all_) {
      if (one == nullptr) throw std::invalid_argument("a trial's keras_callbacks() has a null one");
      one->model_ = &model;
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

  // Each with its key: its name, and which of that name it is.
  template <class Visit>
  void for_each(const Visit &visit) const {
    std::map<std::string, size_t> seen;
    for (const auto &one : all_)
      visit(one->name() + "#" + std::to_string(seen[one->name()]++), *one);
  }

 private:
  std::vector<std::shared_ptr<Callback>> all_;
};

}  // namespace keras
}  // namespace v1
}  // namespace det

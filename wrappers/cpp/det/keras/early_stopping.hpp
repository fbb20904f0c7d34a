// Stops where validations no longer get better (seed: keras.callbacks.EarlyStopping).
#pragma once

#include <det/keras/callback.hpp>
#include <det/trial.hpp>
#include <det/trials/files.hpp>

#include <optional>

namespace det {
inline namespace v1 {
namespace keras {
namespace detail {

[[nodiscard]] inline std::optional<double> metric_of(const Metrics &metrics,
                                                     const std::string &name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? std::nullopt : std::optional<double>(found->second);
}

}  // namespace detail

class EarlyStopping : public Callback {
 public:
  // With `restore_best_weights` a trial that it stops ends with the weights of its best validation.
  explicit EarlyStopping(EarlyStoppingOptions options = {}, bool restore_best_weights = false)
      : monitor_(options.monitor),
        restores_(restore_best_weights),
        rule_(det::EarlyStopping::create(options)) {}

  void on_test_end(const Metrics &metrics) override {
    const auto verdict = rule_.update(detail::metric_of(metrics, monitor_));
    if (restores_ && verdict.improved) best_.emplace(model());
    if (!verdict.stop) return;
    stop_training();
    if (best_) best_->restore(model());
  }
  void on_checkpoint_end(const std::filesystem::path &directory) override {
    if (best_) best_->save(model(), directory / file_of_best());
  }
  void on_checkpoint_load(const std::filesystem::path &directory) override {
    if (restores_ && std::filesystem::exists(directory / file_of_best()))
      best_ = trials::WeightsCopy::load(model(), directory / file_of_best());
  }
  [[nodiscard]] Json get_state() const override { return rule_.state(); }
  void load_state(const Json &state) override { rule_.load_state(state); }
  [[nodiscard]] std::string name() const override { return "EarlyStopping"; }

 private:
  [[nodiscard]] std::string file_of_best() const {
    return "best-weights-" + key() + ".safetensors";
  }

  std::string monitor_;
  bool restores_;
  det::EarlyStopping rule_;
  std::optional<trials::WeightsCopy> best_;
};

}  // namespace keras
}  // namespace v1
}  // namespace det

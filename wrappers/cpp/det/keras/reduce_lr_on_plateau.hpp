// Lowers the learning rate where validations no longer get better (seed:
// keras.callbacks.ReduceLROnPlateau).
#pragma once

#include <det/keras/early_stopping.hpp>

namespace det {
inline namespace v1 {
namespace keras {

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

}  // namespace keras
}  // namespace v1
}  // namespace det

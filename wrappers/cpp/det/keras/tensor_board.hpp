// What Keras shows in TensorBoard, beside the metrics that every trial has there (seed:
// keras.callbacks.TensorBoard).
#pragma once

#include <det/keras/callback.hpp>
#include <det/nlohmann_json.hpp>

#include <algorithm>
#include <cmath>

namespace det {
inline namespace v1 {
namespace keras {

struct TensorBoardOptions {
  // Distributions of the weights after every so many workloads; 0: none.
  int64_t histogram_freq = 0;
  // Metrics of every so many batches, "batch_NAME"; 0: none.
  int64_t update_freq = 0;
};

// Training workloads stand in the place of epochs: "epoch_NAME" of each, the learning rate among
// them, and "evaluation_val_NAME_vs_iterations" of validations.
class TensorBoard : public Callback {
 public:
  // Throws std::invalid_argument for a frequency below 0.
  explicit TensorBoard(const TensorBoardOptions &options = {}) : options_(options) {
    if (options.histogram_freq < 0 || options.update_freq < 0)
      throw std::invalid_argument(
          "showing a trial in TensorBoard: histogram_freq and update_freq are 0 or more");
  }

  void on_train_batch_end(int64_t /*batch*/, const Metrics &metrics) override {
    const int64_t step = model().steps().trained;
    if (options_.update_freq > 0 && step % options_.update_freq == 0)
      add("batch_", metrics, "", step);
  }
  void on_train_workload_end(int64_t /*total_batches*/, const Metrics &metrics) override {
    add("epoch_", metrics, "", workloads_);
    tensorboard().add_scalar("epoch_learning_rate", workloads_, model().learning_rate());
    if (options_.histogram_freq > 0 && workloads_ % options_.histogram_freq == 0)
      for (const Tensor &weight : model().weights()) add_histogram(weight);
    ++workloads_;
  }
  void on_test_end(const Metrics &metrics) override {
    add("evaluation_", metrics, "_vs_iterations", model().steps().trained);
  }
  [[nodiscard]] Json get_state() const override {
    return nlohmann::json{{"workload_end_count", workloads_}};
  }
  void load_state(const Json &state) override {
    workloads_ = state.as<nlohmann::json>().at("workload_end_count").get<int64_t>();
  }
  [[nodiscard]] std::string name() const override { return "TensorBoard"; }
  [[nodiscard]] bool is_for_chief_only() const override { return true; }

 private:
  void add(const std::string &before, const Metrics &metrics, const std::string &behind,
           int64_t step) const {
    for (const auto &[name, value] : metrics)
      tensorboard().add_scalar(before + name + behind, step, value);
  }

  // Numbers that are not finite have no distribution.
  void add_histogram(const Tensor &weight) const {
    const auto *first = static_cast<const float *>(weight.data);
    const std::vector<float> numbers(first, first + weight.elements());
    if (!numbers.empty() && std::all_of(numbers.begin(), numbers.end(),
                                        [](float number) { return std::isfinite(number); }))
      tensorboard().add_histogram(weight.name, workloads_, numbers);
  }

  TensorBoardOptions options_;
  int64_t workloads_ = 0;
};

}  // namespace keras
}  // namespace v1
}  // namespace det

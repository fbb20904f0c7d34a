// A trial over several ranks: first weights of rank 0, and gradients of all.
#pragma once

#include <det/core.hpp>
#include <det/nlohmann_json.hpp>
#include <det/nn.hpp>
#include <det/trials/section.hpp>

#include <exception>
#include <optional>

namespace det {
inline namespace v1 {
namespace trials {

// Of the configuration's `optimizations`.
[[nodiscard]] inline GradientOptions gradient_options(const nlohmann::ordered_json &config) {
  const nlohmann::ordered_json given = section(config, "optimizations");
  GradientOptions options;
  options.aggregation_frequency = given.value("aggregation_frequency", 1);
  options.average_aggregated_gradients = given.value("average_aggregated_gradients", true);
  options.gradient_compression = given.value("gradient_compression", false);
  return options;
}

// Adds up the gradients of a model as they come. The model outlives it, and both stay where they
// are.
class Ranks {
 public:
  // All ranks in step. One rank that applies each batch has nothing to add up.
  Ranks(const DistributedView &job, const nn::Model &model, GradientOptions options)
      : job_(job), model_(model) {
    std::vector<Tensor> state = model.weights();
    std::vector<Gradient> gradients;
    for (size_t i = 0; i < state.size(); ++i) {
      places_.push_back(gradients.size());
      if (!model.is_trained(i)) continue;
      gradients.push_back({state[i].elements(), Dtype::f32, false});
    }
    if (job.size() == 1 && options.aggregation_frequency == 1) return;
    for (Tensor &tensor : model.optimizer_state()) state.push_back(std::move(tensor));
    broadcast_arrays(job, state);
    options.gradients_are_complete = true;  // the model says so of what it tells of
    gradients_.emplace(job, gradients, options);
    place_gradients();
    model.observe_gradients(on_gradient, on_step, this);
  }
  ~Ranks() {
    if (!gradients_) return;
    Failure failure;  // of a model that has failed
    model_.observe_gradients(nullptr, nullptr, nullptr, failure);
    if (is_placed_) model_.place_gradients(nullptr, 0, failure);
  }
  Ranks(const Ranks &) = delete;
  Ranks &operator=(const Ranks &) = delete;

  // Gives a model on all ranks the weights of the chief that are not trained, such as the means of
  // a batch normalization, which follow from what each rank has seen: they are what checkpoints
  // have, so that validations after a restart are as if there was none. All ranks in step.
  void share_untrained(const nn::Model &model) const {
    if (job_.size() == 1) return;
    std::vector<Tensor> untrained;
    std::vector<Tensor> weights = model.weights();
    for (size_t i = 0; i < weights.size(); ++i)
      if (!model.is_trained(i)) untrained.push_back(std::move(weights[i]));
    if (!untrained.empty()) broadcast_arrays(job_, untrained);
  }

  // Of the model that it was made for. Throws what a step failed with beneath the model, which says
  // only that it did.
  void train_on_batch(const nn::Model &model, const nn::Batch &batch) {
    try {
      model.train_on_batch(batch);
    } catch (const Error &) {
      if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
      throw;
    }
  }

 private:
  // Where they are added up, so that they need not be copied; a GPU has them elsewhere.
  void place_gradients() {
    Failure elsewhere;
    model_.place_gradients(nullptr, 0, elsewhere);
    if (elsewhere) return;
    const auto [memory, bytes] = gradients_->memory();
    if (memory == nullptr) return;
    model_.place_gradients(memory, bytes);
    is_placed_ = true;
  }

  static int32_t on_gradient(size_t index, float *gradient, size_t, void *user_data) {
    auto &self = *static_cast<Ranks *>(user_data);
    return self.guarded([&] {
      self.gradients_->add(self.places_[index], gradient, gradient);
      return 0;
    });
  }
  static int32_t on_step(void *user_data) {
    auto &self = *static_cast<Ranks *>(user_data);
    return self.guarded([&] { return self.gradients_->step() ? 1 : 0; });
  }
  template <class Action>
  int32_t guarded(const Action &action) noexcept {
    try {
      return action();
    } catch (...) {
      failure_ = std::current_exception();
      return -1;
    }
  }

  DistributedView job_;
  const nn::Model &model_;
  bool is_placed_ = false;
  std::vector<size_t> places_;  // of each weight among those that are trained
  std::optional<GradientAggregator> gradients_;
  std::exception_ptr failure_;
};

// The mean over the ranks, all in step. What is no number is the same on all of them.
[[nodiscard]] inline nlohmann::ordered_json averaged(const DistributedView &job,
                                                     const nlohmann::ordered_json &metrics) {
  if (job.size() == 1) return metrics;
  return Json(average_metrics(job, Json(metrics).text())).as<nlohmann::ordered_json>();
}
[[nodiscard]] inline nn::Metrics averaged(const DistributedView &job, const nn::Metrics &metrics) {
  if (job.size() == 1) return metrics;
  const nlohmann::ordered_json answer = averaged(job, nlohmann::ordered_json(metrics));
  nn::Metrics means;
  for (const auto &[name, mean] : answer.items())
    means[name] = mean.is_number() ? mean.get<double>() : std::nan("");
  return means;
}

}  // namespace trials
}  // namespace v1
}  // namespace det

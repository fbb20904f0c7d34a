// What an estimator is: a function that describes its model, and what goes in (source:
// tf.estimator.EstimatorSpec, TrainSpec, EvalSpec).
#pragma once

#include <det/core.hpp>
#include <det/estimator/features.hpp>
#include <det/estimator/hooks.hpp>
#include <det/nlohmann_json.hpp>
#include <det/nn/dataset.hpp>

#include <optional>

namespace det {
inline namespace v1 {
namespace estimator {

enum class Mode { train, evaluate, predict };

// Something that is counted over the batches of an evaluation.
class Metric {
 public:
  virtual ~Metric() = default;
  virtual void update(const RunValues &values) = 0;
  // At the end, by all ranks in step, whose results are averaged then. A number; or anything, where
  // all ranks have the same.
  [[nodiscard]] virtual nlohmann::ordered_json result(const DistributedView &job) const = 0;
};

using Scalar = std::function<double(const RunValues &)>;

// A model as it is in one mode. Layers of one name have the same weights in all modes.
struct EstimatorSpec {
  std::map<std::string, nn::Value> predictions = {};  // one or more
  // Of these a prediction of logits, a number for each class or one for two: a saved model says the
  // classes that follow from it.
  std::string classified = {};
  std::vector<std::string> classes = {};  // what they are called; empty: by their numbers
  // Below here nothing is read to predict.
  std::string compared = {};    // the prediction that is compared with the labels
  nlohmann::ordered_json loss;  // of Keras: a name, or its class and configuration
  std::map<std::string, nlohmann::ordered_json> keras_metrics = {};  // of evaluations, the same way
  std::map<std::string, std::shared_ptr<Metric>> metrics = {};       // of evaluations
  // Of what is compared, in this order: a feature that says how much records count, what labels
  // become, and what throws for a batch that cannot be compared.
  std::string weight_column = {};
  std::function<nn::Array(const nn::Array &)> read_labels = {};
  std::function<void(const nn::Batch &)> check = {};
  // Of trainings.
  std::optional<nn::Optimizer> optimizer = {};   // from context().wrap_optimizer()
  std::map<std::string, Scalar> summaries = {};  // of each batch, beside its loss
  HookList training_hooks = {};
  // Of evaluations.
  HookList evaluation_hooks = {};
};

// Called once to train, and once for each evaluation and export.
using ModelFn = std::function<EstimatorSpec(Features &features, Mode mode)>;

class Estimator {
 public:
  // Throws std::invalid_argument where there is no function.
  explicit Estimator(ModelFn model_fn) : model_fn_(std::move(model_fn)) {
    if (!model_fn_) throw std::invalid_argument("making an estimator: there is no model_fn");
  }

  // A trial that has no checkpoint of its own begins with the weights of one, of another trial
  // whose model has the same layers.
  Estimator &warm_start_from(std::filesystem::path checkpoint) {
    warm_start_ = std::move(checkpoint);
    return *this;
  }

  [[nodiscard]] const ModelFn &model_fn() const { return model_fn_; }
  [[nodiscard]] const std::optional<std::filesystem::path> &warm_start() const {
    return warm_start_;
  }

 private:
  ModelFn model_fn_;
  std::optional<std::filesystem::path> warm_start_;
};

// Gives batches that have gone through context().wrap_dataset().
using InputFn = std::function<nn::Dataset()>;

struct TrainSpec {
  InputFn input_fn;
  HookList hooks = {};
};

struct EvalSpec {
  InputFn input_fn;  // called for each evaluation
  HookList hooks = {};
  std::optional<int64_t> steps = 100;  // batches of an evaluation, of each rank; none: all
};

}  // namespace estimator
}  // namespace v1
}  // namespace det

// An estimator: a function that describes its model, and the data. Follows
// tf.estimator.EstimatorSpec, TrainSpec and EvalSpec.
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

// A metric that is counted over the batches of an evaluation.
class Metric {
 public:
  virtual ~Metric() = default;
  virtual void update(const RunValues &values) = 0;
  // Called at the end, by all ranks in step. A number is averaged over the ranks. Any other value
  // must be the same on all ranks.
  [[nodiscard]] virtual nlohmann::ordered_json result(const DistributedView &job) const = 0;
};

using Scalar = std::function<double(const RunValues &)>;

// A model in one mode. Layers of one name have the same weights in all modes.
struct EstimatorSpec {
  std::map<std::string, nn::Value> predictions = {};  // One or more.
  // The prediction with logits: a number for each class, or one for two classes. A saved model
  // derives the classes from it.
  std::string classified = {};
  std::vector<std::string> classes = {};  // The names of the classes. Empty: their numbers.
  // Predictions do not need the members below.
  std::string compared = {};    // The prediction that is compared with the labels.
  nlohmann::ordered_json loss;  // Of Keras: a name, or its class and configuration.
  // For evaluations, in the same form.
  std::map<std::string, nlohmann::ordered_json> keras_metrics = {};
  std::map<std::string, std::shared_ptr<Metric>> metrics = {};  // For evaluations.
  // For the comparison: a feature with the weights of records, a function that changes the labels,
  // and one that throws for an invalid batch.
  std::string weight_column = {};
  std::function<nn::Array(const nn::Array &)> read_labels = {};
  std::function<void(const nn::Batch &)> check = {};
  // For trainings.
  std::optional<nn::Optimizer> optimizer = {};   // From context().wrap_optimizer().
  std::map<std::string, Scalar> summaries = {};  // Of each batch, beside its loss.
  HookList training_hooks = {};
  // For evaluations.
  HookList evaluation_hooks = {};
};

// Called once to train, and once for each evaluation and export.
using ModelFn = std::function<EstimatorSpec(Features &features, Mode mode)>;

class Estimator {
 public:
  // Throws std::invalid_argument without a function.
  explicit Estimator(ModelFn model_fn) : model_fn_(std::move(model_fn)) {
    if (!model_fn_) throw std::invalid_argument("making an estimator: there is no model_fn");
  }

  // A trial without a checkpoint begins with the weights of this one. Its model must have the same
  // layers.
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

// Returns batches that have passed through context().wrap_dataset().
using InputFn = std::function<nn::Dataset()>;

struct TrainSpec {
  InputFn input_fn;
  HookList hooks = {};
};

struct EvalSpec {
  InputFn input_fn;  // called for each evaluation
  HookList hooks = {};
  std::optional<int64_t> steps = 100;  // batches of an evaluation on each rank; none: all
};

}  // namespace estimator
}  // namespace v1
}  // namespace det

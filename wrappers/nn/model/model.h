// A model: layers with weights, and once it is compiled what trains them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wrappers/nn/model/training_step.h"

namespace det::nn {

struct ModelOptions {
  uint64_t seed = 0;
  std::string backend;  // as of open_backend()
  int threads = 0;      // likewise
};

// Records side by side, in the order of the model's inputs and results.
struct Batch {
  std::vector<Array> inputs;
  std::vector<Array> truths;   // one for each result that has a loss
  std::vector<Array> weights;  // of the records, or of each row of the result; none, or as many
  // How much each class counts, from class 0 on, beside those; of a single result.
  std::span<const double> class_weights = {};
};

// Used by one thread at a time. A call that fails because of what it was given has changed nothing.
class Model {
 public:
  // From what Keras' Model.to_json() writes. Where it says what comes in, or its weights are the
  // same whatever it leaves open, it has them at once; else with the first batch.
  Model(const Json &described, const ModelOptions &options);

  const Graph &graph() const { return *graph_; }
  const Weights &weights() const { return weights_; }
  bool is_built() const { return weights_.is_settled(); }
  // Before its weights are read or written by others. Throws Code::state where it has none yet, and
  // what a device failed with that had them.
  void check_built() const;

  // {"optimizer": ..., "loss": ..., "loss_weights": [...], "metrics": [...], "weighted_metrics":
  // [...]}, the last four for each result, by its name or in their order; null: it is compared with
  // nothing. Weights of records are those of the loss and of the last alone. What was compiled
  // before is gone. Where a layer computes in F16 the loss is scaled, as Keras does it under
  // mixed_float16; an optimizer that is a LossScaleOptimizer says how. With "check_numerics": true
  // a batch whose loss or gradients are not finite is Code::invalid, and a step with it has not
  // been; the message says which layer was the first.
  void compile(const Json &options);
  bool is_compiled() const { return training_ != nullptr; }
  // What it was compiled with. Throws Code::state where it is not.
  Training &training();
  const Training &training() const;

  // Steps that have been trained; how many of them changed weights is the optimizer's to tell.
  int64_t steps() const { return static_cast<int64_t>(state_->step); }
  void set_steps(int64_t steps) { state_->step = static_cast<uint64_t>(steps); }
  // So many that a model goes on from them: counts of 64 bits do not reach their end.
  static constexpr int64_t most_steps = int64_t{1} << 62;
  // Of what is drawn while it is trained.
  uint64_t seed() const { return state_->seed; }
  void set_seed(uint64_t seed) { state_->seed = seed; }

  void observe_gradients(GradientObserver observer) { observer_ = std::move(observer); }
  // Has gradients computed in memory of somebody else, who keeps it, from the next step on: those
  // of all trained weights in their order, each at the next multiple of 64 bytes. Without any, in
  // memory of the model's again.
  void place_gradients(std::span<std::byte> memory);

  // One step. Afterwards training().metrics() has them of all batches since reset_metrics().
  void train_on_batch(const Batch &batch);
  void test_on_batch(const Batch &batch);
  // The results lie in the model until the next call.
  std::vector<Array> predict_on_batch(const std::vector<Array> &inputs);
  // Of the batch that was trained, tested or predicted last. Throws Code::state before the first.
  std::vector<Array> results() const;

  // A table of the layers. Throws Code::state where nothing says what comes in yet.
  std::string summary() const;

  // What predict_on_batch() computes, for inputs of these shapes.
  Program prediction_program(const std::vector<Shape> &inputs);

 private:
  class FirstBatch;

  std::shared_ptr<Plan> plan_for(Mode mode, const std::vector<Array> &inputs,
                                 const std::vector<size_t> &weight_axes);
  std::shared_ptr<Plan> load(Mode mode, const Batch &batch);
  TrainingStep step();

  const std::shared_ptr<Graph> graph_;
  const std::shared_ptr<Backend> backend_;
  const std::shared_ptr<StepState> state_;
  Weights weights_;
  std::shared_ptr<Training> training_;
  GradientObserver observer_;
  PlanCache plans_;
  std::shared_ptr<const Plan> computed_;  // has the results of the last batch
  std::vector<size_t> weight_axes_;       // of the batch that comes: its room is used again
};

}  // namespace det::nn

// A model at one shape of its batch, ready to run: for predictions, for the loss, or for training.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wrappers/nn/losses/loss.h"
#include "wrappers/nn/model/graph.h"
#include "wrappers/nn/program/executable.h"

namespace det::nn {

enum class Mode { predict, test, train };

// What tells one plan from another.
struct PlanKey {
  Mode mode = Mode::predict;
  std::vector<Shape> inputs;
  // Of the weights of each result that is compared; empty: there are none. More than it has are all
  // axes of its rows.
  std::vector<size_t> weight_axes = {};

  // Whether it is that of such a batch; asked at every step.
  bool fits(Mode wanted, const std::vector<Array> &arrays,
            const std::vector<size_t> &axes_of_weights) const;
};

// What results of the graph are compared with: a loss, and how much it counts. Results without one
// are computed all the same.
struct Objective {
  std::vector<size_t> results;
  std::vector<std::shared_ptr<const Loss>> losses;  // of each of them, as the next
  std::vector<double> loss_weights;
  bool is_scaled = false;  // gradients are those of a multiple of the loss: Plan::scale_loss()
};

class Plan {
 public:
  // `objective` may be null for predictions.
  Plan(const PlanKey &key, const Graph &graph, const Objective *objective, Weights &weights,
       Backend &backend, const StepState &state);

  const PlanKey &key() const { return key_; }
  const Executable &executable() const { return *executable_; }
  Executable &executable() { return *executable_; }

  bool has_weights() const { return !key_.weight_axes.empty(); }
  // Where the arrays of a batch are put; truths and weights as the objective counts.
  const Array &input(size_t i) const { return executable_->fed(i); }
  const Array &truth(size_t i) const { return executable_->fed(key_.inputs.size() + i); }
  const Array &weights(size_t i) const {
    return executable_->fed(key_.inputs.size() + compared_.size() + i);
  }
  // Of the rows of a prediction, for metrics: what its mask says and, of those which are weighted,
  // the weights of records. An array without memory: all count as much.
  Array metric_weights(size_t i, bool is_weighted) const;
  // What comes out.
  size_t predictions() const { return predictions_; }
  const Array &prediction(size_t i) const { return executable_->result(i); }
  // The prediction that is compared with truth(i).
  const Array &compared(size_t i) const { return prediction(compared_[i]); }
  // Before a step of training, where the objective is scaled.
  void scale_loss(float scale);
  double loss_of(size_t i) const;
  double loss() const;

 private:
  const PlanKey key_;
  size_t predictions_;
  std::vector<size_t> compared_;
  std::vector<std::optional<size_t>> counted_;  // of those with a mask: which of the results
  std::optional<size_t> scale_;                 // which of what is fed
  std::unique_ptr<Executable> executable_;
};

// The plans of a model that were used last: for batches of different lengths, such as the last of
// an epoch, in each mode.
class PlanCache {
 public:
  // Null where there is none for such a batch.
  std::shared_ptr<Plan> find(Mode mode, const std::vector<Array> &inputs,
                             const std::vector<size_t> &weight_axes);
  void add(std::shared_ptr<Plan> plan);
  void clear() { plans_.clear(); }

 private:
  std::vector<std::shared_ptr<Plan>> plans_;  // the one that was asked for last is the first
};

}  // namespace det::nn

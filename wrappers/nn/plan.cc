#include "wrappers/nn/plan.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

bool PlanKey::fits(Mode wanted, const std::vector<Array> &arrays, bool weights) const {
  return mode == wanted && has_weights == weights &&
         std::equal(inputs.begin(), inputs.end(), arrays.begin(), arrays.end(),
                    [](const Shape &shape, const Array &array) { return shape == array.shape(); });
}

Plan::Plan(const PlanKey &key, const Graph &graph, const Objective *objective, Weights &weights,
           Backend &backend, const StepState &state)
    : key_(key) {
  ProgramBuilder builder(weights, key.mode == Mode::train);
  LayerCall call;
  for (size_t i = 0; i < key.inputs.size(); ++i)
    call.inputs.push_back(builder.feed({key.inputs[i], graph.inputs().at(i).type.dtype}));
  std::vector<Value> results = graph.compute(builder, call);
  predictions_ = results.size();
  std::optional<size_t> loss;
  if (key.mode != Mode::predict) {
    compared_ = objective->results;
    std::vector<Value> truths, batch_weights;
    for (size_t i = 0; i < compared_.size(); ++i)
      truths.push_back(
          builder.feed(objective->losses.at(i)->truth_for(builder.type(results[compared_[i]]))));
    for (size_t i = 0; key.has_weights && i < compared_.size(); ++i)
      batch_weights.push_back(
          builder.feed({{builder.shape(results[compared_[i]]).at(0)}, Dtype::f32}));
    std::optional<Value> total;
    for (size_t i = 0; i < compared_.size(); ++i) {
      const Value one = objective->losses[i]->add(
          builder, truths[i], results[compared_[i]],
          key.has_weights ? std::optional(batch_weights[i]) : std::nullopt);
      results.push_back(one);
      const auto by = static_cast<float>(objective->loss_weights.at(i));
      const Value scaled = by == 1 ? one : builder.add(ScaleOp{by}, {one});
      total = total ? builder.add(ArithmeticOp{Arithmetic::add}, {*total, scaled}) : scaled;
    }
    for (const auto &[weight, regularizer] : builder.regularized()) {
      const Value part = builder.add(RegularizationOp{regularizer}, {weight});
      total = builder.add(ArithmeticOp{Arithmetic::add}, {*total, part});
    }
    loss = results.size();
    results.push_back(*total);
    if (key.mode == Mode::train && objective->is_scaled) {
      scale_ = key.inputs.size() + truths.size() + batch_weights.size();
      const Value scale = builder.feed(builder.type(*total));
      loss = results.size();
      results.push_back(builder.add(ArithmeticOp{Arithmetic::multiply}, {*total, scale}));
    }
  }
  const Program program = builder.finish(results);
  if (!weights.is_settled()) weights.settle(state.seed, &backend);
  executable_ = std::make_unique<Executable>(program, weights, backend, state, loss);
}

void Plan::scale_loss(float scale) {
  if (scale_) executable_->fed(*scale_).data()[0] = scale;
}

double Plan::loss_of(size_t i) const {
  return static_cast<double>(executable_->result(predictions_ + i).data()[0]);
}

double Plan::loss() const {
  return static_cast<double>(executable_->result(predictions_ + compared_.size()).data()[0]);
}

}  // namespace det::nn

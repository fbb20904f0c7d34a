#include "wrappers/nn/program/plan.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

bool PlanKey::fits(Mode wanted, const std::vector<Array> &arrays,
                   const std::vector<size_t> &axes_of_weights) const {
  return mode == wanted && weight_axes == axes_of_weights &&
         std::equal(inputs.begin(), inputs.end(), arrays.begin(), arrays.end(),
                    [](const Shape &shape, const Array &array) { return shape == array.shape(); });
}

namespace {

// Under a mask: what rows count in metrics.
struct CountedRows {
  Value mask;     // 1 or 0
  Value weighed;  // by the weights of records
};

CountedRows counted_rows(ProgramBuilder &builder, Value mask, Value prediction,
                         std::optional<Value> weights) {
  Shape rows = builder.shape(prediction);
  rows.pop_back();
  if (builder.shape(mask) != rows)
    throw Error(Code::unsupported,
                "comparing a prediction of " + text_of(builder.shape(prediction)) +
                    " that has a mask of " + text_of(builder.shape(mask)) +
                    ": a mask for each row is needed; end sequences before, such as by a "
                    "recurrent layer without return_sequences");
  if (!weights) return {mask, mask};
  Value weight = *weights;
  Shape shape = builder.shape(weight);
  if (shape != rows) {
    shape.resize(rows.size(), 1);
    weight = builder.add(BroadcastOp{rows}, {builder.add(ReshapeOp{shape}, {weight})});
  }
  return {mask, builder.add(ArithmeticOp{Arithmetic::multiply}, {mask, weight})};
}

// A single number: the part of rows that count.
Value part_that_counts(ProgramBuilder &builder, Value mask) {
  const int64_t all = elements_of(builder.shape(mask));
  const Array ones({{all, 1}, Dtype::f32});
  std::fill_n(ones.data(), ones.size(), 1 / static_cast<float>(all));
  const Value one_row = builder.add(ReshapeOp{{1, all}}, {mask});
  return builder.add(DenseOp{}, {one_row, builder.constant(ones)});
}

// As much more for each as rows that do not count leave. `counted_by_loss`: those without which the
// loss takes its mean anyway.
Value shared_out(ProgramBuilder &builder, const CountedRows &counted,
                 std::optional<Value> counted_by_loss) {
  const Shape rows = builder.shape(counted.mask);
  Value mask = counted.mask;
  if (counted_by_loss)
    mask = builder.add(ArithmeticOp{Arithmetic::multiply}, {mask, *counted_by_loss});
  Value by = builder.add(FunctionOp{Function::power, -1}, {part_that_counts(builder, mask)});
  if (counted_by_loss)
    by = builder.add(ArithmeticOp{Arithmetic::multiply},
                     {by, part_that_counts(builder, *counted_by_loss)});
  const Value single = builder.add(ReshapeOp{Shape(rows.size(), 1)}, {by});
  return builder.add(ArithmeticOp{Arithmetic::multiply},
                     {counted.weighed, builder.add(BroadcastOp{rows}, {single})});
}

}  // namespace

Plan::Plan(const PlanKey &key, const Graph &graph, const Objective *objective, Weights &weights,
           Backend &backend, const StepState &state)
    : key_(key) {
  ProgramBuilder builder(weights, key.mode == Mode::train);
  std::vector<Value> results = graph.compute(builder, graph.feed(builder, key.inputs));
  predictions_ = results.size();
  std::optional<size_t> loss;
  if (key.mode != Mode::predict) {
    compared_ = objective->results;
    std::vector<Value> truths, batch_weights;
    std::vector<std::optional<CountedRows>> counted(compared_.size());
    for (size_t i = 0; i < compared_.size(); ++i)
      truths.push_back(
          builder.feed(objective->losses.at(i)->truth_for(builder.type(results[compared_[i]]))));
    for (size_t i = 0; has_weights() && i < compared_.size(); ++i)
      batch_weights.push_back(builder.feed(objective->losses[i]->weights_for(
          builder.shape(results[compared_[i]]), key.weight_axes.at(i))));
    std::optional<Value> total, told_total;
    const auto add_to = [&](std::optional<Value> &sum, Value one, float by) {
      const Value part = by == 1 ? one : builder.add(ScaleOp{by}, {one});
      sum = sum ? builder.add(ArithmeticOp{Arithmetic::add}, {*sum, part}) : part;
    };
    const bool tells_other = std::any_of(objective->losses.begin(), objective->losses.end(),
                                         [](const auto &one) { return one->tells_other(); });
    for (size_t i = 0; i < compared_.size(); ++i) {
      const Loss &loss_function = *objective->losses[i];
      const Value prediction = results[compared_[i]];
      auto row_weights = has_weights() ? std::optional(batch_weights[i]) : std::nullopt;
      if (const auto mask = builder.mask(prediction)) {
        counted[i] = counted_rows(builder, *mask, prediction, row_weights);
        row_weights =
            loss_function.is_mean()
                ? shared_out(builder, *counted[i], loss_function.counted(builder, truths[i]))
                : counted[i]->weighed;
      }
      const Value one = loss_function.add(builder, truths[i], prediction, row_weights);
      results.push_back(loss_function.told(builder, one, prediction));
      const auto by = static_cast<float>(objective->loss_weights.at(i));
      add_to(total, one, by);
      if (tells_other) add_to(told_total, results.back(), by);
    }
    std::vector<Value> parts = builder.added_losses();
    for (const auto &[value, regularizer] : builder.regularized())
      parts.push_back(builder.add(RegularizationOp{regularizer}, {value}));
    for (const Value part : parts) {
      add_to(total, part, 1);
      if (tells_other) add_to(told_total, part, 1);
    }
    results.push_back(told_total.value_or(*total));
    if (tells_other) results.push_back(*total);
    loss = results.size() - 1;
    if (key.mode == Mode::train && objective->is_scaled) {
      scale_ = key.inputs.size() + truths.size() + batch_weights.size();
      const Value scale = builder.feed(builder.type(*total));
      loss = results.size();
      results.push_back(builder.add(ArithmeticOp{Arithmetic::multiply}, {*total, scale}));
    }
    counted_.resize(compared_.size());
    for (size_t i = 0; i < compared_.size(); ++i) {
      if (!counted[i]) continue;
      counted_[i] = results.size();
      results.insert(results.end(), {counted[i]->mask, counted[i]->weighed});
    }
  }
  const Program program = builder.finish(results);
  if (!weights.is_settled()) weights.settle(state.seed, &backend);
  executable_ = std::make_unique<Executable>(program, weights, backend, state, loss);
}

void Plan::scale_loss(float scale) {
  if (scale_) executable_->fed(*scale_).data()[0] = scale;
}

Array Plan::metric_weights(size_t i, bool is_weighted) const {
  if (counted_.at(i)) return executable_->result(*counted_[i] + (is_weighted ? 1 : 0));
  return is_weighted && has_weights() ? weights(i) : Array();
}

double Plan::loss_of(size_t i) const {
  return static_cast<double>(executable_->result(predictions_ + i).data()[0]);
}

double Plan::loss() const {
  return static_cast<double>(executable_->result(predictions_ + compared_.size()).data()[0]);
}

std::shared_ptr<Plan> PlanCache::find(Mode mode, const std::vector<Array> &inputs,
                                      const std::vector<size_t> &weight_axes) {
  const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const auto &plan) {
    return plan->key().fits(mode, inputs, weight_axes);
  });
  if (known == plans_.end()) return nullptr;
  std::rotate(plans_.begin(), known, known + 1);
  return plans_.front();
}

void PlanCache::add(std::shared_ptr<Plan> plan) {
  constexpr size_t most_plans = 16;
  if (plans_.size() == most_plans) plans_.pop_back();
  plans_.insert(plans_.begin(), std::move(plan));
}

}  // namespace det::nn

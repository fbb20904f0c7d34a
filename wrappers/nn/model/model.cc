#include "wrappers/nn/model/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/arrays/array_copy.h"
#include "wrappers/nn/model/model_summary.h"

namespace det::nn {

namespace {

[[noreturn]] void refuse_classes(const std::string &problem) {
  throw Error(Code::invalid, "weighting classes: " + problem);
}

class ClassesOf {
 public:
  ClassesOf(const Array &truth, size_t rows, size_t width)
      : truth_(truth), width_(width), rows_(rows) {}

  int64_t of(size_t row) const {
    const size_t first = row * width_;
    if (truth_.dtype() == Dtype::i32) return truth_.data<int32_t>()[first];
    const float *const values = truth_.data() + first;
    for (size_t i = 0; i < width_; ++i)
      if (std::isnan(values[i])) refuse(row, first + i);
    if (width_ > 1) return std::max_element(values, values + width_) - values;
    constexpr auto most = static_cast<float>(1U << 24U);  // more are not all whole
    if (!(std::fabs(*values) <= most) || *values != std::trunc(*values)) refuse(row, first);
    return static_cast<int64_t>(*values);
  }

 private:
  [[noreturn]] void refuse(size_t row, size_t element) const {
    const size_t of_record = rows_ / static_cast<size_t>(truth_.shape()[0]);
    refuse_classes("the label of record " + std::to_string(row / of_record) + " is " +
                   element_text(truth_, element) + ", which is no class");
  }

  const Array &truth_;
  const size_t width_, rows_;
};

// Multiplies the weight of each row of what is compared by that of its class, from class 0 on. A
// class is a number, or the place of the largest of several. `truth` is what the loss compares
// with. Throws Code::invalid for what is no class of these.
void weigh_classes(const Array &truth, const Loss &loss, std::span<const double> weights,
                   const Array &rows) {
  for (size_t label = 0; label < weights.size(); ++label)
    if (!std::isfinite(weights[label]))
      refuse_classes("the weight of " + std::to_string(label) + " is no number");
  const auto of_rows = rows.elements();
  const bool has_numbers = truth.dtype() == Dtype::i32;
  const auto width = has_numbers ? 1 : static_cast<size_t>(truth.shape().back());
  if (width == 0 || of_rows.size() * width != truth.size())
    refuse_classes("labels of " + text_of(truth.shape()) + " have no weights of " +
                   text_of(rows.shape()));
  const ClassesOf classes(truth, of_rows.size(), width);
  for (size_t row = 0; row < of_rows.size(); ++row) {
    const int64_t label = classes.of(row);
    if (has_numbers && !loss.counts(static_cast<int32_t>(label))) continue;
    const auto place = static_cast<uint64_t>(label);  // far behind all where the label is below 0
    if (place >= weights.size())
      refuse_classes("there is a label " + std::to_string(label) + ", and no weight for it");
    of_rows[row] *= static_cast<float>(weights[place]);
  }
}

// Sizes that may be left open, to see what differs by them: as large as many poolings need, and far
// enough from each other that they leave a difference.
constexpr int64_t some_size = 64, other_size = 128;

// The names and shapes of the weights, where each size that inputs leave open beside that of the
// batch is this one.
std::vector<std::pair<std::string, Shape>> weights_with(const Graph &graph, int64_t open) {
  Weights weights;
  ProgramBuilder builder(weights, false);
  graph.compute(builder, graph.feed(builder, *graph.input_shapes(1, open)));
  std::vector<std::pair<std::string, Shape>> made;
  for (const Weight &weight : weights.all()) made.emplace_back(weight.name, weight.options.shape);
  return made;
}

// What comes in as far as weights are concerned. Some are the same however long sequences are.
std::optional<std::vector<Shape>> shapes_for_weights(const Graph &graph) {
  if (auto known = graph.input_shapes(1)) return known;
  auto guessed = graph.input_shapes(1, some_size);
  try {
    if (guessed && weights_with(graph, some_size) == weights_with(graph, other_size))
      return guessed;
  } catch (const Error &) {
    // The first batch says why, if it has no better sizes.
  }
  return {};
}

// But for sizes of 1 at the end.
size_t axes_of(const Shape &shape) {
  size_t axes = shape.size();
  while (axes > 1 && shape[axes - 1] == 1) --axes;
  return axes;
}

// Classes are weighed row by row.
void find_weight_axes(const Batch &batch, size_t results, std::vector<size_t> &axes) {
  axes.clear();
  if (!batch.class_weights.empty()) return axes.assign(results, std::numeric_limits<size_t>::max());
  for (const Array &weights : batch.weights) axes.push_back(axes_of(weights.shape()));
  if (!axes.empty()) axes.resize(results, 1);
}

// Where weights of records are wanted for each row, that of its record.
void copy_weights(const Array &from, const Array &to) {
  const char *const what = "the array of the weights of records";
  const auto records = static_cast<size_t>(to.shape()[0]);
  if (from.size() != records || to.size() == records) return copy_elements(from, to, what);
  const size_t rows = to.size() / records;
  copy_elements(from, Array({{to.shape()[0]}, Dtype::f32}, to, 0), what);
  const auto weights = to.elements();
  for (size_t row = weights.size(); row-- > 0;) weights[row] = weights[row / rows];
}

}  // namespace

Model::Model(const Json &described, const ModelOptions &options)
    : graph_(read_model(described)),
      backend_(open_backend(options.backend, options.threads)),
      state_(backend_->make_step_state(options.seed)) {
  // For what it makes by the way: the weights.
  if (const auto inputs = shapes_for_weights(*graph_))
    Plan({Mode::predict, *inputs}, *graph_, nullptr, weights_, *backend_, *state_);
}

void Model::compile(const Json &options) {
  auto training = std::make_shared<Training>(options, graph_->result_names());
  // As Keras does it for a model of this policy.
  if (graph_->computes_in(Dtype::f16)) training->scale_loss({});
  if (is_built()) training->optimizer().attach(weights_, *backend_);
  if (const auto inputs = graph_->input_shapes(2); inputs && is_built()) {
    const Program program = prediction_program(*inputs);
    training->make_metrics([&](size_t result) -> const ArrayType & {
      return program.values[program.results[result]].type;
    });
  }
  training_ = std::move(training);
  plans_.clear();
  computed_.reset();
}

// The batch that gives a model its weights: unless it is taken there are none afterwards.
class Model::FirstBatch {
 public:
  explicit FirstBatch(Model &model) : model_(model), is_first_(!model.is_built()) {}
  FirstBatch(const FirstBatch &) = delete;
  FirstBatch &operator=(const FirstBatch &) = delete;
  ~FirstBatch() {
    if (!is_first_) return;
    model_.weights_ = {};
    model_.plans_.clear();
  }
  void take() { is_first_ = false; }

 private:
  Model &model_;
  bool is_first_;
};

void Model::place_gradients(std::span<std::byte> memory) {
  check_built();
  const std::string tried =
      "computing the gradients of the model '" + graph_->name() + "' in memory that was given: ";
  const ArrayType type = weights_.gradients().type();
  if (!backend_->reaches_process())
    throw Error(Code::unsupported,
                tried + "the back end '" + backend_->name() + "' has separate memory");
  if (memory.empty()) {
    weights_.move_gradients(Array(type));
  } else {
    if (reinterpret_cast<uintptr_t>(memory.data()) % Weights::alignment != 0)
      throw Error(Code::invalid, tried + "it begins at no multiple of 64 bytes");
    if (memory.size() < bytes_of(type))
      throw Error(Code::invalid, tried + "it has " + std::to_string(memory.size()) +
                                     " bytes, and they take " + std::to_string(bytes_of(type)));
    std::memset(memory.data(), 0, bytes_of(type));
    weights_.move_gradients(Array::borrowed(type, memory.data()));
  }
  plans_.clear();  // they have gradients where those were
}

const Training &Model::training() const {
  if (!training_)
    throw Error(Code::state, "training the model '" + graph_->name() +
                                 "': it has no optimizer and no loss yet; compile it first");
  return *training_;
}

Training &Model::training() { return const_cast<Training &>(std::as_const(*this).training()); }

void Model::check_built() const {
  if (!is_built())
    throw Error(Code::state,
                "asking the model '" + graph_->name() +
                    "' for its weights: it does not say what comes in, and so has none "
                    "before its first batch");
  backend_->synchronize();
}

std::shared_ptr<Plan> Model::plan_for(Mode mode, const std::vector<Array> &inputs,
                                      const std::vector<size_t> &weight_axes) {
  if (inputs.size() != graph_->inputs().size())
    throw Error(Code::invalid, "giving a batch of " + std::to_string(inputs.size()) +
                                   " arrays to the model '" + graph_->name() + "': it takes " +
                                   std::to_string(graph_->inputs().size()));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].shape().empty() && inputs[i].shape()[0] == 0)
      throw Error(Code::invalid, "giving a batch of no records to the model '" + graph_->name() +
                                     "': its input '" + graph_->inputs()[i].name + "' is " +
                                     text_of(inputs[i].shape()));
  if (auto known = plans_.find(mode, inputs, weight_axes)) return known;
  PlanKey key{mode, {}, weight_axes};
  for (const Array &input : inputs) key.inputs.push_back(input.shape());
  const Objective *objective = mode == Mode::predict ? nullptr : &training().objective();
  const bool was_built = is_built();
  auto plan = std::make_shared<Plan>(key, *graph_, objective, weights_, *backend_, *state_);
  if (!was_built && training_) training_->optimizer().attach(weights_, *backend_);
  plans_.add(plan);
  return plan;
}

std::shared_ptr<Plan> Model::load(Mode mode, const Batch &batch) {
  Training &now = training();
  FirstBatch first(*this);
  find_weight_axes(batch, now.compared().size(), weight_axes_);
  const std::shared_ptr<Plan> loaded = plan_for(mode, batch.inputs, weight_axes_);
  Plan &plan = *loaded;
  for (size_t i = 0; i < batch.inputs.size(); ++i)
    copy_elements(batch.inputs[i], plan.input(i), "the input", graph_->inputs()[i].name);
  const std::vector<std::string> &names = now.compared();
  if (batch.truths.size() != names.size() ||
      (!batch.weights.empty() && batch.weights.size() != names.size()))
    throw Error(Code::invalid, "giving a batch with " + std::to_string(batch.truths.size()) +
                                   " arrays to compare with to the model '" + graph_->name() +
                                   "': it has " + std::to_string(names.size()) +
                                   " results with a loss");
  for (size_t i = 0; i < names.size(); ++i) {
    copy_elements(batch.truths[i], plan.truth(i), "the array to compare with", names[i]);
    now.objective().losses[i]->check(plan.truth(i), batch.truths[i], plan.compared(i).type());
    if (!batch.weights.empty()) copy_weights(batch.weights[i], plan.weights(i));
  }
  if (!batch.class_weights.empty()) {
    if (names.size() != 1)
      throw Error(Code::invalid,
                  "weighting classes: there is one result, not " + std::to_string(names.size()));
    if (batch.weights.empty()) std::ranges::fill(plan.weights(0).elements(), 1.0F);
    weigh_classes(plan.truth(0), *now.objective().losses[0], batch.class_weights, plan.weights(0));
  }
  plan.executable().check_fed();
  now.make_metrics(
      [&](size_t result) -> const ArrayType & { return plan.prediction(result).type(); });
  first.take();
  return loaded;
}

void Model::train_on_batch(const Batch &batch) {
  Training &now = training();
  if (!now.trains())
    throw Error(Code::state, "training the model '" + graph_->name() +
                                 "': it was compiled without an 'optimizer'; name one, such as "
                                 "\"adam\"");
  const std::shared_ptr<Plan> plan = load(Mode::train, batch);
  Optimizer &optimizer = now.optimizer();
  if (const auto &scale = optimizer.loss_scale()) plan->scale_loss(scale->state().scale);
  if (step().compute_gradients(*plan, observer_)) optimizer.apply(weights_, *backend_);
  else optimizer.count_step();
  backend_->synchronize();
  computed_ = plan;
  now.gather(*plan);
}

void Model::test_on_batch(const Batch &batch) {
  const std::shared_ptr<Plan> plan = load(Mode::test, batch);
  plan->executable().forward();
  if (training_->limits_values()) backend_->synchronize();
  step().check(*plan);
  computed_ = plan;
  training_->gather(*plan);
}

TrainingStep Model::step() { return {*graph_, weights_, *state_, *backend_, *training_}; }

std::vector<Array> Model::predict_on_batch(const std::vector<Array> &inputs) {
  FirstBatch first(*this);
  const std::shared_ptr<Plan> plan = plan_for(Mode::predict, inputs, {});
  for (size_t i = 0; i < inputs.size(); ++i)
    copy_elements(inputs[i], plan->input(i), "the input", graph_->inputs()[i].name);
  plan->executable().check_fed();
  first.take();
  plan->executable().forward();
  computed_ = plan;
  return results();
}

std::vector<Array> Model::results() const {
  std::vector<Array> results;
  if (!computed_)
    throw Error(Code::state, "asking the model '" + graph_->name() +
                                 "' for its results: it was given no batch yet");
  for (size_t i = 0; i < computed_->predictions(); ++i) results.push_back(computed_->prediction(i));
  return results;
}

Program Model::prediction_program(const std::vector<Shape> &inputs) {
  check_built();
  ProgramBuilder builder(weights_, false);
  return builder.finish(graph_->compute(builder, graph_->feed(builder, inputs)));
}

std::string Model::summary() const {
  if (shapes_for_weights(*graph_))
    return summary_of(*graph_, *graph_->input_shapes(2, some_size),
                      *graph_->input_shapes(3, other_size));
  if (!computed_)
    throw Error(Code::state,
                "summarising the model '" + graph_->name() +
                    "': its weights depend on what comes in, of which it does not say enough; give "
                    "it a batch first");
  std::vector<Shape> shapes = computed_->key().inputs, more = shapes;
  for (Shape &shape : more) ++shape[0];
  return summary_of(*graph_, shapes, more);
}

}  // namespace det::nn

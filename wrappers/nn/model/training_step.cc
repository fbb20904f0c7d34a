#include "wrappers/nn/model/training_step.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "wrappers/nn/arithmetic/weight_arithmetic.h"
#include "wrappers/nn/arrays/array_copy.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

// Asks those who compute with the array; of whole numbers all are.
bool is_finite(const Array &array, WeightArithmetic &arithmetic = host_arithmetic()) {
  // Multiplied by 1 they stay as they are.
  return array.dtype() != Dtype::f32 || arithmetic.scale_and_check(array, 1);
}

// Thrown by the kernel that comes first.
struct NotFinite {
  size_t step;  // of the program
  bool is_gradient;
  Array array;
};

class WatchedKernel : public Kernel {
 public:
  WatchedKernel(std::unique_ptr<Kernel> kernel, const Operands &operands)
      : kernel_(std::move(kernel)), operands_(operands) {}

  void forward() override {
    kernel_->forward();
    watch(operands_.outputs, false);
  }
  void backward() override {
    kernel_->backward();
    watch(operands_.input_gradients, true);
  }

 private:
  void watch(const std::vector<Array> &arrays, bool is_gradient) const {
    for (const Array &array : arrays)
      if (array && !is_finite(array)) throw NotFinite{operands_.stream, is_gradient, array};
  }

  const std::unique_ptr<Kernel> kernel_;
  const Operands operands_;
};

class WatchedBackend : public Backend {
 public:
  const char *name() const override { return "reference"; }
  // What has no state is no step of a program: parts of a gradient are added up.
  std::unique_ptr<Kernel> make(const Operation &operation, const Operands &operands) override {
    auto kernel = make_reference_kernel(operation, operands);
    if (operands.state == nullptr) return kernel;
    return std::make_unique<WatchedKernel>(std::move(kernel), operands);
  }
};

// "nan in record 3", of the first element that is not finite.
std::string what_is_in(const Array &array, bool has_records) {
  const auto values = array.elements();
  const auto first =
      std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  const auto place = static_cast<size_t>(first - values.begin());
  std::string text = std::isnan(*first) ? "nan" : *first > 0 ? "inf" : "-inf";
  if (has_records && !array.shape().empty())
    text += " in record " +
            std::to_string(place / (array.size() / static_cast<size_t>(array.shape()[0])));
  return text;
}

std::string described(const NotFinite &found, const Plan &plan) {
  const std::string &layer = plan.executable().layer_of(found.step);
  const std::string whose = layer.empty() ? "the loss" : "the layer " + layer;
  if (found.is_gradient)
    return "the first that is not finite is the gradient that goes back from " + whose + ": " +
           what_is_in(found.array, false);
  const auto records = plan.prediction(0).shape().at(0);
  const bool has_records = !found.array.shape().empty() && found.array.shape()[0] == records;
  return "the first that is not finite is the result of " + whose + ": " +
         what_is_in(found.array, has_records);
}

// The numbers of a batch before anything is computed of them.
class Beginning {
 public:
  void look_at(const std::string &what, const Array &array, bool has_records) {
    if (text_.empty() && !is_finite(array)) text_ = what + " is " + what_is_in(array, has_records);
  }
  const std::string &text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string TrainingStep::find_not_finite(const Plan &plan, float loss_scale) const {
  const Objective &objective = training_.objective();
  WatchedBackend backend;
  Plan watched(plan.key(), graph_, &objective, weights_, backend, state_);
  Beginning beginning;
  const auto take = [&](const Array &from, const Array &to, const std::string &what) {
    copy_elements(from, to, what);
    beginning.look_at(what, to, true);
  };
  for (size_t i = 0; i < plan.key().inputs.size(); ++i)
    take(plan.input(i), watched.input(i), "the input '" + graph_.inputs()[i].name + "'");
  for (size_t i = 0; i < objective.results.size(); ++i) {
    const std::string name = "'" + graph_.result_names()[objective.results[i]] + "'";
    take(plan.truth(i), watched.truth(i), "what " + name + " is compared with");
    if (plan.has_weights())
      take(plan.weights(i), watched.weights(i), "the weight of a record of " + name);
  }
  for (const Weight &weight : weights_.all())
    beginning.look_at("the weight '" + weight.name + "'", weight.value, false);
  if (!beginning.text().empty()) return beginning.text();

  watched.scale_loss(loss_scale);
  try {
    watched.executable().forward();
    if (plan.key().mode == Mode::train) watched.executable().backward();
  } catch (const NotFinite &found) {
    return described(found, watched);
  }
  return "the gradients are not finite, though those of this batch are: it is what other ranks, or "
         "a "
         "callback, added to them";
}

bool TrainingStep::compute_gradients(Plan &plan, const GradientObserver &observer) {
  const bool looks = training_.checks_numerics() || training_.limits_values();
  const bool can_be_stopped = observer.on_gradient || observer.on_step || looks;
  if (can_be_stopped) {
    backend_.synchronize();
    weights_.keep_others();
  }
  ++state_.step;
  try {
    plan.executable().start_gradients(observer.on_gradient);
    if (!observer.on_step && !looks) return true;
    backend_.synchronize();
    const bool is_applied = !observer.on_step || observer.on_step();
    check(plan);
    return is_applied;
  } catch (...) {
    const bool is_at_rest = rests();
    --state_.step;
    if (can_be_stopped && is_at_rest) weights_.restore_others();
    throw;
  }
}

bool TrainingStep::rests() const {
  try {
    backend_.synchronize();
    return true;
  } catch (const Error &) {
    return false;
  }
}

void TrainingStep::check(const Plan &plan) const {
  check_numerics(plan);
  training_.check_values(plan);
}

// Where ranks add gradients up, all of them see what one of them has done to the sum. What goes in
// is looked at as well: an activation of a back end may hide what is no number.
void TrainingStep::check_numerics(const Plan &plan) const {
  if (!training_.checks_numerics()) return;
  const auto &scale = training_.optimizer().loss_scale();
  const bool trains = plan.key().mode == Mode::train;
  WeightArithmetic &arithmetic = backend_.arithmetic();
  bool are_finite = std::isfinite(plan.loss()) && is_finite(weights_.trained(), arithmetic);
  for (size_t i = 0; are_finite && i < plan.key().inputs.size(); ++i)
    are_finite = is_finite(plan.input(i));
  // Gradients of a scaled loss may be too large: the scale is made smaller then.
  if (are_finite && (!trains || scale || is_finite(weights_.gradients(), arithmetic))) return;
  throw Error(Code::invalid,
              (trains ? "training step " + std::to_string(state_.step) + " of" : "testing") +
                  " the model '" + graph_.name() + "', whose loss is " +
                  std::to_string(plan.loss()) + ": " +
                  find_not_finite(plan, scale ? scale->state().scale : 1));
}

}  // namespace det::nn

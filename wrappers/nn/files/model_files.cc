#include "wrappers/nn/files/model_files.h"

#include <array>
#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/tensors/tensor.h"
#include "wrappers/nn/files/array_file.h"
#include "wrappers/nn/files/keras_file.h"

namespace det::nn {

namespace {

constexpr const char *optimizer_key = "optimizer";
constexpr const char *iterations_key = "iterations";
constexpr const char *learning_rate_key = "learning_rate";
constexpr const char *seed_key = "seed";
constexpr const char *step_key = "step";
constexpr const char *loss_scale_key = "loss_scale";
constexpr const char *good_steps_key = "loss_scale_good_steps";

std::string described(const Model &model) { return "the model '" + model.graph().name() + "'"; }

std::vector<NamedArray> weights_of(const Model &model) {
  model.check_built();
  std::vector<NamedArray> arrays;
  for (const Weight &weight : model.weights().all()) arrays.push_back({weight.name, weight.value});
  return arrays;
}

std::vector<NamedArray> slots_of(const Model &model) {
  model.check_built();
  std::vector<NamedArray> arrays;
  model.training().optimizer().for_each_state(model.weights(),
                                              [&](const std::string &name, const Array &array) {
                                                arrays.push_back({name, array});
                                              });
  return arrays;
}

// The shortest text that is read as the same number.
template <class Number>
std::string text_of_number(Number number) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

// What a file says beside its arrays.
class Notes {
 public:
  Notes(const tensors::FileMetadata &metadata, std::string file)
      : metadata_(metadata), file_(std::move(file)) {}

  bool has(const char *key) const { return metadata_.contains(key); }

  const std::string &text(const char *key) const {
    const auto found = metadata_.find(key);
    if (found != metadata_.end()) return found->second;
    throw Error(Code::invalid, "reading '" + file_ + "': it does not say '" + key +
                                   "'; it is no state of training, or one of another program");
  }

  template <class Number>
  Number number(const char *key) const {
    const std::string &written = text(key);
    Number value{};
    const auto [end, error] =
        std::from_chars(written.data(), written.data() + written.size(), value);
    const bool is_read = error == std::errc() && end == written.data() + written.size();
    bool can_be = value >= 0;
    if constexpr (std::is_same_v<Number, int64_t>) can_be = can_be && value <= Model::most_steps;
    if (is_read && can_be) return value;
    throw Error(Code::corrupt, "reading '" + file_ + "': its '" + key + "' is " +
                                   tensors::quoted_name(written) +
                                   ", which is no number from 0, or too large a one");
  }

 private:
  const tensors::FileMetadata &metadata_;
  const std::string file_;
};

}  // namespace

void save_weights(const Model &model, const std::filesystem::path &path) {
  write_array_file(path, weights_of(model), {});
}

void load_weights(Model &model, const std::filesystem::path &path) {
  if (is_keras_file(path)) return read_keras_weights(model, path);
  const std::vector<NamedArray> weights = weights_of(model);
  read_array_file(path, weights, described(model)).copy_to(weights);
}

void save_training_state(const Model &model, const std::filesystem::path &path) {
  const Optimizer &optimizer = model.training().optimizer();
  tensors::FileMetadata notes{{optimizer_key, optimizer.name()},
                              {iterations_key, text_of_number(optimizer.iterations())},
                              {seed_key, text_of_number(model.seed())},
                              {step_key, text_of_number(model.steps())}};
  if (const auto rate = optimizer.base_learning_rate())
    notes[learning_rate_key] = text_of_number(*rate);
  if (const auto &scale = optimizer.loss_scale()) {
    notes[loss_scale_key] = text_of_number(scale->state().scale);
    notes[good_steps_key] = text_of_number(scale->state().good_steps);
  }
  write_array_file(path, slots_of(model), notes);
}

void load_training_state(Model &model, const std::filesystem::path &path) {
  const std::vector<NamedArray> slots = slots_of(model);
  Optimizer &optimizer = model.training().optimizer();
  const ArrayFile file =
      read_array_file(path, slots, "the optimizer " + optimizer.name() + " of " + described(model));
  const Notes notes(file.metadata, path.string());
  if (notes.text(optimizer_key) != optimizer.name())
    throw Error(Code::invalid, "reading '" + path.string() + "' for the optimizer " +
                                   optimizer.name() + " of " + described(model) +
                                   ": it is the state of " +
                                   tensors::quoted_name(notes.text(optimizer_key)));
  const auto iterations = notes.number<int64_t>(iterations_key);
  const auto step = notes.number<int64_t>(step_key);
  const auto seed = notes.number<uint64_t>(seed_key);
  std::optional<double> rate;
  if (optimizer.base_learning_rate()) {
    rate = notes.number<double>(learning_rate_key);
    if (!std::isfinite(*rate))
      throw Error(Code::corrupt,
                  "reading '" + path.string() + "': its learning rate is not finite");
  }

  // Of a loss that was not scaled before there is none: it begins as a new one.
  std::optional<LossScale> scale = optimizer.loss_scale();
  if (scale && notes.has(loss_scale_key)) {
    const LossScale::State state{notes.number<float>(loss_scale_key),
                                 notes.number<int64_t>(good_steps_key)};
    if (!std::isfinite(state.scale) || state.scale == 0)
      throw Error(Code::corrupt, "reading '" + path.string() + "': its scale of the loss is none");
    scale->set_state(state);
  }

  file.copy_to(slots);
  if (scale) optimizer.scale_loss(*scale);
  optimizer.set_iterations(iterations);
  if (rate) optimizer.set_learning_rate(*rate);
  model.set_steps(step);
  model.set_seed(seed);
}

}  // namespace det::nn

#include "tests/nn/recorded/recorded_call.h"

#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/arrays/array_copy.h"

namespace det::test {

namespace {

std::string without_number(const std::string &name) { return name.substr(0, name.rfind(':')); }

std::string last_part(const std::string &name) { return name.substr(name.rfind('/') + 1); }

bool is_same_name(const std::string &ours, const std::string &theirs) {
  return ours == theirs || ours.ends_with("/" + theirs) || theirs.ends_with("/" + ours);
}

// Where `name` is among `names`; `usual` where it is not.
size_t place_of(const std::vector<std::string> &names, const std::string &name, size_t usual) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? usual : static_cast<size_t>(found - names.begin());
}

bool leaves_out(const Json &part) {
  if (part.is_array()) return std::any_of(part.begin(), part.end(), leaves_out);
  if (!part.is_object()) return false;
  for (const auto &[key, value] : part.items())
    if (key.ends_with("dropout") && value.is_number() ? value > 0 : leaves_out(value)) return true;
  return false;
}

// These compute otherwise while they are trained, whose weights have no gradients else.
bool depends_on_training(const Json &model) {
  const std::string text = model.dump();
  const auto has_layer = [&text](const char *name) {
    return text.find("\"" + std::string(name) + "\"") != std::string::npos;
  };
  const auto changing = {"AlphaDropout", "BatchNormalization", "Dropout",
                         "RandomFlip",   "RandomRotation",     "RandomZoom"};
  return std::any_of(changing.begin(), changing.end(), has_layer) || leaves_out(model);
}

}  // namespace

std::vector<size_t> places_of_weights(const nn::Weights &weights,
                                      const std::vector<std::string> &names,
                                      const std::vector<nn::Shape> &shapes) {
  std::vector<bool> is_taken(weights.all().size(), false);
  const auto take = [&](size_t i, bool by_whole_name) {
    const std::string theirs = without_number(names[i]);
    for (size_t at = 0; at < is_taken.size(); ++at) {
      const nn::Weight &weight = weights.at(at);
      const bool fits = by_whole_name ? is_same_name(weight.name, theirs)
                                      : last_part(weight.name) == last_part(theirs);
      if (is_taken[at] || weight.options.shape != shapes[i] || !fits) continue;
      is_taken[at] = true;
      return at;
    }
    return is_taken.size();
  };
  std::vector<size_t> places;
  for (size_t i = 0; i < names.size(); ++i) {
    places.push_back(take(i, true));
    if (places.back() == is_taken.size()) places.back() = take(i, false);
    if (places.back() == is_taken.size())
      throw Error(Code::unsupported,
                  "the model has no weight that is '" + names[i] + "' " + nn::text_of(shapes[i]));
  }
  return places;
}

RecordedCall::RecordedCall(const Fixture &fixture, const Json &about, nn::Backend &backend)
    : fixture_(fixture),
      prefix_(about["name"].get<std::string>() + "/"),
      has_weight_gradients_(about["training"].get<bool>() || !depends_on_training(about["model"])) {
  const auto graph = nn::read_model(about["model"]);
  for (const nn::Dtype mixed : {nn::Dtype::bf16, nn::Dtype::f16})
    if (graph->computes_in(mixed)) precision_ = mixed;
  std::vector<std::string> input_names;
  for (const nn::Graph::Input &input : graph->inputs()) input_names.push_back(input.name);
  std::vector<size_t> places_of_inputs;
  for (size_t i = 0; i < about["inputs"].size(); ++i)
    places_of_inputs.push_back(place_of(input_names, about["inputs"][i], i));
  for (size_t i = 0; i < about["outputs"].size(); ++i)
    outputs_.push_back(place_of(graph->result_names(), about["outputs"][i], i));

  nn::ProgramBuilder builder(weights_, has_weight_gradients_);
  inputs_ = places_of_inputs.size();
  nn::LayerCall call;
  call.inputs.resize(places_of_inputs.size());
  for (size_t i = 0; i < places_of_inputs.size(); ++i) {
    const size_t place = places_of_inputs[i];
    const nn::Dtype dtype = graph->inputs().at(place).type.dtype;
    call.inputs.at(place) =
        builder.feed({recorded("inputs", i).shape(), dtype}, dtype == nn::Dtype::f32);
  }
  std::vector<nn::Value> results = graph->compute(builder, call);
  for (const auto &[weight, regularizer] : builder.regularized()) {
    regularizations_.push_back(results.size());
    results.push_back(builder.add(nn::RegularizationOp{regularizer}, {weight}));
  }
  const nn::Program program = builder.finish(results);

  weights_.settle(0, &backend);
  std::vector<std::string> names;
  std::vector<nn::Shape> shapes;
  for (const Json &weight : about["weights"]) {
    shapes.push_back(recorded("weights", names.size()).shape());
    names.push_back(weight["name"]);
  }
  places_ = places_of_weights(weights_, names, shapes);
  for (size_t i = 0; i < places_.size(); ++i)
    nn::copy_elements(recorded("weights", i), weights_.at(places_[i]).value, names[i]);
  executable_ = std::make_unique<nn::Executable>(program, weights_, backend, state_);
  for (size_t i = 0; i < inputs_; ++i)
    nn::copy_elements(recorded("inputs", i), executable_->fed(i), "an input");
}

const nn::Array &RecordedCall::recorded(const std::string &array, size_t index) const {
  return fixture_[prefix_ + array + "/" + std::to_string(index)];
}

bool RecordedCall::is_recorded(const std::string &array, size_t index) const {
  return fixture_.has(prefix_ + array + "/" + std::to_string(index));
}

void RecordedCall::expect(const nn::Array &got, const nn::Array &expected,
                          const std::string &what) const {
  if (precision_ == nn::Dtype::f32) expect_recorded(got, expected, tolerance, what);
  else expect_recorded(got, expected, precision_, what);
}

void RecordedCall::compare_outputs() {
  executable_->forward();
  for (size_t i = 0; i < outputs_.size(); ++i)
    expect(executable_->result(outputs_[i]), recorded("outputs", i), "output " + std::to_string(i));
}

void RecordedCall::compare_gradients() {
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (const nn::Array &given = executable_->result_gradient(outputs_[i]))
      nn::copy_elements(recorded("output_gradients", i), given, "the gradient of an output");
  fill_regularization_gradients(0);
  executable_->backward();
  for (size_t i = 0; i < inputs_; ++i)
    if (is_recorded("input_gradients", i))
      expect(executable_->fed_gradient(i), recorded("input_gradients", i),
             "the gradient of input " + std::to_string(i));
  for (size_t i = 0; has_weight_gradients_ && i < places_.size(); ++i)
    if (is_recorded("weight_gradients", i))
      expect(weights_.at(places_[i]).gradient, recorded("weight_gradients", i),
             "the gradient of " + weights_.at(places_[i]).name);
}

void RecordedCall::fill_regularization_gradients(float value) {
  for (const size_t result : regularizations_)
    if (const nn::Array &given = executable_->result_gradient(result)) given.data()[0] = value;
}

void RecordedCall::compare_regularization() {
  double sum = 0;
  for (const size_t result : regularizations_)
    sum += static_cast<double>(executable_->result(result).data()[0]);
  const std::string key = prefix_ + "regularization";
  const float expected = fixture_.has(key) ? fixture_[key].data()[0] : 0;
  expect_recorded(sum, static_cast<double>(expected), tolerance, "what weights add to the loss");
  if (!has_weight_gradients_) return;
  for (const size_t output : outputs_)
    if (const nn::Array &given = executable_->result_gradient(output)) {
      const auto values = given.elements();
      std::fill(values.begin(), values.end(), 0.0F);
    }
  fill_regularization_gradients(1);
  executable_->backward();
  for (size_t i = 0; i < places_.size(); ++i)
    if (is_recorded("regularization_gradients", i))
      expect(weights_.at(places_[i]).gradient, recorded("regularization_gradients", i),
             "the gradient of the regularization of " + weights_.at(places_[i]).name);
}

void RecordedCall::compare_states() {
  for (size_t i = 0; i < places_.size(); ++i) {
    const std::string kept = is_recorded("weights_after", i) ? "weights_after" : "weights";
    const nn::Array expected(weights_.at(places_[i]).value.type());
    nn::copy_elements(recorded(kept, i), expected, "what Keras has");
    expect_recorded(weights_.at(places_[i]).value, expected, tolerance,
                    weights_.at(places_[i]).name + " after the call");
  }
}

}  // namespace det::test

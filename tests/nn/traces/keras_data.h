// Models and data of the recorded runs of Keras, by formula.
#pragma once

#include "events.h"

#include <cmath>
#include <det/keras.hpp>

namespace traces {

using namespace det::nn;
namespace keras = det::keras;

inline Batch ramp(const Json &about) {
  std::vector<float> x(about.at("n").get<size_t>());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * about.value("scale", 1.0F);
  std::vector<float> y(x);
  for (float &one : y) one *= about.value("slope", 1.0F);
  const auto count = static_cast<int64_t>(x.size());
  return {{Array(std::move(x), {count, 1})}, {Array(std::move(y), {count, 1})}};
}

inline Batch exclusive_or(const Json &about) {
  std::vector<float> x, y;
  for (int i = 0; i < about.value("repeat", 1); ++i) {
    x.insert(x.end(), {0, 0, 0, 1, 1, 0, 1, 1});
    y.insert(y.end(), {0, 1, 1, 0});
  }
  const auto count = static_cast<int64_t>(y.size());
  return {{Array(std::move(x), {count, 2})}, {Array(std::move(y), {count, 1})}};
}

inline Batch pixels(const Json &about) {
  const bool is_image = about.at("set") == "img";
  const int64_t side = about.value("side", is_image ? 12 : 8), count = about.at("n");
  std::vector<float> x;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i) {
    labels.push_back((7 * i + 3) % 10);
    for (int64_t p = 0; p < side * side; ++p)
      x.push_back(static_cast<float>(
          0.5 + 0.5 * std::sin(0.13 * static_cast<double>((p + 1) * (labels.back() + 1)) +
                               0.01 * static_cast<double>(i) + about.value("seed", 0.0))));
  }
  return {{Array(std::move(x), is_image ? Shape{count, side, side, 1} : Shape{count, side * side})},
          {Array(std::move(labels))}};
}

class Rows : public keras::Sequence {
 public:
  Rows(const Batch &all, int64_t size) : batches_(all, size) {}
  int64_t size() const override { return batches_.size(); }
  Batch at(int64_t index) override { return batches_.at(index); }

 private:
  keras::ArraySequence batches_;
};

inline keras::InputData data(const Json &about, keras::TrialContext &context) {
  const std::string set = about.at("set"), form = about.at("form");
  Batch all = set == "ramp" ? ramp(about) : set == "xor" ? exclusive_or(about) : pixels(about);
  const int64_t size = context.get_per_slot_batch_size();
  if (form == "tuple3") {
    std::vector<float> weights(static_cast<size_t>(all.records()));
    const auto given = about.at("sw").get<std::vector<float>>();
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = given[i % given.size()];
    all.sample_weights = {Array(std::move(weights))};
  }
  if (form == "sequence") return std::make_shared<Rows>(all, size);
  if (form == "adapter") {
    const Json adapter = about.value("adapter", Json::object());
    return keras::SequenceAdapter{std::make_shared<Rows>(all, size), adapter.value("workers", 1),
                                  adapter.value("max_queue_size", 10)};
  }
  if (form.rfind("dataset", 0) != 0) return all;
  auto dataset = Dataset::from_arrays(all);
  if (form == "dataset") dataset = context.wrap_dataset(dataset);
  dataset = dataset.batch(size, about.value("drop_remainder", false));
  return form == "dataset" ? dataset : context.wrap_dataset(dataset);
}

inline det::Json model_of(const Json &spec) {
  const std::string name = spec.at("model");
  if (name == "onevar")
    return describe_sequential({dense(1).use_bias(false).kernel_initializer("zeros")}, {1});
  if (name == "xor") return describe_sequential({dense(2, sigmoid), dense(1, sigmoid)}, {2});
  if (name == "pix") return describe_sequential({dense(16, relu), dense(10, softmax)}, {64});
  std::vector<Layer> layers = {conv2d(4, {3, 3}, relu), max_pool2d()};
  if (spec.value("batchnorm", false)) layers.push_back(batch_normalization());
  layers.push_back(flatten());
  layers.push_back(dense(10, softmax));
  return describe_sequential(layers, {12, 12, 1});
}

// As the recorded runs began: matrices by formula.
inline void set_first_weights(const Model &model) {
  const std::vector<det::Tensor> weights = model.weights();
  size_t trained = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!model.is_trained(i)) continue;
    const det::Tensor &weight = weights[i];
    const size_t t = trained++, count = weight.elements();
    if (weight.shape.size() < 2 || count == 1) continue;
    const double inputs = static_cast<double>(count) / static_cast<double>(weight.shape.back());
    for (size_t k = 0; k < count; ++k)
      static_cast<float *>(weight.data)[k] = static_cast<float>(
          std::sin(0.37 * static_cast<double>(k) + 0.1 * static_cast<double>(t)) /
          std::sqrt(inputs));
  }
}

// What compile() takes.
inline det::Json compiling(const Json &spec) {
  const std::string model = spec.at("model");
  const bool is_one = model == "onevar", is_xor = model == "xor";
  Json optimizer = spec.at("optimizer");
  if (optimizer.is_object()) {
    Json config = optimizer;
    config.erase("name");
    config.erase("legacy");
    optimizer = {{"class_name", optimizer.at("name")}, {"config", config}};
    if (spec.at("optimizer").value("legacy", false))
      optimizer["module"] = "keras.optimizers.legacy";
  }
  const char *loss = is_one   ? "mean_squared_error"
                     : is_xor ? "binary_crossentropy"
                              : "sparse_categorical_crossentropy";
  const Json metrics = is_one ? Json::array() : Json{"accuracy"};
  Json options = {{"optimizer", optimizer},
                  {"loss", spec.value("loss", Json(loss))},
                  {"metrics", spec.value("metrics", metrics)}};
  options.update(spec.value("compile_extra", Json::object()));
  return options;
}

}  // namespace traces

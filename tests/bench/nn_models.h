// The models that nn_steps.cc measures, with a batch for each.
#pragma once

#include <cmath>
#include <det/nn.hpp>
#include <string>
#include <vector>

namespace bench {

using namespace det::nn;

struct TrainedCase {
  Model model;
  Batch records;
};

// `count` sines, in the shape of the records.
inline Array sines(const Shape &shape, int64_t count) {
  std::vector<float> x(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  return Array(std::move(x), shape);
}

inline Array labels(const Shape &shape, int64_t count, int32_t classes) {
  std::vector<int32_t> truths(static_cast<size_t>(count));
  for (size_t i = 0; i < truths.size(); ++i) truths[i] = static_cast<int32_t>(i) % classes;
  return Array(std::move(truths), shape);
}

// What computes a model: a back end, or the usual one, and the policy of its layers, or float32.
struct Way {
  std::string backend = {}, policy = {};
};

inline Model create(const det::Json &described, const Way &way) {
  ModelOptions options;
  options.backend = way.backend;
  return Model::create(described, options);
}

inline TrainedCase images(const std::vector<Layer> &layers, const Shape &image, int64_t batch,
                          const Way &way) {
  Shape shape = image;
  shape.insert(shape.begin(), batch);
  return {create(describe_sequential(layers, image, "sequential", way.policy), way),
          {{sines(shape, batch * 784)}, {labels({batch}, batch, 10)}}};
}

// Four blocks of 64 features and 4 heads over 32 of 256 tokens.
inline TrainedCase transformer(int64_t batch, const Way &way) {
  const Value tokens = input({32}, "tokens", "int32");
  Value x = embedding(256, 64)(tokens);
  for (int i = 0; i < 4; ++i) {
    const Value normal = layer_normalization()(x);
    const Value seen = add()({x, multi_head_attention(4, 16)({normal, normal})});
    x = add()({seen, dense(64)(dense(256, relu)(layer_normalization()(seen)))});
  }
  const Value next = dense(256, softmax)(layer_normalization()(x));
  const Shape shape{batch, 32};
  return {create(describe_functional({tokens}, {next}, "model", way.policy), way),
          {{labels(shape, batch * 32, 256)}, {labels(shape, batch * 32, 256)}}};
}

inline TrainedCase make_case(const std::string &name, int64_t batch, const Way &way) {
  if (name == "transformer") return transformer(batch, way);
  if (name == "lstm") return images({lstm(128), dense(10, softmax)}, {28, 28}, batch, way);
  if (name == "cnn")
    return images(
        {conv2d(32, {3, 3}, relu), max_pool2d(), batch_normalization(), conv2d(64, {3, 3}, relu),
         max_pool2d(), flatten(), dropout(0.25), dense(128, relu), dense(10, softmax)},
        {28, 28, 1}, batch, way);
  return images({dense(128, relu), dense(10, softmax)}, {784}, batch, way);
}

// One step of SGD: compiled and trained once.
inline TrainedCase make_trained_case(const std::string &name, int64_t batch, const Way &way = {}) {
  TrainedCase made = make_case(name, batch, way);
  made.model.compile(R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.01}},
                         "loss": "sparse_categorical_crossentropy"})");
  made.model.train_on_batch(made.records);
  return made;
}

}  // namespace bench

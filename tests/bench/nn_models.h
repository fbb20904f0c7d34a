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

inline TrainedCase images(const std::vector<Layer> &layers, const Shape &image, int64_t batch) {
  Shape shape = image;
  shape.insert(shape.begin(), batch);
  return {Model::create(describe_sequential(layers, image)),
          {{sines(shape, batch * 784)}, {labels({batch}, batch, 10)}}};
}

// Four blocks of 64 features and 4 heads over 32 of 256 tokens.
inline TrainedCase transformer(int64_t batch) {
  const Value tokens = input({32}, "tokens", "int32");
  Value x = embedding(256, 64)(tokens);
  for (int i = 0; i < 4; ++i) {
    const Value normal = layer_normalization()(x);
    const Value seen = add()({x, multi_head_attention(4, 16)({normal, normal})});
    x = add()({seen, dense(64)(dense(256, relu)(layer_normalization()(seen)))});
  }
  const Value next = dense(256, softmax)(layer_normalization()(x));
  const Shape shape{batch, 32};
  return {Model::create(describe_functional({tokens}, {next})),
          {{labels(shape, batch * 32, 256)}, {labels(shape, batch * 32, 256)}}};
}

inline TrainedCase make_case(const std::string &name, int64_t batch) {
  if (name == "transformer") return transformer(batch);
  if (name == "lstm") return images({lstm(128), dense(10, softmax)}, {28, 28}, batch);
  if (name == "cnn")
    return images(
        {conv2d(32, {3, 3}, relu), max_pool2d(), batch_normalization(), conv2d(64, {3, 3}, relu),
         max_pool2d(), flatten(), dropout(0.25), dense(128, relu), dense(10, softmax)},
        {28, 28, 1}, batch);
  return images({dense(128, relu), dense(10, softmax)}, {784}, batch);
}

// One step of SGD: compiled and trained once.
inline TrainedCase make_trained_case(const std::string &name, int64_t batch) {
  TrainedCase made = make_case(name, batch);
  made.model.compile(R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.01}},
                         "loss": "sparse_categorical_crossentropy"})");
  made.model.train_on_batch(made.records);
  return made;
}

}  // namespace bench

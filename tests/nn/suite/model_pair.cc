#include "tests/nn/suite/model_pair.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/nn/recorded/fixture.h"
#include "tests/nn/suite/operation_case.h"

namespace det::test {

namespace {

// Of the largest number: sums are added up in another order.
constexpr double tolerance = 3e-5;

Json layers_on(nn::Shape input, const char *dtype, Json layers) {
  Json shape = Json::array({nullptr});
  for (const int64_t size : input) shape.push_back(size);
  Json all = Json::array(
      {layer("InputLayer", {{"batch_input_shape", shape}, {"dtype", dtype}, {"name", "x"}})});
  for (Json &one : layers) all.push_back(std::move(one));
  return sequential(std::move(all));
}

nn::Batch labelled(nn::Array inputs, int64_t records, int32_t classes) {
  nn::Batch batch{{std::move(inputs)}, {nn::Array(ints({records}))}, {}};
  for (int64_t i = 0; i < records; ++i)
    batch.truths[0].data<int32_t>()[i] = static_cast<int32_t>(i * 7 % classes);
  return batch;
}

// What overflowed is some NaN or another.
bool is_finite(const nn::Array &array) {
  return std::ranges::all_of(array.elements(), [](float value) { return std::isfinite(value); });
}

void expect_states(const nn::Model &got, const nn::Model &expected) {
  const auto numbers = [](const nn::Model &model) {
    const nn::Optimizer &optimizer = model.training().optimizer();
    const nn::LossScale::State scale =
        optimizer.loss_scale() ? optimizer.loss_scale()->state() : nn::LossScale::State{};
    return std::vector<double>{static_cast<double>(model.steps()),
                               static_cast<double>(optimizer.iterations()),
                               optimizer.learning_rate(), static_cast<double>(scale.scale),
                               static_cast<double>(scale.good_steps)};
  };
  if (numbers(got) != numbers(expected))
    throw Error(Code::internal, "they differ in a count, the learning rate or the scale");
  const auto &slots = expected.training().optimizer().slots();
  for (size_t i = 0; i < slots.size(); ++i)
    expect_recorded(got.training().optimizer().slots().at(i).values, slots[i].values, tolerance,
                    slots[i].name);
}

void expect_same(const nn::Model &got, const nn::Model &expected) {
  for (size_t i = 0; i < expected.weights().all().size(); ++i) {
    const nn::Weight &weight = expected.weights().at(i);
    expect_recorded(got.weights().at(i).value, weight.value, tolerance, weight.name);
    if (weight.gradient && is_finite(weight.gradient))
      expect_recorded(got.weights().at(i).gradient, weight.gradient, tolerance,
                      "the gradient of " + weight.name);
  }
  const auto results = expected.results();
  for (size_t i = 0; i < results.size(); ++i)
    expect_recorded(got.results().at(i), results[i], tolerance, "a result");
  const auto names = expected.training().metric_names();
  for (size_t i = 0; i < names.size(); ++i)
    expect_recorded(got.training().metric(i), expected.training().metric(i), tolerance, names[i]);
  expect_states(got, expected);
}

}  // namespace

ModelPair::ModelPair(const Json &described, const Json &options, const std::string &backend,
                     uint64_t seed)
    : loops(described, {seed, "reference"}), other(described, {seed, backend}) {
  for (nn::Model *model : {&loops, &other}) model->compile(options);
}

void ModelPair::both(const std::string &what, const std::function<void(nn::Model &)> &use) {
  for (nn::Model *model : {&loops, &other}) use(*model);
  compare(what);
}

void ModelPair::train(const std::string &what, const nn::Batch &batch) {
  both(what, [&](nn::Model &model) { model.train_on_batch(batch); });
}

void ModelPair::test(const std::string &what, const nn::Batch &batch) {
  both(what, [&](nn::Model &model) { model.test_on_batch(batch); });
}

void ModelPair::predict(const std::string &what, const nn::Batch &batch) {
  both(what, [&](nn::Model &model) { model.predict_on_batch(batch.inputs); });
}

void ModelPair::compare(const std::string &what) const {
  try {
    expect_same(other, loops);
  } catch (const Error &e) {
    fail_msg("%s: %s", what.c_str(), e.what());
  }
}

Json model_of_images() {
  return layers_on(
      {8, 8, 2}, "float32",
      {layer("Conv2D",
             {{"filters", 3}, {"kernel_size", 3}, {"padding", "same"}, {"activation", "relu"}}),
       layer("BatchNormalization", {{"momentum", 0.9}}), layer("MaxPooling2D", Json::object()),
       layer("SpatialDropout2D", {{"rate", 0.2}}),
       layer("Conv2D", {{"filters", 4},
                        {"kernel_size", 2},
                        {"strides", 2},
                        {"padding", "same"},
                        {"activation", "tanh"}}),
       layer("Flatten", Json::object()), layer("Dropout", {{"rate", 0.3}}),
       layer("Dense", {{"units", 3}, {"activation", "softmax"}})});
}

nn::Batch images(int64_t records, uint64_t seed) {
  const nn::Array pixels(floats({records, 8, 8, 2}));
  fill_randomly(pixels, seed);
  return labelled(pixels, records, 3);
}

Json model_of_ids() {
  return layers_on(
      {5}, "int32",
      {layer("Embedding", {{"input_dim", 11}, {"output_dim", 4}}),
       layer("Bidirectional",
             {{"layer", layer("LSTM", {{"units", 3}, {"return_sequences", true}})}}),
       layer("LayerNormalization", Json::object()), layer("Dropout", {{"rate", 0.3}}),
       layer("GRU", {{"units", 4}}), layer("Dense", {{"units", 2}, {"activation", "softmax"}})});
}

nn::Batch ids(int64_t records, uint64_t seed) {
  const nn::Array words(ints({records, 5}));
  for (size_t i = 0; i < words.size(); ++i)
    words.data<int32_t>()[i] = static_cast<int32_t>((i * 13 + seed) % 11);
  return labelled(words, records, 2);
}

}  // namespace det::test

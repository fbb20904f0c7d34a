// Weights and the state of training: written, read again, and refused.
#include "wrappers/nn/files/model_files.h"

#include <array>
#include <bit>
#include <fstream>
#include <functional>

#include "core/base/file.h"
#include "core/base/half.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/small_model.h"
#include "tests/temporary_directory.h"
#include "wrappers/nn/files/array_file.h"
#include "wrappers/nn/files/onnx_writer.h"

namespace det::test {
namespace {

using nn::Array;
using nn::Model;

std::vector<float> values_of(const Model &model) {
  const auto values = model.weights().trained().elements();
  return {values.begin(), values.end()};
}

Model compiled_model(uint64_t seed, const Json &optimizer) {
  Model model(small_model(), {seed, "reference"});
  model.compile(sparse_losses(optimizer));
  return model;
}

const Json adam = layer("Adam", {{"learning_rate", 0.01}, {"use_ema", true}});

void train(Model &model, int steps) {
  const nn::Batch batch = batch_of(8);
  for (int step = 0; step < steps; ++step) model.train_on_batch(batch);
}

void test_a_resumed_training_is_the_undisturbed_one(void **) {
  const TemporaryDirectory directory;
  for (const Json &optimizer :
       {adam, layer("SGD", {{"momentum", 0.9}, {"nesterov", true}}),
        layer("RMSprop", Json::object()),
        layer("LossScaleOptimizer", {{"inner_optimizer", adam}, {"dynamic_growth_steps", 3}}),
        layer("Adagrad",
              {{"learning_rate", layer("ExponentialDecay", {{"initial_learning_rate", 0.1},
                                                            {"decay_steps", 3},
                                                            {"decay_rate", 0.5}})}})}) {
    Model whole = compiled_model(1, optimizer);
    Model first = compiled_model(1, optimizer);
    for (Model *model : {&whole, &first}) {
      train(*model, 5);
      if (model->training().optimizer().base_learning_rate())
        model->training().optimizer().set_learning_rate(0.02);
    }
    train(whole, 5);
    nn::save_weights(first, directory / "weights");
    nn::save_training_state(first, directory / "state");

    Model second = compiled_model(2, optimizer);
    assert_false(values_of(second) == values_of(first));
    nn::load_weights(second, directory / "weights");
    nn::load_training_state(second, directory / "state");
    train(second, 5);
    assert_true(values_of(second) == values_of(whole));
    assert_int_equal(second.steps(), 10);
    assert_int_equal(second.seed(), 1);
    if (!whole.training().optimizer().loss_scale()) continue;
    // Steps 3, 6 and 9 doubled it; powers of two leave no trace in the weights.
    const nn::LossScale::State &scale = second.training().optimizer().loss_scale()->state();
    assert_true(scale.scale == 0x1p18F && scale.good_steps == 1);
  }
  // What was there was replaced, and nothing else is left.
  assert_int_equal(entry_names(directory.path()).size(), 2);
}

std::vector<nn::NamedArray> arrays_of(const Model &model) {
  std::vector<nn::NamedArray> arrays;
  for (const nn::Weight &weight : model.weights().all())
    arrays.push_back({weight.name, weight.value});
  return arrays;
}

void test_weights_of_another_model_are_refused(void **) {
  const TemporaryDirectory directory;
  const Model source(small_model(), {1, "reference"});
  Model model(small_model(), {2, "reference"});
  const std::vector<float> before = values_of(model);
  const auto refuse = [&](const std::function<void(std::vector<nn::NamedArray> &)> &change) {
    std::vector<nn::NamedArray> arrays = arrays_of(source);
    change(arrays);
    nn::write_array_file(directory / "weights", arrays, {});
    const std::string told =
        expect_error(Code::invalid, [&] { nn::load_weights(model, directory / "weights"); });
    assert_true(values_of(model) == before);
    return told;
  };
  assert_true(contains(refuse([](auto &arrays) { arrays[0].name = "dens/kernel"; }),
                       "'dens/kernel', which is not in it; did you mean 'dense/kernel'?"));
  assert_true(contains(refuse([](auto &arrays) { arrays.pop_back(); }), "no 'dense_1/bias'"));
  assert_true(contains(refuse([](auto &arrays) {
                         arrays.push_back({"more", arrays[0].array});
                       }),
                       "has 'more'"));
  assert_true(contains(refuse([](auto &arrays) {
                         arrays[1].array = Array({{9}, nn::Dtype::f32});
                       }),
                       "'dense/bias' is [9] in the file, and [8] is needed"));
  assert_true(contains(refuse([](auto &arrays) {
                         arrays[1].array = Array({{8}, nn::Dtype::i32});
                       }),
                       "is of I32"));
  expect_error(Code::not_found, [&] { nn::load_weights(model, directory / "none"); });
  Model unknown(sequential(Json::array({layer("Dense", {{"units", 2}})})), {0, "reference"});
  expect_error(Code::state, [&] { nn::save_weights(unknown, directory / "weights"); });
}

// A file that is cut anywhere, or has other bytes in its header, is told from a good one.
void test_damaged_weights_are_refused(void **) {
  const TemporaryDirectory directory;
  Model model(small_model(), {1, "reference"});
  nn::save_weights(model, directory / "good");
  const std::string good = read_file(directory / "good");
  const auto expect_damage = [&](const std::string &bytes) {
    std::ofstream(directory / "bad", std::ios::binary) << bytes;
    expect_error(Code::corrupt, [&] { nn::load_weights(model, directory / "bad"); });
  };
  for (const size_t size : {size_t{0}, size_t{7}, size_t{60}, good.size() - 1})
    expect_damage(good.substr(0, size));
  expect_damage(good + "x");
  std::string huge = good;
  huge.replace(huge.find("[8]"), 3, "[9]");
  expect_damage(huge);
}

void test_other_floats_become_ours(void **) {
  const TemporaryDirectory directory;
  Model model(sequential({layer("InputLayer", {{"batch_input_shape", {nullptr, 1}}}),
                          layer("Dense", {{"units", 2}})}),
              {1, "reference"});
  for (const nn::Dtype dtype : {nn::Dtype::f16, nn::Dtype::bf16, nn::Dtype::f64}) {
    const Array kernel({{1, 2}, dtype}), bias({{2}, dtype});
    for (size_t i = 0; i < 2; ++i) {
      const float value = i == 0 ? 1.5F : -0.25F;
      if (dtype == nn::Dtype::f64) kernel.data<double>()[i] = static_cast<double>(value);
      else
        static_cast<uint16_t *>(kernel.raw())[i] =
            dtype == nn::Dtype::f16 ? to_half(value) : to_bf16(value);
    }
    model.weights().at(0).value.data()[0] = 0;
    nn::write_array_file(directory / "weights", {{"dense/kernel", kernel}, {"dense/bias", bias}},
                         {});
    nn::load_weights(model, directory / "weights");
    assert_true(model.weights().at(0).value.data()[0] == 1.5F);
    assert_true(model.weights().at(0).value.data()[1] == -0.25F);
  }
}

void test_another_state_of_training_is_refused(void **) {
  const TemporaryDirectory directory;
  Model model = compiled_model(1, layer("Adam", {{"learning_rate", 0.01}}));
  train(model, 3);
  nn::save_training_state(model, directory / "state");
  Model other = compiled_model(1, layer("SGD", {{"momentum", 0.9}}));
  expect_error(Code::invalid, [&] { nn::load_training_state(other, directory / "state"); });
  // It has the same arrays.
  Model similar = compiled_model(1, layer("AdamW", Json::object()));
  assert_true(contains(
      expect_error(Code::invalid, [&] { nn::load_training_state(similar, directory / "state"); }),
      "'Adam'"));
  nn::save_weights(model, directory / "weights");
  expect_error(Code::invalid, [&] { nn::load_training_state(model, directory / "weights"); });
  std::vector<nn::NamedArray> slots;
  for (const auto &slot : model.training().optimizer().slots())
    for (const nn::Weight &weight : model.weights().all())
      slots.push_back({weight.name + "/" + slot.name, model.weights().beside(weight, slot.values)});
  nn::ArrayFile file = nn::read_array_file(directory / "state", slots, "a test");
  for (const char *count : {"-3", "9223372036854775807", "12x"}) {
    file.metadata["iterations"] = count;
    nn::write_array_file(directory / "state", slots, file.metadata);
    expect_error(Code::corrupt, [&] { nn::load_training_state(model, directory / "state"); });
    assert_int_equal(model.training().optimizer().iterations(), 3);
  }
}

void test_an_offset_is_written_as_onnx(void **) {
  const TemporaryDirectory directory;
  Model model(sequential({layer("InputLayer", {{"batch_input_shape", {nullptr, 3}}}),
                          layer("Rescaling", {{"scale", 0.5}, {"offset", -7.25}})}),
              {1, "reference"});
  nn::write_onnx(model, directory / "served.onnx");
  const std::string written = read_file(directory / "served.onnx");
  const auto bytes = std::bit_cast<std::array<char, sizeof(float)>>(-7.25F);
  assert_true(contains(written, "Add") &&
              contains(written, std::string(bytes.data(), bytes.size())));
}

void test_no_model_asks_for_more_memory_than_there_is(void **) {
  constexpr int64_t huge = int64_t{1} << 55;
  const auto of_units = [](int64_t inputs, int64_t units, int layers) {
    Json list = Json::array({layer("InputLayer", {{"batch_input_shape", {nullptr, inputs}}})});
    for (int i = 0; i < layers; ++i) list.push_back(layer("Dense", {{"units", units}}));
    return sequential(list);
  };
  expect_error(Code::invalid, [&] { Model(of_units(huge, huge, 1), {0, "reference"}); });
  expect_error(Code::no_memory, [&] { Model(of_units(1, huge, 1), {0, "reference"}); });
  // More bytes together than can be counted.
  expect_error(Code::no_memory, [&] {
    Model(of_units(int64_t{1} << 29, int64_t{1} << 29, 40), {0, "reference"});
  });
}

}  // namespace
}  // namespace det::test

int test_model_files() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_a_resumed_training_is_the_undisturbed_one),
      cmocka_unit_test(test_weights_of_another_model_are_refused),
      cmocka_unit_test(test_damaged_weights_are_refused),
      cmocka_unit_test(test_other_floats_become_ours),
      cmocka_unit_test(test_another_state_of_training_is_refused),
      cmocka_unit_test(test_an_offset_is_written_as_onnx),
      cmocka_unit_test(test_no_model_asks_for_more_memory_than_there_is),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// Layers that leave out some of what they compute: in training alone, the same again where a
// training goes on, and refused where nothing would be left.
#include <tuple>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/back_ends.h"
#include "tests/nn/suite/operation_case.h"
#include "tests/nn/suite/small_model.h"
#include "tests/temporary_directory.h"
#include "wrappers/nn/files/model_files.h"
#include "wrappers/nn/layers/layer.h"

namespace det::test {
namespace {

using nn::Model;

// Attention over a sequence, then a layer in both directions.
Json attentive_model(double rate) {
  const auto called = [](const char *class_name, const char *name, Json config, const char *on,
                         Json options = Json::object()) {
    config["name"] = name;
    Json inbound = Json::array();
    if (*on != '\0') inbound.push_back(Json::array({Json::array({on, 0, 0, std::move(options)})}));
    return Json{
        {"class_name", class_name}, {"name", name}, {"config", config}, {"inbound_nodes", inbound}};
  };
  const Json recurrent = layer("LSTM", {{"units", 3}, {"dropout", rate}});
  const Json layers{
      called("InputLayer", "x", {{"batch_input_shape", {nullptr, 4, 6}}}, ""),
      called("MultiHeadAttention", "attention",
             {{"num_heads", 2}, {"key_dim", 3}, {"dropout", rate}}, "x", {{"value", {"x", 0, 0}}}),
      called("Bidirectional", "both", {{"layer", recurrent}}, "attention"),
      called("Dense", "y", {{"units", 3}, {"activation", "softmax"}}, "both")};
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "attentive"},
            {"layers", layers},
            {"input_layers", {{"x", 0, 0}}},
            {"output_layers", {{"y", 0, 0}}}}}};
}

nn::Batch sequences(uint64_t seed) {
  nn::Batch batch{{nn::Array(floats({8, 4, 6}))}, {nn::Array(ints({8}))}, {}};
  fill_randomly(batch.inputs[0], seed);
  for (int i = 0; i < 8; ++i) batch.truths[0].data<int32_t>()[i] = i % 3;
  return batch;
}

Model compiled_model(const std::string &backend, uint64_t seed, double rate = 0.4) {
  Model model(attentive_model(rate), {seed, backend});
  model.compile(sparse_losses("adam"));
  return model;
}

void train(Model &model, int from, int to) {
  for (int step = from; step < to; ++step)
    model.train_on_batch(sequences(static_cast<uint64_t>(step)));
}

std::vector<float> weights_of(const Model &model) {
  std::vector<float> numbers;
  for (const nn::Weight &weight : model.weights().all())
    for (const float value : weight.value.elements()) numbers.push_back(value);
  return numbers;
}

void test_a_resumed_training_leaves_out_what_the_undisturbed_one_did(void **) {
  const TemporaryDirectory directory;
  for (const std::string &backend : compared_back_ends()) {
    Model whole = compiled_model(backend, 1);
    train(whole, 0, 6);
    Model first = compiled_model(backend, 1);
    train(first, 0, 3);
    nn::save_weights(first, directory / "weights");
    nn::save_training_state(first, directory / "state");
    Model second = compiled_model(backend, 2);
    nn::load_weights(second, directory / "weights");
    nn::load_training_state(second, directory / "state");
    train(second, 3, 6);
    assert_true(weights_of(second) == weights_of(whole));
    Model other = compiled_model(backend, 1, 0);
    train(other, 0, 6);
    assert_false(weights_of(other) == weights_of(whole));
  }
}

void test_nothing_is_left_out_but_in_training(void **) {
  const nn::Batch batch = sequences(1);
  for (const std::string &backend : compared_back_ends()) {
    Model model = compiled_model(backend, 1);
    Model whole = compiled_model(backend, 1, 0);
    const auto numbers = [&](Model &one) {
      const nn::Array result = one.predict_on_batch(batch.inputs).at(0);
      return std::vector<float>(result.data(), result.data() + result.size());
    };
    assert_true(numbers(model) == numbers(whole));
    for (Model *one : {&model, &whole}) one->test_on_batch(batch);
    assert_true(model.training().metrics() == whole.training().metrics());
  }
}

// What Keras takes for 1 depends on how it computes.
void test_wrong_rates_are_refused(void **) {
  const Json recurrent{{"name", "g"}, {"units", 2}};
  const Json attention{{"name", "a"}, {"num_heads", 2}, {"key_dim", 2}};
  for (const auto &[class_name, config, key] : {std::tuple{"GRU", recurrent, "dropout"},
                                                {"GRU", recurrent, "recurrent_dropout"},
                                                {"MultiHeadAttention", attention, "dropout"}})
    for (const double rate : {-0.1, 1.0, 1.5}) {
      Json described = layer(class_name, config);
      described["config"][key] = rate;
      const auto told = expect_error(Code::invalid, [&] { nn::make_layer(described); });
      assert_true(contains(told, std::string("'") + key + "' is "));
      assert_true(contains(told, "must be from 0 to below 1"));
    }
}

}  // namespace
}  // namespace det::test

int test_dropout_in_layers() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_a_resumed_training_leaves_out_what_the_undisturbed_one_did),
      cmocka_unit_test(test_nothing_is_left_out_but_in_training),
      cmocka_unit_test(test_wrong_rates_are_refused),
  };
  return cmocka_run_group_tests_name("dropout_in_layers", tests, nullptr, nullptr);
}

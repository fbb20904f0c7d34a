// Models whose sizes cannot be: refused, with no number wrapped round and no end waited for.
#include <cstdint>

#include "wrappers/nn/model/model.h"

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/operation_case.h"
#include "tests/nn/suite/small_model.h"

namespace det::test {
namespace {

using nn::Array;
using nn::Model;

constexpr int64_t huge_size = int64_t{1} << 62;

std::string refuse_model(Code code, const Json &input_shape, Json layers) {
  layers.insert(layers.begin(), layer("InputLayer", {{"batch_input_shape", input_shape}}));
  return expect_error(code, [&] { Model(sequential(layers), {0, "reference"}); });
}

void test_products_of_sizes_are_refused_where_they_cannot_be(void **) {
  const Json steps = {nullptr, 2, 1};
  for (const char *class_name : {"LSTM", "GRU", "SimpleRNN"})
    refuse_model(Code::invalid, steps, Json::array({layer(class_name, {{"units", huge_size}})}));
  refuse_model(Code::invalid, {nullptr, 0, huge_size, 4},
               Json::array({layer("Flatten", Json::object())}));
  refuse_model(
      Code::invalid, {huge_size, 4, 1},
      Json::array({layer("TimeDistributed", {{"layer", layer("Dense", {{"units", 1}})}})}));
  assert_true(contains(
      refuse_model(Code::invalid, steps, Json::array({layer("Dense", {{"units", UINT64_MAX}})})),
      "'units'"));
}

void test_sums_of_sizes_are_refused_where_they_cannot_be(void **) {
  const nn::ArrayTypes parts(40, {{1, huge_size / 16}, nn::Dtype::f32});
  expect_error(Code::invalid, [&] { (void)nn::ConcatenateOp{1}.infer(parts); });
}

void test_heads_of_attention_are_refused_where_they_cannot_be(void **) {
  const auto functional_layer = [](const char *class_name, const char *name, Json config,
                                   Json inbound) {
    config["name"] = name;
    return Json{
        {"class_name", class_name}, {"name", name}, {"config", config}, {"inbound_nodes", inbound}};
  };
  const Json call = {"x", 0, 0, {{"value", {"x", 0, 0}}}};
  const Json described = {
      {"class_name", "Functional"},
      {"config",
       {{"name", "attending"},
        {"layers",
         {functional_layer("InputLayer", "x", {{"batch_input_shape", {nullptr, 2, 1}}},
                           Json::array()),
          functional_layer("MultiHeadAttention", "a", {{"num_heads", huge_size}, {"key_dim", 4}},
                           Json::array({Json::array({call})}))}},
        {"input_layers", Json::array({{"x", 0, 0}})},
        {"output_layers", Json::array({{"a", 0, 0}})}}}};
  expect_error(Code::invalid, [&] { Model(described, {0, "reference"}); });
}

void test_the_memory_of_a_batch_is_counted_as_a_whole(void **) {
  // Each array has a third of what the machine may have, and there are many.
  Json layers = Json::array({layer("InputLayer", {{"batch_input_shape", {nullptr, 1}}})});
  for (int i = 0; i < 64; ++i) layers.push_back(layer("Activation", {{"activation", "relu"}}));
  Model model(sequential(layers), {0, "reference"});
  static float nothing = 0;
  const auto third = static_cast<int64_t>(nn::memory_of_machine() / sizeof(float) / 3);
  expect_error(Code::no_memory, [&] {
    model.predict_on_batch({Array::borrowed({{third, 1}, nn::Dtype::f32}, &nothing)});
  });
}

void test_counts_that_take_for_ever_do_not(void **) {
  Model model(small_model(), {1, "reference"});
  model.compile(sparse_losses(layer("Nadam", Json::object())));
  model.training().optimizer().set_iterations(INT64_MAX / 2);
  model.train_on_batch(batch_of(2));
  const Json curve = layer("AUC", {{"num_thresholds", huge_size}});
  expect_error(Code::invalid, [&] {
    model.compile({{"loss", "mse"}, {"metrics", Json::array({curve})}});
  });
}

}  // namespace
}  // namespace det::test

int test_huge_models() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_products_of_sizes_are_refused_where_they_cannot_be),
      cmocka_unit_test(test_sums_of_sizes_are_refused_where_they_cannot_be),
      cmocka_unit_test(test_heads_of_attention_are_refused_where_they_cannot_be),
      cmocka_unit_test(test_the_memory_of_a_batch_is_counted_as_a_whole),
      cmocka_unit_test(test_counts_that_take_for_ever_do_not),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

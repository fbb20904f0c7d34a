// Layers that compute in 16 bits, beside what tests/data/nn/layers/mixed says of them.
#include "wrappers/nn/model/model.h"

#include <bit>
#include <cmath>
#include <limits>

#include "core/base/half.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/recorded/fixture.h"
#include "tests/nn/suite/operation_case.h"
#include "tests/nn/suite/small_model.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::test {
namespace {

using nn::Array;
using nn::Dtype;

// Of 16 bits: what a kernel makes of each number, and as what gradient it comes back.
void expect_rounding(Dtype to, const std::vector<std::pair<float, float>> &pairs) {
  nn::Operands operands;
  const nn::ArrayType type = floats({static_cast<int64_t>(pairs.size())});
  for (auto *arrays :
       {&operands.inputs, &operands.outputs, &operands.input_gradients, &operands.output_gradients})
    arrays->emplace_back(type);
  for (size_t i = 0; i < pairs.size(); ++i)
    operands.inputs[0].data()[i] = operands.output_gradients[0].data()[i] = pairs[i].first;
  const auto kernel = nn::make_reference_kernel(nn::RoundingOp{to}, operands);
  kernel->forward();
  kernel->backward();
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto wanted = std::bit_cast<uint32_t>(pairs[i].second);
    assert_int_equal(std::bit_cast<uint32_t>(operands.outputs[0].data()[i]), wanted);
    assert_int_equal(std::bit_cast<uint32_t>(operands.input_gradients[0].data()[i]), wanted);
  }
}

void test_numbers_are_rounded_to_the_nearest_and_ties_to_even(void **) {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  expect_rounding(Dtype::bf16, {{1, 1},
                                {-0.0F, -0.0F},
                                {1 + 0x1p-8F, 1},
                                {1 + 0x1.8p-7F, 1 + 0x1p-6F},
                                {-1 - 0x1.01p-8F, -1 - 0x1p-7F},
                                {0x1p-133F, 0x1p-133F},
                                {0x1p-135F, 0},
                                {3e38F, 0x1.c4p127F},
                                {std::numeric_limits<float>::max(), infinite},
                                {-infinite, -infinite}});
  expect_rounding(Dtype::f16, {{1, 1},
                               {-0.0F, -0.0F},
                               {1 + 0x1p-11F, 1},
                               {1 + 0x1.8p-10F, 1 + 0x1p-9F},
                               {-1 - 0x1.01p-11F, -1 - 0x1p-10F},
                               {0x1p-24F, 0x1p-24F},
                               {0x1.8p-24F, 0x1p-23F},
                               {-0x1p-25F, -0.0F},
                               {65504, 65504},
                               {65519, 65504},
                               {65520, infinite},
                               {-infinite, -infinite}});
}

// Every number that has 16 bits stays as it is.
void test_numbers_of_16_bits_are_kept(void **) {
  for (const Dtype to : {Dtype::bf16, Dtype::f16}) {
    std::vector<std::pair<float, float>> pairs;
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
      const auto half = static_cast<uint16_t>(bits);
      const float value = to == Dtype::f16 ? from_half(half) : from_bf16(half);
      if (!std::isnan(value)) pairs.emplace_back(value, value);
    }
    expect_rounding(to, pairs);
  }
}

Json policy(const char *name) { return layer("Policy", {{"name", name}}); }

// The two dense layers of small_model(), with the "dtype" of each; null: none.
Json model_with(const Json &of_model, const Json &of_first, const Json &of_second) {
  Json model = small_model();
  const auto give = [](Json &config, const Json &dtype) {
    if (!dtype.is_null()) config["dtype"] = dtype;
  };
  give(model["config"]["layers"][2]["config"], of_first);
  give(model["config"]["layers"][3]["config"], of_second);
  give(model["config"], of_model);
  return model;
}

void test_a_policy_is_of_a_layer_or_of_all_without_one(void **) {
  const std::vector<Array> inputs = batch_of(16).inputs;
  const auto predicted = [&](const Json &described) {
    nn::Model model(described, {1, "reference"});
    assert_string_equal(
        to_wire(nn::write_model(*nn::read_model(nn::write_model(model.graph())))).c_str(),
        to_wire(nn::write_model(model.graph())).c_str());
    for (const nn::Weight &weight : model.weights().all()) {
      const bool is_kernel = weight.name.ends_with("kernel");
      if (is_kernel) assert_false(are_of(weight.value, Dtype::f16));
    }
    return model.predict_on_batch(inputs).at(0);
  };
  assert_false(are_of(predicted(small_model()), Dtype::f16));
  assert_true(are_of(predicted(model_with("mixed_float16", {}, {})), Dtype::f16));
  assert_true(are_of(predicted(model_with(policy("mixed_bfloat16"), {}, {})), Dtype::bf16));
  assert_true(are_of(predicted(model_with({}, {}, policy("mixed_float16"))), Dtype::f16));
  // As users of Keras write the last layer.
  assert_false(are_of(predicted(model_with(policy("mixed_float16"), {}, "float32")), Dtype::f16));
}

void test_what_is_no_policy_is_refused(void **) {
  const auto refuse = [](Code code, const Json &dtype) {
    return expect_error(code, [&] { nn::read_model(model_with({}, dtype, {})); });
  };
  assert_true(contains(refuse(Code::invalid, "mixed_float61"), "did you mean 'mixed_float16'"));
  assert_true(contains(refuse(Code::unsupported, "float16"), "'mixed_float16' and"));
  assert_true(contains(refuse(Code::unsupported, policy("float64")), "'dense' (Dense)"));
  assert_true(contains(refuse(Code::invalid, Json::object()), "no 'class_name'"));
  assert_true(contains(refuse(Code::invalid, 16), "'dtype' must be a text"));
}

}  // namespace
}  // namespace det::test

int test_mixed_precision() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers_are_rounded_to_the_nearest_and_ties_to_even),
      cmocka_unit_test(test_numbers_of_16_bits_are_kept),
      cmocka_unit_test(test_a_policy_is_of_a_layer_or_of_all_without_one),
      cmocka_unit_test(test_what_is_no_policy_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

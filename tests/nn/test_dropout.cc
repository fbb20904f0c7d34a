// What is left out, which differs from what TensorFlow leaves out: its share, and where and when it
// is the same.
#include <cmath>

#include "tests/cmocka.h"
#include "tests/nn/suite/operation_case.h"
#include "wrappers/nn/program/executable.h"
#include "wrappers/nn/program/program_builder.h"

namespace det::test {
namespace {

using nn::Array;
using nn::DropoutOp;

// What becomes of ones in each of a program's operations, at one step.
std::vector<std::vector<float>> dropped(const std::vector<DropoutOp> &operations,
                                        const nn::Shape &shape, uint64_t step, uint64_t seed = 1) {
  const auto backend = nn::open_backend("reference");
  nn::Weights none;
  nn::ProgramBuilder builder(none, true);
  const nn::Value x = builder.feed(floats(shape));
  std::vector<nn::Value> results;
  for (const DropoutOp &op : operations) results.push_back(builder.add(op, {x}));
  const nn::Program program = builder.finish(results);
  none.settle(0);
  const nn::StepState state{seed, step};
  nn::Executable executable(program, none, *backend, state);
  for (float &value : executable.fed(0).elements()) value = 1;
  executable.forward();
  std::vector<std::vector<float>> given;
  for (size_t i = 0; i < operations.size(); ++i) {
    const auto values = executable.result(i).elements();
    given.emplace_back(values.begin(), values.end());
  }
  return given;
}

void test_what_is_kept_makes_up_for_the_rest(void **) {
  for (const float rate : {0.1F, 0.5F, 0.8F}) {
    size_t kept = 0;
    const std::vector<float> values = dropped({{rate}}, {100, 200}, 3)[0];
    for (const float value : values) {
      assert_true(value == 0 || value == 1 / (1 - rate));
      kept += value != 0 ? 1 : 0;
    }
    const auto share = static_cast<float>(kept) / static_cast<float>(values.size());
    assert_true(std::fabs(share - (1 - rate)) < 0.02F);
  }
}

void test_draws_follow_from_seed_step_and_place(void **) {
  const auto first = dropped({{0.5F}, {0.5F}}, {8, 8}, 1);
  assert_true(first == dropped({{0.5F}, {0.5F}}, {8, 8}, 1));
  assert_false(first[0] == first[1]);  // of two layers
  assert_false(first == dropped({{0.5F}, {0.5F}}, {8, 8}, 2));
  assert_false(first == dropped({{0.5F}, {0.5F}}, {8, 8}, 1, 2));
  // A layer's own seed is taken in place of the model's.
  const DropoutOp seeded{0.5F, false, 7};
  assert_true(dropped({seeded}, {8, 8}, 1, 1) == dropped({seeded}, {8, 8}, 1, 2));
}

void test_channels_are_left_out_whole_in_each_record(void **) {
  constexpr size_t records = 6, places = 9, channels = 8;
  const std::vector<float> values = dropped({{0.5F, true}}, {records, 3, 3, channels}, 1)[0];
  bool differ = false;
  for (size_t record = 0; record < records; ++record)
    for (size_t channel = 0; channel < channels; ++channel) {
      const float *first = values.data() + record * places * channels + channel;
      for (size_t place = 0; place < places; ++place)
        assert_true(first[place * channels] == *first);
      differ = differ || *first != values[channel];
    }
  assert_true(differ);
}

// The last states of a recurrent operation, at one step.
std::vector<float> last_states(const nn::Operation &op, uint64_t step, uint64_t seed) {
  const auto backend = nn::open_backend("reference");
  nn::Weights none;
  nn::ProgramBuilder builder(none, true);
  std::vector<nn::Value> inputs;
  for (const nn::Shape &shape : {nn::Shape{5, 3, 4}, nn::Shape{4, 24}, nn::Shape{6, 24}})
    inputs.push_back(builder.feed(floats(shape)));
  const nn::Program program = builder.finish({builder.add_all(op, inputs).at(1)});
  none.settle(0);
  const nn::StepState state{seed, step};
  nn::Executable executable(program, none, *backend, state);
  for (size_t i = 0; i < inputs.size(); ++i) fill_randomly(executable.fed(i), i);
  executable.forward();
  const auto values = executable.result(0).elements();
  return {values.begin(), values.end()};
}

void test_recurrent_draws_follow_from_seed_and_step(void **) {
  const auto op = [](float of_x, float of_states) {
    return nn::LstmOp{nn::Activation::tanh, nn::Activation::sigmoid, false, {of_x, of_states}};
  };
  const std::vector<float> whole = last_states(op(0, 0), 1, 1);
  for (const auto &leaves_out : {op(0.5F, 0), op(0, 0.5F), op(0.5F, 0.5F)}) {
    const std::vector<float> first = last_states(leaves_out, 1, 1);
    assert_false(first == whole);
    assert_true(first == last_states(leaves_out, 1, 1));
    assert_false(first == last_states(leaves_out, 2, 1));
    assert_false(first == last_states(leaves_out, 1, 2));
  }
}

}  // namespace
}  // namespace det::test

int test_dropout() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_kept_makes_up_for_the_rest),
      cmocka_unit_test(test_draws_follow_from_seed_step_and_place),
      cmocka_unit_test(test_channels_are_left_out_whole_in_each_record),
      cmocka_unit_test(test_recurrent_draws_follow_from_seed_and_step),
  };
  return cmocka_run_group_tests_name("dropout", tests, nullptr, nullptr);
}

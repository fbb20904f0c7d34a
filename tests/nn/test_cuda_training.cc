// Whole models on the emulated GPU, step by step against the plain loops. A step is given as it is
// at first, recorded the second time, and replayed from the third on.
#include "tests/cmocka.h"
#include "tests/nn/suite/back_ends.h"
#include "tests/nn/suite/model_pair.h"
#include "tests/nn/suite/optimizer_cases.h"

namespace det::test {
namespace {

constexpr int steps = 6;

void compare_steps(const Json &described, const Json &optimizer, const nn::Batch &batch) {
  ModelPair pair(described, sparse_losses(optimizer), emulated_cuda());
  for (int step = 0; step < steps; ++step)
    pair.train(optimizer.dump() + ", step " + std::to_string(step), batch);
}

void test_every_optimizer(void **) {
  for (const auto &each :
       {optimizers_of_each_rule(), optimizers_of_filled_slots(), optimizers_that_do_more()})
    for (const Json &optimizer : each) compare_steps(small_model(), optimizer, batch_of(8));
}

void test_kinds_of_layers(void **) {
  const Json descent = layer("SGD", {{"learning_rate", 0.1}, {"momentum", 0.9}});
  compare_steps(model_of_images(), descent, images(6));
  compare_steps(model_of_ids(), descent, ids(6));
}

// What lies outside of the recorded arrays: batches, learning rate, what is done in between.
void test_what_changes_between_steps(void **) {
  ModelPair pair(model_of_images(), sparse_losses("adam"), emulated_cuda());
  for (int step = 0; step < steps; ++step) {
    const std::string when = " after step " + std::to_string(step);
    pair.both("the rate" + when, [&](nn::Model &model) {
      model.train_on_batch(images(6, static_cast<uint64_t>(step)));
      model.training().optimizer().set_learning_rate(0.01 / (step + 1));
    });
    pair.train("fewer records" + when, images(2));
    pair.test("tested" + when, images(6));
    pair.predict("predicted" + when, images(3));
    if (step == 3)
      pair.both("reset", [&](nn::Model &model) {
        model.training().reset_metrics();
        model.train_on_batch(images(6));
      });
  }
}

void test_records_that_weigh(void **) {
  ModelPair pair(small_model(), sparse_losses("sgd"), emulated_cuda());
  nn::Batch batch = batch_of(4);
  batch.weights.emplace_back(nn::ArrayType{{4}, nn::Dtype::f32});
  for (int step = 0; step < steps; ++step) {
    for (size_t i = 0; i < 4; ++i)
      batch.weights[0].data()[i] = static_cast<float>(i) / static_cast<float>(step + 1);
    pair.train("step " + std::to_string(step), batch);
  }
}

// To the bit: what is kept is multiplied by a number, and the draws are those of the processor.
void test_each_step_draws_anew(void **) {
  const Json described = sequential(
      {layer("InputLayer", {{"batch_input_shape", {nullptr, 16}}, {"name", "x"}}),
       layer("Dropout", {{"rate", 0.5}}), layer("Dropout", {{"rate", 0.2}, {"seed", 9}})});
  ModelPair pair(described, {{"optimizer", "sgd"}, {"loss", "mse"}}, emulated_cuda());
  const nn::Array x(nn::ArrayType{{4, 16}, nn::Dtype::f32});
  for (float &value : x.elements()) value = 1;
  std::vector<std::vector<float>> drawn;
  for (int step = 0; step < steps; ++step) {
    pair.train("step " + std::to_string(step), {{x}, {x}, {}});
    const auto loops = pair.loops.results().at(0).elements();
    const auto other = pair.other.results().at(0).elements();
    assert_memory_equal(other.data(), loops.data(), loops.size_bytes());
    const std::vector<float> now(other.begin(), other.end());
    for (const auto &before : drawn) assert_false(now == before);
    drawn.push_back(now);
  }
}

emulated::Counts counts_of_step(const Json &described, const Json &optimizer,
                                const nn::Batch &batch) {
  nn::Model model(described, {1, emulated_cuda()});
  model.compile(sparse_losses(optimizer));
  for (int step = 0; step < steps; ++step) model.train_on_batch(batch);
  const emulated::Counts before = counts_of_emulated_cuda();
  model.train_on_batch(batch);
  const emulated::Counts after = counts_of_emulated_cuda();
  return {after.work - before.work, after.waits - before.waits,
          after.allocations - before.allocations};
}

// The process waits for the end of a step only, whatever is done with gradients on the device.
void test_clipping_waits_for_nothing(void **) {
  const auto waits = [](const Json &config) {
    return counts_of_step(small_model(), layer("SGD", config), batch_of(8)).waits;
  };
  const size_t without = waits(Json::object());
  assert_true(without > 0);
  for (const char *clipping : {"clipnorm", "global_clipnorm", "clipvalue"})
    assert_int_equal(waits({{clipping, 0.1}}), without);
}

void test_steps_take_no_memory(void **) {
  const Json clipping = layer("Adam", {{"clipnorm", 0.1}});
  assert_int_equal(counts_of_step(model_of_images(), clipping, images(6)).allocations, 0);
  assert_int_equal(counts_of_step(model_of_ids(), clipping, ids(6)).allocations, 0);
}

Json with_policy(const char *policy) {
  Json described = small_model();
  described["config"]["dtype"] = policy;
  return described;
}

// The loss' scale goes into each step, and follows from its gradients.
void test_mixed_precision(void **) {
  const Json growing =
      layer("LossScaleOptimizer",
            {{"inner_optimizer", "sgd"}, {"initial_scale", 8}, {"dynamic_growth_steps", 2}});
  compare_steps(with_policy("mixed_float16"), growing, batch_of(8));
  compare_steps(with_policy("mixed_bfloat16"), "sgd", batch_of(8));
  // Gradients overflow until it is small enough.
  const Json large =
      layer("LossScaleOptimizer",
            {{"inner_optimizer", "sgd"}, {"initial_scale", 0x1p127}, {"dynamic_growth_steps", 2}});
  compare_steps(with_policy("mixed_float16"), large, batch_of(8));
}

// How many more pieces of work a prediction of this layer is in 16 bits.
size_t more_in_16_bits(const Json &last) {
  const auto work = [&](const char *policy) {
    Json described = sequential(
        {layer("InputLayer", {{"batch_input_shape", {nullptr, 16}}, {"name", "x"}}), last});
    described["config"]["dtype"] = policy;
    nn::Model model(described, {1, emulated_cuda()});
    const std::vector<nn::Array> x{nn::Array(nn::ArrayType{{4, 16}, nn::Dtype::f32})};
    for (int step = 0; step < steps; ++step) model.predict_on_batch(x);
    const size_t before = counts_of_emulated_cuda().work;
    model.predict_on_batch(x);
    return counts_of_emulated_cuda().work - before;
  };
  return work("mixed_bfloat16") - work("float32");
}

// What goes into a product becomes of 16 bits at once; what comes out is rounded.
void test_roundings_are_part_of_what_is_beside_them(void **) {
  const auto dense = [](const char *activation) {
    return layer("Dense", {{"units", 3}, {"use_bias", false}, {"activation", activation}});
  };
  assert_int_equal(more_in_16_bits(dense("linear")), 3);
  assert_int_equal(more_in_16_bits(dense("tanh")), 2);
  // Of what goes in, and of its weights.
  assert_int_equal(more_in_16_bits(layer("LayerNormalization", Json::object())), 3);
  assert_int_equal(more_in_16_bits(layer("Activation", {{"activation", "gelu"}})), 1);
}

}  // namespace
}  // namespace det::test

int test_cuda_training() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_every_optimizer),
      cmocka_unit_test(test_kinds_of_layers),
      cmocka_unit_test(test_what_changes_between_steps),
      cmocka_unit_test(test_records_that_weigh),
      cmocka_unit_test(test_each_step_draws_anew),
      cmocka_unit_test(test_clipping_waits_for_nothing),
      cmocka_unit_test(test_steps_take_no_memory),
      cmocka_unit_test(test_mixed_precision),
      cmocka_unit_test(test_roundings_are_part_of_what_is_beside_them),
  };
  return cmocka_run_group_tests_name("cuda_training", tests, nullptr, nullptr);
}

// What is done with models between and within their steps on the emulated GPU.
#include <cmath>
#include <map>
#include <thread>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/back_ends.h"
#include "tests/nn/suite/model_pair.h"
#include "tests/temporary_directory.h"
#include "wrappers/nn/files/model_files.h"

namespace det::test {
namespace {

using nn::Model;

const Json by_adam = sparse_losses("adam");

std::vector<float> numbers_of(const Model &model) {
  std::vector<float> numbers;
  for (const nn::Weight &weight : model.weights().all())
    for (const float value : weight.value.elements()) numbers.push_back(value);
  return numbers;
}

// Each once a step, complete when it is told of; with those of steps that nobody looks at between.
void test_gradients_may_be_observed(void **) {
  ModelPair pair(model_of_images(), by_adam, emulated_cuda());
  std::map<const Model *, std::vector<std::vector<float>>> seen;
  for (int step = 0; step < 6; ++step) {
    for (Model *model : {&pair.loops, &pair.other}) {
      auto &gradients = seen[model];
      gradients.assign(model->weights().all().size(), {});
      nn::GradientObserver observer;
      if (step % 3 != 0)
        observer.on_gradient = [&gradients, model](size_t index) {
          assert_true(gradients.at(index).empty());
          const auto values = model->weights().at(index).gradient.elements();
          gradients[index].assign(values.begin(), values.end());
        };
      // Of a step that is not applied nothing is left but its count.
      if (step % 2 != 0) observer.on_step = [step] { return step != 3; };
      model->observe_gradients(observer);
    }
    pair.train("step " + std::to_string(step), images(6, static_cast<uint64_t>(step)));
    const Model &model = pair.other;
    for (size_t i = 0; i < model.weights().all().size(); ++i) {
      const std::vector<float> &gradient = seen[&model][i];
      const bool is_told = step % 3 != 0 && model.weights().at(i).gradient;
      assert_int_equal(gradient.size(), is_told ? model.weights().at(i).value.size() : 0);
      for (size_t k = 0; k < gradient.size(); ++k)
        assert_true(std::fabs(gradient[k] - seen[&pair.loops][i][k]) < 1e-5F);
    }
  }
}

void test_gradients_stay_in_memory_of_the_gpu(void **) {
  Model model(model_of_images(), {1, emulated_cuda()});
  alignas(64) std::byte memory[64];
  expect_error(Code::unsupported, [&] { model.place_gradients({}); });
  expect_error(Code::unsupported, [&] { model.place_gradients(memory); });
}

// By whoever is told of a gradient, or of all of them.
void test_a_step_that_is_refused_has_not_been(void **) {
  ModelPair pair(model_of_images(), by_adam, emulated_cuda());
  const auto refuse = [] { throw Error(Code::state, "stop"); };
  for (int step = 0; step < 4; ++step) {
    for (const bool is_early : {true, false}) {
      const std::vector<float> before = numbers_of(pair.other);
      nn::GradientObserver observer;
      int left = 2;
      if (is_early)
        observer.on_gradient = [&](size_t) {
          if (--left == 0) refuse();
        };
      else
        observer.on_step = [&]() -> bool {
          refuse();
          return true;
        };
      pair.other.observe_gradients(observer);
      expect_error(Code::state, [&] { pair.other.train_on_batch(images(6, 99)); });
      assert_true(numbers_of(pair.other) == before);
      pair.other.observe_gradients({});
    }
    pair.train("step " + std::to_string(step), images(6));
  }
}

void test_weights_and_state_go_through_files(void **) {
  const TemporaryDirectory directory;
  for (const Json &optimizer :
       {Json("adam"), Json("adagrad"), layer("SGD", {{"use_ema", true}, {"momentum", 0.5}})}) {
    const Json options = sparse_losses(optimizer);
    const auto save = [&](const Model &model) {
      nn::save_weights(model, directory / "weights");
      nn::save_training_state(model, directory / "state");
    };
    const auto load = [&](Model &model) {
      nn::load_weights(model, directory / "weights");
      nn::load_training_state(model, directory / "state");
    };
    // As it is compiled, and after steps: into the other back end, into a new model, and back into
    // its own, whose steps are recorded.
    ModelPair pair(model_of_images(), options, emulated_cuda());
    for (const int trained : {0, 4}) {
      for (int step = 0; step < trained; ++step) pair.train("before", images(6));
      save(pair.other);
      ModelPair next(model_of_images(), options, emulated_cuda(), 5);
      for (Model *model : {&next.loops, &next.other}) load(*model);
      for (int step = 0; step < 4; ++step) next.train("in new models", images(6));
      const std::vector<float> undisturbed = numbers_of(next.other);
      for (int step = 0; step < 2; ++step) pair.train("left behind", images(6));
      for (Model *model : {&pair.loops, &pair.other}) load(*model);
      for (int step = 0; step < 4; ++step) pair.train("again", images(6));
      assert_true(numbers_of(pair.other) == undisturbed);
    }
  }
}

std::vector<float> trained_alone(const Json &described, const nn::Batch &batch, uint64_t seed) {
  Model model(described, {seed, emulated_cuda()});
  model.compile(by_adam);
  for (int step = 0; step < 6; ++step) model.train_on_batch(batch);
  return numbers_of(model);
}

void test_models_may_take_turns(void **) {
  Model first(model_of_images(), {1, emulated_cuda()});
  Model second(model_of_ids(), {2, emulated_cuda()});
  for (Model *model : {&first, &second}) model->compile(by_adam);
  for (int step = 0; step < 6; ++step) {
    first.train_on_batch(images(6));
    second.train_on_batch(ids(6));
  }
  assert_true(numbers_of(first) == trained_alone(model_of_images(), images(6), 1));
  assert_true(numbers_of(second) == trained_alone(model_of_ids(), ids(6), 2));
}

void test_threads_have_models_of_their_own(void **) {
  emulated_cuda();
  std::vector<std::vector<float>> found(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&found, i] {
      found[i] = i % 2 == 0 ? trained_alone(model_of_images(), images(6), i)
                            : trained_alone(model_of_ids(), ids(6), i);
    });
  for (std::thread &thread : threads) thread.join();
  for (size_t i = 0; i < found.size(); ++i)
    assert_true(found[i] == (i % 2 == 0 ? trained_alone(model_of_images(), images(6), i)
                                        : trained_alone(model_of_ids(), ids(6), i)));
}

}  // namespace
}  // namespace det::test

int test_cuda_models() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_gradients_may_be_observed),
      cmocka_unit_test(test_gradients_stay_in_memory_of_the_gpu),
      cmocka_unit_test(test_a_step_that_is_refused_has_not_been),
      cmocka_unit_test(test_weights_and_state_go_through_files),
      cmocka_unit_test(test_models_may_take_turns),
      cmocka_unit_test(test_threads_have_models_of_their_own),
  };
  return cmocka_run_group_tests_name("cuda_models", tests, nullptr, nullptr);
}

// What goes wrong on a GPU: told so that a person can act, without harm to what is left.
#include <filesystem>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/emulated_cuda/failing.h"
#include "tests/nn/recorded/recorded_call.h"
#include "tests/nn/suite/back_ends.h"
#include "tests/nn/suite/model_pair.h"
#include "tests/temporary_directory.h"
#include "wrappers/nn/files/model_files.h"

namespace det::test {
namespace {

constexpr size_t mebibyte = size_t{1} << 20;
constexpr size_t to_open = 32 * mebibyte;  // the room that libraries work in

std::string with_memory(size_t bytes) { return "memory=" + std::to_string(bytes); }

void test_without_a_gpu_there_are_other_back_ends(void **) {
  const auto refused = [](const char *how) {
    const Failing failing(how);
    const std::string message =
        expect_error(Code::unsupported, [] { nn::open_backend(emulated_cuda()); });
    assert_true(contains(message, "opening the back end 'cuda'"));
    return message;
  };
  assert_true(contains(refused("no_driver"), "no driver for GPUs"));
  assert_true(contains(refused("old_driver"), "for CUDA 12.2; install one for CUDA 13"));
  assert_true(contains(refused("no_device"), "nvidia-smi tells"));
  // It is asked anew.
  assert_string_equal(nn::open_backend(emulated_cuda())->name(), "cuda");
}

void test_a_gpu_without_room_is_not_opened(void **) {
  for (const size_t bytes : {size_t{0}, to_open - 1}) {
    const Failing failing(with_memory(bytes));
    expect_error(Code::no_memory, [] { nn::open_backend(emulated_cuda()); });
  }
  nn::open_backend(emulated_cuda());
}

void test_a_batch_that_is_too_large_changes_nothing(void **) {
  ModelPair pair(small_model(), sparse_losses("adam"), emulated_cuda());
  for (int step = 0; step < 4; ++step) {
    pair.train("before", batch_of(8));
    const Failing failing(with_memory(to_open + 4 * mebibyte));
    const nn::Batch large = batch_of(100000);
    for (const auto &use : std::vector<std::function<void()>>{
             [&] { pair.other.train_on_batch(large); }, [&] { pair.other.test_on_batch(large); },
             [&] { pair.other.predict_on_batch(large.inputs); }})
      assert_true(contains(expect_error(Code::no_memory, use), "smaller batches need less"));
    // What was made for it in vain is free again.
    pair.train("a smaller one", batch_of(64 + step));
  }
}

// Wherever memory ends while a model and a step are made.
void test_memory_may_end_anywhere(void **) {
  const auto make = [] {
    auto pair =
        std::make_unique<ModelPair>(model_of_images(), sparse_losses("adam"), emulated_cuda());
    pair->train("made", images(40));
    return pair;
  };
  bool was_refused = false, was_enough = false;
  for (size_t room = to_open; !was_enough; room += mebibyte / 8) {
    const Failing failing(with_memory(room));
    try {
      make();
      was_enough = true;
    } catch (const Error &e) {
      assert_int_equal(e.code, Code::no_memory);
      was_refused = true;
    }
  }
  assert_true(was_refused);
}

// Each of these is refused in the words of the error that the device had.
void expect_lost(nn::Model &model, const nn::Batch &batch, const std::string &what) {
  const TemporaryDirectory directory;
  for (const auto &use : std::vector<std::function<void()>>{
           [&] { model.train_on_batch(batch); }, [&] { model.test_on_batch(batch); },
           [&] { model.predict_on_batch(batch.inputs); },
           [&] { model.predict_on_batch(images(17).inputs); },
           [&] { nn::save_weights(model, directory / "weights"); },
           [&] { nn::save_training_state(model, directory / "state"); },
           [&] { model.compile(sparse_losses("adam")); },
           [&] { nn::open_backend(emulated_cuda()); }}) {
    const std::string message = expect_error(Code::internal, use);
    if (!contains(message, "an illegal memory access") ||
        !contains(message, "resume from the last checkpoint, in a new process"))
      fail_msg("%s: %s", what.c_str(), message.c_str());
  }
  assert_true(std::filesystem::is_empty(directory.path()));
}

// In a step that is given as it is, in one that is recorded, and in one that is replayed: at each
// of its pieces of work.
void fail_everywhere(const std::function<void(nn::Model &)> &prepare) {
  const nn::Batch batch = images(4);
  for (int before = 0; before < 3; ++before) {
    bool is_beyond = false;
    for (size_t work = 1; !is_beyond; work = work * 4 / 3 + 1) {
      nn::Model model(model_of_images(), {1, emulated_cuda()});
      model.compile(sparse_losses("adam"));
      prepare(model);
      for (int step = 0; step < before; ++step) model.train_on_batch(batch);
      const Failing failing("work=" + std::to_string(work));
      try {
        model.train_on_batch(batch);
        is_beyond = true;
      } catch (const Error &e) {
        assert_int_equal(e.code, Code::internal);
        expect_lost(model, batch, "work " + std::to_string(work));
      }
    }
  }
}

void test_a_device_that_fails_in_mid_step_is_left(void **) {
  fail_everywhere([](nn::Model &) {});
  fail_everywhere([](nn::Model &model) {
    model.observe_gradients({[](size_t) {}, [] { return true; }});
  });
}

void test_convolutions_have_other_ways(void **) {
  for (const char *missing : {"fused", "graphs"}) {
    const Failing failing(missing);
    const Fixture fixture("layers/convolution");
    const auto backend = nn::open_backend(emulated_cuda());
    fixture.for_each([&](const Json &about, const std::string &) {
      RecordedCall call(fixture, about, *backend);
      call.compare_outputs();
      call.compare_gradients();
    });
    ModelPair pair(model_of_images(), sparse_losses("adam"), emulated_cuda());
    for (int step = 0; step < 4; ++step) pair.train(missing, images(6));
  }
}

void test_steps_that_cannot_be_recorded_are_given_each_time(void **) {
  const Failing failing("capture");
  ModelPair pair(model_of_images(), sparse_losses("adam"), emulated_cuda());
  for (int step = 0; step < 4; ++step) {
    pair.train("trained", images(6));
    pair.test("tested", images(6));
  }
}

}  // namespace
}  // namespace det::test

int test_cuda_failures() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_without_a_gpu_there_are_other_back_ends),
      cmocka_unit_test(test_a_gpu_without_room_is_not_opened),
      cmocka_unit_test(test_a_batch_that_is_too_large_changes_nothing),
      cmocka_unit_test(test_memory_may_end_anywhere),
      cmocka_unit_test(test_a_device_that_fails_in_mid_step_is_left),
      cmocka_unit_test(test_convolutions_have_other_ways),
      cmocka_unit_test(test_steps_that_cannot_be_recorded_are_given_each_time),
  };
  return cmocka_run_group_tests_name("cuda_failures", tests, nullptr, nullptr);
}

// A size that no release gave a struct is refused, whichever struct it is.
#include <det/core.h>
#include <det/keras.h>
#include <det/nn.h>

#include "capi/guard.h"
#include "tests/cmocka.h"

namespace {

template <class Struct>
void only_whole_members_are_read(const Struct &defaults) {
  const auto is_refused = [&](size_t size) {
    Struct given = defaults;
    given.struct_size = size;
    try {
      read_options<Struct>(&given, defaults, "options");
    } catch (const det::Error &error) {
      assert_int_equal(error.code, det::Code::invalid);
      assert_non_null(std::strstr(error.what(), "options.struct_size is"));
      return true;
    }
    return false;
  };
  static_assert(alignof(Struct) == sizeof(void *));
  for (size_t size = 0; size <= sizeof(Struct); ++size)
    assert_int_equal(is_refused(size), size < sizeof(size_t) || size % sizeof(void *) != 0);
}

void sizes_that_end_inside_a_member_are_refused(void **) {
  const auto each = [](const auto &...defaults) { (only_whole_members_are_read(defaults), ...); };
  each(det_checkpoint_options DET_CHECKPOINT_OPTIONS_INIT,
       det_download_options DET_DOWNLOAD_OPTIONS_INIT, det_save_limits DET_SAVE_LIMITS_INIT,
       det_staging_options DET_STAGING_OPTIONS_INIT, det_client_page DET_CLIENT_PAGE_INIT,
       det_client_options DET_CLIENT_OPTIONS_INIT, det_config_options DET_CONFIG_OPTIONS_INIT,
       det_core_options DET_CORE_OPTIONS_INIT, det_distributed_options DET_DISTRIBUTED_OPTIONS_INIT,
       det_histogram DET_HISTOGRAM_INIT, det_tensor DET_TENSOR_INIT,
       det_tensors_write_options DET_TENSORS_WRITE_OPTIONS_INIT,
       det_tensors_read_options DET_TENSORS_READ_OPTIONS_INIT, det_report DET_REPORT_INIT,
       det_workload DET_WORKLOAD_INIT, det_trial_sampler_options DET_TRIAL_SAMPLER_OPTIONS_INIT,
       det_trial_early_stopping_options DET_TRIAL_EARLY_STOPPING_OPTIONS_INIT,
       det_trial_plateau_options DET_TRIAL_PLATEAU_OPTIONS_INIT,
       det_trial_cache_reader_options DET_TRIAL_CACHE_READER_OPTIONS_INIT,
       det_trial_gradient DET_TRIAL_GRADIENT_INIT,
       det_trial_gradients_options DET_TRIAL_GRADIENTS_OPTIONS_INIT,
       det_nn_model_options DET_NN_MODEL_OPTIONS_INIT, det_nn_batch DET_NN_BATCH_INIT,
       det_keras_data DET_KERAS_DATA_INIT, det_keras_callback DET_KERAS_CALLBACK_INIT,
       det_keras_run_options DET_KERAS_RUN_OPTIONS_INIT, det_keras_loop DET_KERAS_LOOP_INIT,
       det_keras_workloads DET_KERAS_WORKLOADS_INIT);
  only_whole_members_are_read(det_communicator_functions{});
  only_whole_members_are_read(det_progress{});
}

void every_output_is_cleared_where_one_is_null(void **) {
  const auto expect_cleared = [](const auto &call, auto *out) {
    assert_int_equal(call(), DET_E_INVALID);
    assert_true(*out == std::remove_pointer_t<decltype(out)>{});
  };
  auto *cache = reinterpret_cast<det_trial_cache *>(8);
  auto *writer = reinterpret_cast<det_trial_cache_writer *>(8);
  const auto open = [](auto **one, auto **other) {
    return [=] { return det_trial_cache_open("/tmp", "i", "1", 0, one, other, nullptr); };
  };
  const auto open_bucket = [](auto **one, auto **other) {
    return [=] {
      return det_trial_cache_open_bucket(nullptr, "/tmp", "i", "1", 0, one, other, nullptr);
    };
  };
  det_trial_cache **const no_cache = nullptr;
  det_trial_cache_writer **const no_writer = nullptr;
  expect_cleared(open(&cache, no_writer), &cache);
  expect_cleared(open(no_cache, &writer), &writer);
  cache = reinterpret_cast<det_trial_cache *>(8);
  writer = reinterpret_cast<det_trial_cache_writer *>(8);
  expect_cleared(open_bucket(&cache, no_writer), &cache);
  expect_cleared(open_bucket(no_cache, &writer), &writer);

  int64_t per_slot = 8, global = 8;
  char *warning = reinterpret_cast<char *>(8);
  const auto divide = [&](int64_t *one, int64_t *other) {
    return [&, one, other] {
      return det_trial_batch_sizes("{}", 1, nullptr, one, other, &warning, nullptr);
    };
  };
  expect_cleared(divide(nullptr, &global), &global);
  expect_cleared(divide(nullptr, &global), &warning);
  expect_cleared(divide(&per_slot, nullptr), &per_slot);

  int32_t improved = 8;
  expect_cleared(
      [&] {
        return det_trial_early_stopping_update(nullptr, nullptr, nullptr, &improved, nullptr);
      },
      &improved);
  void *memory = &memory;
  size_t bytes = 8;
  expect_cleared([&] { return det_trial_gradients_memory(nullptr, nullptr, &bytes, nullptr); },
                 &bytes);
  expect_cleared([&] { return det_trial_gradients_memory(nullptr, &memory, nullptr, nullptr); },
                 &memory);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(sizes_that_end_inside_a_member_are_refused),
      cmocka_unit_test(every_output_is_cleared_where_one_is_null),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

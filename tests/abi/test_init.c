/* The `_INIT` macro of a struct is zeros and its size, so that another language needs neither. */
#include <det/checkpoint.h>
#include <det/client.h>
#include <det/config.h>
#include <det/core.h>
#include <det/distributed.h>
#include <det/error.h>
#include <det/keras.h>
#include <det/nn.h>
#include <det/tensorboard.h>
#include <det/tensors.h>
#include <det/train.h>
#include <det/trial.h>
#include <det/trial_cache.h>
#include <det/trial_gradients.h>
#include <string.h>

#include "tests/cmocka.h"

/* No struct has padding, so that its bytes can be compared. */
#define CHECK(type, initialiser)                                                             \
  do {                                                                                       \
    const type by_macro = initialiser;                                                       \
    type zeros;                                                                              \
    memset(&zeros, 0, sizeof zeros);                                                         \
    zeros.struct_size = sizeof zeros;                                                        \
    if (memcmp(&by_macro, &zeros, sizeof zeros)) fail_msg(#initialiser " has more than 0s"); \
  } while (0)

static void initialisers_are_zeros(void **state) {
  (void)state;
  CHECK(det_checkpoint_options, DET_CHECKPOINT_OPTIONS_INIT);
  CHECK(det_client_options, DET_CLIENT_OPTIONS_INIT);
  CHECK(det_client_page, DET_CLIENT_PAGE_INIT);
  CHECK(det_communicator_functions, DET_COMMUNICATOR_FUNCTIONS_INIT);
  CHECK(det_config_options, DET_CONFIG_OPTIONS_INIT);
  CHECK(det_core_options, DET_CORE_OPTIONS_INIT);
  CHECK(det_download_options, DET_DOWNLOAD_OPTIONS_INIT);
  CHECK(det_error, DET_ERROR_INIT);
  CHECK(det_histogram, DET_HISTOGRAM_INIT);
  CHECK(det_keras_callback, DET_KERAS_CALLBACK_INIT);
  CHECK(det_keras_data, DET_KERAS_DATA_INIT);
  CHECK(det_keras_loop, DET_KERAS_LOOP_INIT);
  CHECK(det_keras_run_options, DET_KERAS_RUN_OPTIONS_INIT);
  CHECK(det_keras_workloads, DET_KERAS_WORKLOADS_INIT);
  CHECK(det_nn_batch, DET_NN_BATCH_INIT);
  CHECK(det_nn_model_options, DET_NN_MODEL_OPTIONS_INIT);
  CHECK(det_report, DET_REPORT_INIT);
  CHECK(det_save_limits, DET_SAVE_LIMITS_INIT);
  CHECK(det_staging_options, DET_STAGING_OPTIONS_INIT);
  CHECK(det_tensor, DET_TENSOR_INIT);
  CHECK(det_tensors_read_options, DET_TENSORS_READ_OPTIONS_INIT);
  CHECK(det_tensors_write_options, DET_TENSORS_WRITE_OPTIONS_INIT);
  CHECK(det_trial_cache_reader_options, DET_TRIAL_CACHE_READER_OPTIONS_INIT);
  CHECK(det_trial_early_stopping_options, DET_TRIAL_EARLY_STOPPING_OPTIONS_INIT);
  CHECK(det_trial_sampler_options, DET_TRIAL_SAMPLER_OPTIONS_INIT);
  CHECK(det_workload, DET_WORKLOAD_INIT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(initialisers_are_zeros)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

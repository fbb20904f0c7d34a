/* Each `_INIT` macro equals its `_init` function, whatever was in memory before. */
#include <det/core.h>
#include <string.h>

#include "tests/cmocka.h"

/* Field by field: the bytes between fields are nobody's. */
#define SAME(field) assert_memory_equal(&by_macro.field, &by_function.field, sizeof by_macro.field)

#define MAKE_BOTH(type, init_macro)               \
  const type by_macro = init_macro;               \
  type by_function;                               \
  memset(&by_function, 0xa5, sizeof by_function); \
  type##_init(&by_function);                      \
  type##_init(NULL);                              \
  assert_int_equal(by_function.struct_size, sizeof(type))

static void error_init_equals_the_macro(void **state) {
  (void)state;
  MAKE_BOTH(det_error, DET_ERROR_INIT);
  SAME(struct_size);
  SAME(code);
  SAME(os_errno);
  SAME(http_status);
  SAME(retryable);
  SAME(message);
}

static void checkpoint_options_init_equals_the_macro(void **state) {
  (void)state;
  MAKE_BOTH(det_checkpoint_options, DET_CHECKPOINT_OPTIONS_INIT);
  SAME(shard);
  SAME(selector);
  SAME(progress);
  SAME(reserved);
  SAME(user_data);
}

static void download_options_init_equals_the_macro(void **state) {
  (void)state;
  MAKE_BOTH(det_download_options, DET_DOWNLOAD_OPTIONS_INIT);
  SAME(mode);
  SAME(selector);
  SAME(progress);
  SAME(user_data);
  SAME(skip_verification);
}

static void client_options_init_equals_the_macro(void **state) {
  (void)state;
  MAKE_BOTH(det_client_options, DET_CLIENT_OPTIONS_INIT);
  SAME(master);
  SAME(user);
  SAME(password);
  SAME(token);
  SAME(cert_file);
  SAME(timeout_ms);
  SAME(log);
  SAME(log_user_data);
  SAME(log_destroy);
  SAME(log_queue);
  SAME(log_level);
  SAME(reserved);
}

static void client_page_init_equals_the_macro(void **state) {
  (void)state;
  MAKE_BOTH(det_client_page, DET_CLIENT_PAGE_INIT);
  SAME(after);
  SAME(limit);
  SAME(descending);
  SAME(by_metric);
  SAME(state);
  SAME(name);
  SAME(tag);
  SAME(archived);
  SAME(running);
}

static void distributed_options_init_equals_the_macro(void **state) {
  (void)state;
  MAKE_BOTH(det_distributed_options, DET_DISTRIBUTED_OPTIONS_INIT);
  SAME(rank);
  SAME(size);
  SAME(local_rank);
  SAME(local_size);
  SAME(cross_rank);
  SAME(cross_size);
  SAME(chief_ip);
  SAME(pub_port);
  SAME(port_offset);
  SAME(reserved);
  SAME(force_tcp);
  SAME(timeout_ms);
}

static void config_options_init_equals_the_macro(void **state) {
  (void)state;
  MAKE_BOTH(det_config_options, DET_CONFIG_OPTIONS_INIT);
  SAME(file_name);
  SAME(master);
  SAME(template_json);
  SAME(pool_defaults_json);
  SAME(workspace_storage_json);
  SAME(master_storage_json);
  SAME(unmanaged);
  SAME(rules);
}

static void core_options_init_equals_the_macro(void **state) {
  (void)state;
  MAKE_BOTH(det_core_options, DET_CORE_OPTIONS_INIT);
  SAME(master);
  SAME(trial_id);
  SAME(external_id);
  SAME(external_experiment_id);
  SAME(name);
  SAME(config_json);
  SAME(hparams_json);
  SAME(checkpoint_storage);
  SAME(distributed);
  SAME(preempt_mode);
  SAME(tensorboard_mode);
  SAME(preempt_signals);
  SAME(preempt_signal_count);
  SAME(stack_trace_signal);
  SAME(journal_limit);
  SAME(journal_wait_ms);
  SAME(close_wait_ms);
  SAME(close_at_end);
  SAME(capture_output);
  SAME(log);
  SAME(log_user_data);
  SAME(log_destroy);
  SAME(durable_reports);
  SAME(reserved);
  SAME(log_level);
  SAME(log_queue);
  SAME(run_wait_ms);
}

/* What bindings in other languages count on. */
static void numbers_have_the_widths_bindings_declare(void **state) {
  (void)state;
  assert_int_equal(sizeof(det_status), 4);
  assert_int_equal(sizeof(det_log_level), 4);
  assert_int_equal(sizeof(det_outcome), 4);
  assert_int_equal(sizeof(det_early_exit_reason), 4);
  assert_int_equal(sizeof(det_preempt_mode), 4);
  assert_int_equal(sizeof(det_searcher_mode), 4);
  assert_int_equal(sizeof(det_tensorboard_mode), 4);
  assert_int_equal(sizeof(det_download_mode), 4);
  assert_int_equal(sizeof(det_length_unit), 4);
  assert_int_equal(sizeof(det_client_target), 4);
  assert_int_equal(sizeof(det_client_action), 4);
  assert_int_equal(sizeof(det_config_rules), 4);
}

/* The places of fields in this release: a later one may only append. */
static void layouts_are_those_of_release_0_1(void **state) {
  (void)state;
  if (sizeof(void *) != 8) skip();
  assert_int_equal(offsetof(det_metric, value), 8);
  assert_int_equal(sizeof(det_metric), 16);
  assert_int_equal(offsetof(det_error, message), 24);
  assert_int_equal(sizeof(det_error), 528);
  assert_int_equal(offsetof(det_checkpoint_options, user_data), 24);
  assert_int_equal(offsetof(det_checkpoint_options, shard), 32);
  assert_int_equal(offsetof(det_download_options, skip_verification), 36);
  assert_int_equal(offsetof(det_client_page, descending), 24);
  assert_int_equal(offsetof(det_config_options, master_storage_json), 48);
  assert_int_equal(offsetof(det_config_options, rules), 60);
  assert_int_equal(offsetof(det_distributed_options, chief_ip), 32);
  assert_int_equal(offsetof(det_distributed_options, timeout_ms), 56);
  assert_int_equal(offsetof(det_communicator_functions, destroy), 32);
  assert_int_equal(offsetof(det_communicator_functions, any_pair), 40);
  assert_int_equal(offsetof(det_communicator_functions, shared_memory), 44);
  assert_int_equal(offsetof(det_core_options, distributed), 72);
  assert_int_equal(offsetof(det_core_options, journal_limit), 96);
  assert_int_equal(offsetof(det_core_options, preempt_mode), 152);
  assert_int_equal(offsetof(det_core_options, log_level), 176);
  assert_int_equal(offsetof(det_client_options, timeout_ms), 48);
  assert_int_equal(offsetof(det_client_options, log_level), 88);
  assert_int_equal(offsetof(det_log_line, level), 32);
  assert_int_equal(offsetof(det_progress, total_files), 32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(error_init_equals_the_macro),
      cmocka_unit_test(checkpoint_options_init_equals_the_macro),
      cmocka_unit_test(download_options_init_equals_the_macro),
      cmocka_unit_test(client_options_init_equals_the_macro),
      cmocka_unit_test(client_page_init_equals_the_macro),
      cmocka_unit_test(distributed_options_init_equals_the_macro),
      cmocka_unit_test(config_options_init_equals_the_macro),
      cmocka_unit_test(core_options_init_equals_the_macro),
      cmocka_unit_test(numbers_have_the_widths_bindings_declare),
      cmocka_unit_test(layouts_are_those_of_release_0_1),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

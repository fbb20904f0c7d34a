#include <errno.h>
#include <pthread.h>

#include "tests/capi/fixture.h"
#include "tests/free_port.h"
#include "tests/patience.h"

static void nothing_set_is_one_process(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d;
  assert_ok(det_distributed_create(NULL, &d, &f->err));
  assert_int_equal(det_distributed_rank(d), 0);
  assert_int_equal(det_distributed_size(d), 1);
  assert_int_equal(det_distributed_local_rank(d), 0);
  assert_int_equal(det_distributed_local_size(d), 1);
  assert_int_equal(det_distributed_cross_rank(d), 0);
  assert_int_equal(det_distributed_cross_size(d), 1);
  det_distributed_free(d);
}

static void some_of_the_six_numbers_are_refused(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d = (det_distributed_context *)f;
  det_distributed_options options = DET_DISTRIBUTED_OPTIONS_INIT;
  options.rank = 0;
  options.size = 1;
  assert_fails(det_distributed_create(&options, &d, &f->err), DET_E_INVALID, "or none");
  assert_null(d);
}

static void impossible_ranks_are_refused(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d;
  det_distributed_options options = {sizeof options, 2, 2, 0, 1, 0, 1, NULL, 0, 0, 0, 0, 0};
  assert_fails(det_distributed_create(&options, &d, &f->err), DET_E_INVALID, "rank 2 of 2");
}

/* A rank of a job of two, on a thread. */
struct member {
  int32_t rank;
  int32_t port;
  int joined, in_order;
};

static void *take_part(void *argument) {
  struct member *member = argument;
  det_distributed_options options = DET_DISTRIBUTED_OPTIONS_INIT;
  options.rank = options.local_rank = member->rank;
  options.size = options.local_size = 2;
  options.cross_rank = 0;
  options.cross_size = 1;
  options.pub_port = member->port;
  options.timeout_ms = TEST_PATIENCE_MS;
  det_distributed_context *d;
  if (det_distributed_create(&options, &d, NULL) != DET_OK) return NULL;
  member->joined = 1;
  det_messages *messages = NULL;
  size_t size = 0;
  const char *text = member->rank == 0 ? "chief" : NULL;
  if (det_distributed_allgather(d, text, text != NULL ? 5 : 0, &messages, NULL) == DET_OK)
    member->in_order = det_messages_count(messages) == 2 &&
                       memcmp(det_messages_data(messages, 0, &size), "chief", 5) == 0 &&
                       size == 5 && det_messages_data(messages, 1, NULL) == NULL;
  det_messages_free(messages);
  det_messages *gathered = NULL;
  if (det_distributed_gather(d, "x", 1, &gathered, NULL) != DET_OK ||
      (gathered != NULL) != (member->rank == 0))
    member->in_order = 0;
  det_messages_free(gathered);
  det_distributed_free(d);
  return NULL;
}

static void ranks_of_one_job_find_each_other(void **state) {
  (void)state;
  struct member members[2] = {{0, 0, 0, 0}, {1, 0, 0, 0}};
  members[0].port = members[1].port = free_port();
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, take_part, &members[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; ++i) {
    assert_true(members[i].joined);
    assert_true(members[i].in_order);
  }
}

static void a_job_of_several_machines_needs_the_address_of_its_chief(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d;
  det_distributed_options options = {sizeof options, 0, 2, 0, 1, 0, 2, NULL, 0, 0, 0, 0, 0};
  assert_fails(det_distributed_create(&options, &d, &f->err), DET_E_INVALID, "chief_ip");
  options.chief_ip = "127.0.0.1";
  options.timeout_ms = DET_TIMEOUT_NONE;
  assert_fails(det_distributed_create(&options, &d, &f->err), DET_E_INVALID, "timeout_ms");
  options.timeout_ms = 0;
  assert_fails(det_distributed_create(&options, &d, &f->err), DET_E_INVALID, "SECRET");
}

static void set_all(const char *const *names, const char *const *values) {
  for (; *names != NULL; ++names, ++values) setenv(*names, *values, 1);
}

static void unset_all(const char *const *names) {
  for (; *names != NULL; ++names) unsetenv(*names);
}

static const char *const torch_names[] = {
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK", "GROUP_WORLD_SIZE", "LOCAL_WORLD_SIZE", NULL};
static const char *const one[] = {"0", "1", "0", "0", "1", "1"};

static void torch_variables_are_read_and_a_missing_one_is_named(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d;
  set_all(torch_names, one);
  assert_ok(det_distributed_from_torch(NULL, &d, &f->err));
  det_distributed_free(d);
  unsetenv("LOCAL_WORLD_SIZE");
  assert_fails(det_distributed_from_torch(NULL, &d, &f->err), DET_E_NOT_FOUND, "LOCAL_WORLD_SIZE");
  setenv("LOCAL_WORLD_SIZE", "two", 1);
  assert_fails(det_distributed_from_torch(NULL, &d, &f->err), DET_E_INVALID, "LOCAL_WORLD_SIZE");
  unset_all(torch_names);
}

static void deepspeed_and_horovod_variables_are_read(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d;
  static const char *const deepspeed[] = {"RANK",       "WORLD_SIZE", "LOCAL_RANK", "CROSS_RANK",
                                          "CROSS_SIZE", "LOCAL_SIZE", NULL};
  static const char *const horovod[] = {"HOROVOD_RANK",
                                        "HOROVOD_SIZE",
                                        "HOROVOD_LOCAL_RANK",
                                        "HOROVOD_CROSS_RANK",
                                        "HOROVOD_CROSS_SIZE",
                                        "HOROVOD_LOCAL_SIZE",
                                        NULL};
  assert_fails(det_distributed_from_deepspeed(NULL, &d, &f->err), DET_E_NOT_FOUND, "RANK");
  assert_fails(det_distributed_from_horovod(NULL, &d, &f->err), DET_E_NOT_FOUND, "HOROVOD_RANK");
  set_all(deepspeed, one);
  assert_ok(det_distributed_from_deepspeed("10.0.0.1", &d, &f->err));
  det_distributed_free(d);
  unset_all(deepspeed);
  set_all(horovod, one);
  assert_ok(det_distributed_from_horovod(NULL, &d, &f->err));
  det_distributed_free(d);
  assert_ok(det_distributed_from_env(&d, &f->err));
  det_distributed_free(d);
  unset_all(horovod);
}

static void tf_config_describes_the_workers(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d;
  assert_ok(det_distributed_from_tf_config(&d, &f->err)); /* absent: one process */
  det_distributed_free(d);
  setenv("TF_CONFIG", "{\"task\": {\"type\": \"ps\", \"index\": 0}, \"cluster\": {}}", 1);
  assert_fails(det_distributed_from_tf_config(&d, &f->err), DET_E_STATE, "ps");
  setenv("TF_CONFIG",
         "{\"task\": {\"type\": \"worker\", \"index\": 2}, "
         "\"cluster\": {\"worker\": [\"a:1\", \"b:1\", \"c:1\"]}}",
         1);
  assert_fails(det_distributed_from_tf_config(&d, &f->err), DET_E_INVALID, "SECRET");
  setenv("TF_CONFIG", "{\"task\": 1}", 1);
  assert_fails(det_distributed_from_tf_config(&d, &f->err), DET_E_INVALID, "TF_CONFIG");
  setenv("TF_CONFIG", "{", 1);
  assert_fails(det_distributed_from_tf_config(&d, &f->err), DET_E_INVALID, "TF_CONFIG");
  unsetenv("TF_CONFIG");
}

static void the_launcher_is_recognised(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d;
  assert_ok(det_distributed_from_env(&d, &f->err));
  det_distributed_free(d);
  setenv("SLURM_NTASKS", "4", 1); /* also set in a batch script, which is one process */
  assert_ok(det_distributed_from_env(&d, &f->err));
  assert_int_equal(det_distributed_size(d), 1);
  det_distributed_free(d);
  setenv("SLURM_STEP_ID", "0", 1);
  assert_fails(det_distributed_from_env(&d, &f->err), DET_E_NOT_FOUND, "SLURM_PROCID");
  unsetenv("SLURM_NTASKS");
  unsetenv("SLURM_STEP_ID");
}

static int32_t no_send(int32_t peer, int32_t channel, const void *data, size_t size,
                       int64_t timeout_ms, void *user_data) {
  (void)peer, (void)channel, (void)data, (void)size, (void)timeout_ms, (void)user_data;
  return ENETDOWN;
}
static int32_t no_receive(int32_t peer, int32_t channel, void *data, size_t capacity, size_t *size,
                          int64_t timeout_ms, void *user_data) {
  (void)peer, (void)channel, (void)data, (void)capacity, (void)size, (void)timeout_ms;
  (void)user_data;
  return ENETDOWN;
}
static void count_destroy(void *user_data) { ++*(int *)user_data; }

static void the_callers_transport_is_destroyed_also_after_a_failure(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d;
  int destroyed = 0;
  det_communicator_functions functions = DET_COMMUNICATOR_FUNCTIONS_INIT;
  functions.send = no_send;
  functions.receive = no_receive;
  functions.destroy = count_destroy;
  assert_ok(det_distributed_from_functions(NULL, &functions, &destroyed, &d, &f->err));
  det_distributed_free(d);
  assert_int_equal(destroyed, 1);
  functions.send = NULL;
  d = (det_distributed_context *)&functions;
  assert_fails(det_distributed_from_functions(NULL, &functions, &destroyed, &d, &f->err),
               DET_E_INVALID, "functions.send");
  assert_null(d);
  assert_int_equal(destroyed, 2);
  d = (det_distributed_context *)&functions;
  assert_fails(det_distributed_from_functions(NULL, NULL, &destroyed, &d, &f->err), DET_E_INVALID,
               "functions");
  assert_null(d);
  assert_fails(det_distributed_from_functions(NULL, &functions, &destroyed, NULL, &f->err),
               DET_E_INVALID, "functions.send");
  assert_int_equal(destroyed, 3);
  functions.send = no_send;
  det_distributed_options options = {sizeof options, 1, 2, 1, 2, 0, 1, NULL, 0, 0, 0, 0, 0};
  assert_fails(det_distributed_from_functions(&options, &functions, &destroyed, &d, &f->err),
               DET_E_UNAVAILABLE, "rank 0");
  assert_int_equal(destroyed, 4);
}

typedef det_status (*collective)(det_distributed_context *, const void *, size_t, det_messages **,
                                 det_error *);

static void collectives_of_one_process_give_the_message_back(void **state) {
  struct fixture *f = *state;
  const collective all[] = {det_distributed_gather,    det_distributed_gather_local,
                            det_distributed_allgather, det_distributed_allgather_local,
                            det_distributed_broadcast, det_distributed_broadcast_local};
  det_distributed_context *d = det_core_distributed(f->core);
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    det_messages *messages;
    size_t size = 99;
    assert_ok(all[i](d, "a\0b", 3, &messages, &f->err));
    assert_int_equal(det_messages_count(messages), 1);
    assert_memory_equal(det_messages_data(messages, 0, &size), "a\0b", 3);
    assert_int_equal(size, 3);
    assert_null(det_messages_data(messages, 1, &size));
    assert_int_equal(size, 0);
    det_messages_free(messages);

    assert_ok(all[i](d, NULL, 0, &messages, &f->err)); /* the null message … */
    assert_null(det_messages_data(messages, 0, &size));
    det_messages_free(messages);
    assert_ok(all[i](d, "", 0, &messages, &f->err)); /* … is not the empty one */
    assert_non_null(det_messages_data(messages, 0, &size));
    assert_int_equal(size, 0);
    det_messages_free(messages);

    assert_fails(all[i](d, NULL, 5, &messages, &f->err), DET_E_INVALID, "size 5");
    assert_null(messages);
    assert_fails(all[i](d, "a", (size_t)-1, &messages, &f->err), DET_E_INVALID, ": -1");
    assert_fails(all[i](NULL, "a", 1, &messages, &f->err), DET_E_INVALID, "distributed");
    assert_fails(all[i](d, "a", 1, NULL, &f->err), DET_E_INVALID, "out");
  }
}

static void the_view_of_a_core_is_not_freed_by_its_user(void **state) {
  struct fixture *f = *state;
  det_distributed_context *view = det_core_distributed(f->core);
  det_distributed_free(view);
  assert_int_equal(det_distributed_size(view), 1);
  det_distributed_free(NULL);
  det_messages_free(NULL);
  assert_int_equal(det_messages_count(NULL), 0);
}

static int32_t stop_waiting(void *user_data) {
  ++*(int *)user_data;
  return -1;
}

/* Rank 1 of two, which only joins. */
static void *join_as_rank_1(void *argument) {
  det_distributed_options options = DET_DISTRIBUTED_OPTIONS_INIT;
  options.rank = options.local_rank = 1;
  options.size = options.local_size = 2;
  options.cross_rank = 0;
  options.cross_size = 1;
  options.pub_port = *(int32_t *)argument;
  det_distributed_context *d = NULL;
  det_distributed_create(&options, &d, NULL);
  return d;
}

static void a_wait_for_other_ranks_can_be_stopped(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d;
  int32_t port = free_port();
  pthread_t other;
  assert_int_equal(pthread_create(&other, NULL, join_as_rank_1, &port), 0);
  det_distributed_options options = DET_DISTRIBUTED_OPTIONS_INIT;
  options.rank = options.local_rank = options.cross_rank = 0;
  options.size = options.local_size = 2;
  options.cross_size = 1;
  options.pub_port = port;
  assert_ok(det_distributed_create(&options, &d, &f->err));
  int asked = 0;
  assert_ok(det_distributed_set_wait_callback(d, stop_waiting, &asked, &f->err));
  det_messages *messages;
  assert_fails(det_distributed_allgather(d, "a", 1, &messages, &f->err), DET_E_CALLBACK,
               "rank 0 was stopped");
  assert_int_equal(asked, 1);
  assert_ok(det_distributed_set_wait_callback(d, NULL, NULL, &f->err));
  assert_fails(det_distributed_set_wait_callback(NULL, NULL, NULL, &f->err), DET_E_INVALID,
               "distributed");
  void *joined;
  pthread_join(other, &joined);
  assert_non_null(joined);
  /* What rank 0 said before it was stopped does not count. */
  assert_fails(det_distributed_allgather(joined, "a", 1, &messages, &f->err), DET_E_UNAVAILABLE,
               "rank 0 was stopped");
  det_distributed_free(joined);
  det_distributed_free(d);
}

static void a_core_takes_the_ranks_it_is_given(void **state) {
  struct fixture *f = *state;
  det_distributed_context *d;
  det_core_free(f->core);
  f->core = NULL;
  assert_ok(det_distributed_create(NULL, &d, &f->err));
  f->options.distributed = d;
  start(f);
  assert_int_equal(det_distributed_size(det_core_distributed(f->core)), 1);
  det_core_free(f->core);
  f->core = NULL;
  det_distributed_free(d);
}

int test_distributed(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      CASE(nothing_set_is_one_process),
      CASE(some_of_the_six_numbers_are_refused),
      CASE(impossible_ranks_are_refused),
      CASE(ranks_of_one_job_find_each_other),
      CASE(a_job_of_several_machines_needs_the_address_of_its_chief),
      CASE(torch_variables_are_read_and_a_missing_one_is_named),
      CASE(deepspeed_and_horovod_variables_are_read),
      CASE(tf_config_describes_the_workers),
      CASE(the_launcher_is_recognised),
      CASE(the_callers_transport_is_destroyed_also_after_a_failure),
      CASE(collectives_of_one_process_give_the_message_back),
      CASE(the_view_of_a_core_is_not_freed_by_its_user),
      CASE(a_wait_for_other_ranks_can_be_stopped),
      CASE(a_core_takes_the_ranks_it_is_given),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

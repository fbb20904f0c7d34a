/* Callers of other releases: every struct with a size, as an older and as a newer caller has it. */
#include <sys/mman.h>

#include "tests/capi/fixture.h"

enum { longest = 512 };

/* One way to hand a struct to the library, and what that answers when all is as usual. */
struct way {
  const char *name;
  size_t size;
  const void *defaults;
  det_status (*call)(struct fixture *, const void *);
  det_status usual;
};

static det_status start_core(struct fixture *f, const void *options) {
  det_core *core;
  det_status status = det_core_init(options, &core, &f->err);
  det_core_free(core);
  return status;
}

static det_status open_client(struct fixture *f, const void *options) {
  det_client *client;
  det_status status = det_client_open(options, &client, &f->err);
  det_client_free(client);
  return status;
}

static det_status list(struct fixture *f, const void *page) {
  det_client *client;
  char *json;
  assert_ok(det_client_open(NULL, &client, &f->err));
  det_status status = det_client_list_trials(client, 0, page, &json, &f->err);
  det_free(json);
  det_client_free(client);
  return status;
}

static det_status check_config(struct fixture *f, const void *options) {
  char *json;
  det_status status = det_config_check("{}", options, &json, &f->err);
  det_free(json);
  return status;
}

static det_status join(struct fixture *f, const void *options) {
  det_distributed_context *distributed;
  det_status status = det_distributed_create(options, &distributed, &f->err);
  det_distributed_free(distributed);
  return status;
}

static det_status join_by(struct fixture *f, const void *functions) {
  det_distributed_context *distributed;
  det_status status = det_distributed_from_functions(NULL, functions, NULL, &distributed, &f->err);
  det_distributed_free(distributed);
  return status;
}

static det_status save(struct fixture *f, const void *options) {
  det_checkpoint_writer *store;
  det_status status =
      det_checkpoint_writer_begin(det_core_checkpoint(f->core), NULL, options, &store, &f->err);
  det_checkpoint_writer_free(store);
  return status;
}

static det_status download(struct fixture *f, const void *options) {
  return det_checkpoint_download(det_core_checkpoint(f->core), "none", f->home, options, &f->err);
}

static det_status report(struct fixture *f, const void *given) {
  return det_train_report(det_core_train(f->core), given, &f->err);
}

#define WAY(type, defaults, call, usual) \
  { #type, sizeof(type), &(const type)defaults, call, usual }

static const struct way ways[] = {
    WAY(det_core_options, DET_CORE_OPTIONS_INIT, start_core, DET_OK),
    WAY(det_client_options, DET_CLIENT_OPTIONS_INIT, open_client, DET_OK),
    WAY(det_client_page, DET_CLIENT_PAGE_INIT, list, DET_OK),
    WAY(det_config_options, DET_CONFIG_OPTIONS_INIT, check_config, DET_OK),
    WAY(det_distributed_options, DET_DISTRIBUTED_OPTIONS_INIT, join, DET_OK),
    WAY(det_communicator_functions, DET_COMMUNICATOR_FUNCTIONS_INIT, join_by,
        DET_E_INVALID), /* nothing to send with */
    WAY(det_checkpoint_options, DET_CHECKPOINT_OPTIONS_INIT, save, DET_OK),
    WAY(det_download_options, DET_DOWNLOAD_OPTIONS_INIT, download, DET_E_NOT_FOUND),
    WAY(det_report, DET_REPORT_INIT, report, DET_OK),
};

static void expect(struct fixture *f, const struct way *way, const void *given, det_status expected,
                   const char *when) {
  const det_status status = way->call(f, given);
  if (status != expected)
    fail_msg("%s, %s: %s: %s", way->name, when, det_status_name(status), f->err.message);
}

static void for_each_way(void **state, void (*body)(struct fixture *, const struct way *)) {
  struct fixture *f = *state;
  setenv("DET_HOME", f->home, 1);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    assert_true(ways[i].size + 64 < longest);
    body(f, &ways[i]);
  }
  unsetenv("DET_HOME");
}

/* At the end of what can be read, so that a look behind its size ends the process. */
static void give_prefixes(struct fixture *f, const struct way *way) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
  for (size_t size = sizeof(size_t); size <= way->size; size += 8) {
    char *given = memory + page - size;
    memcpy(given, way->defaults, size);
    memcpy(given, &size, sizeof size);
    expect(f, way, given, way->usual, "of an older caller");
  }
  munmap(memory, 2 * page);
}

static void structs_of_older_callers_are_read_as_far_as_they_go(void **state) {
  for_each_way(state, give_prefixes);
}

static void give_longer(struct fixture *f, const struct way *way) {
  _Alignas(16) unsigned char longer[longest] = {0};
  const size_t size = way->size + 16;
  memcpy(longer, way->defaults, way->size);
  memcpy(longer, &size, sizeof size);
  expect(f, way, longer, way->usual, "of a newer caller");
  for (size_t at = way->size; at < size; at += 5) {
    longer[at] = 1;
    expect(f, way, longer, DET_E_UNSUPPORTED, "of a newer caller that uses what is new");
    longer[at] = 0;
  }
  longer[size] = 1; /* not its */
  expect(f, way, longer, way->usual, "with garbage behind its end");
}

static void structs_of_newer_callers_pass_while_what_is_new_is_zero(void **state) {
  for_each_way(state, give_longer);
}

static void give_impossible_sizes(struct fixture *f, const struct way *way) {
  _Alignas(16) unsigned char given[longest];
  const size_t sizes[] = {0, 1, sizeof(size_t) - 1, (size_t)1 << 30, SIZE_MAX};
  memcpy(given, way->defaults, way->size);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    memcpy(given, &sizes[i], sizeof sizes[i]);
    expect(f, way, given, DET_E_INVALID, "of an impossible size");
  }
}

static void impossible_sizes_are_refused_unread(void **state) {
  for_each_way(state, give_impossible_sizes);
}

int test_versions(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      CASE(structs_of_older_callers_are_read_as_far_as_they_go),
      CASE(structs_of_newer_callers_pass_while_what_is_new_is_zero),
      CASE(impossible_sizes_are_refused_unread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

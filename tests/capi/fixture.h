/* A core over an embedded store of its own, in a directory that is gone afterwards. */
#ifndef TESTS_CAPI_FIXTURE_H
#define TESTS_CAPI_FIXTURE_H

#include <det/core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"

struct fixture {
  char home[64];
  det_core_options options;
  det_core *core;
  det_error err;
  char log[4096]; /* what the library logged, line after line */
};

static void keep_log(const det_log_line *line, void *user_data) {
  struct fixture *f = user_data;
  size_t used = strlen(f->log);
  snprintf(f->log + used, sizeof f->log - used, "%s\n", line->message);
}

static inline void start(struct fixture *f) {
  det_status status = det_core_init(&f->options, &f->core, &f->err);
  if (status != DET_OK) fail_msg("det_core_init: %s", f->err.message);
}

/* Ends the run and starts the same trial again. */
static inline void restart(struct fixture *f, det_outcome how) {
  f->options.trial_id = det_info_trial_id(det_core_info(f->core));
  assert_int_equal(det_core_close(f->core, how, &f->err), DET_OK);
  det_core_free(f->core);
  start(f);
}

/* A fixture whose core is not started yet, for tests of det_core_init() itself. */
static inline int setup_home(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  if (f == NULL) return -1;
  strcpy(f->home, "/tmp/detcore-test-XXXXXX");
  if (mkdtemp(f->home) == NULL) return -1;
  f->err = (det_error)DET_ERROR_INIT;
  f->options = (det_core_options)DET_CORE_OPTIONS_INIT;
  f->options.master = f->home;
  f->options.log = keep_log;
  f->options.log_user_data = f;
  *state = f;
  return 0;
}

static inline int setup(void **state) {
  if (setup_home(state) != 0) return -1;
  struct fixture *f = *state;
  return det_core_init(&f->options, &f->core, &f->err) == DET_OK ? 0 : -1;
}

static inline int teardown(void **state) {
  struct fixture *f = *state;
  char command[96];
  det_core_free(f->core);
  snprintf(command, sizeof command, "rm -rf '%s'", f->home);
  int failed = system(command);
  free(f);
  return failed;
}

/* The call failed with this status, and its message has these words. */
#define assert_fails(call, expected, words)                                          \
  do {                                                                               \
    f->err = (det_error)DET_ERROR_INIT;                                              \
    det_status status_ = (call);                                                     \
    if (status_ != (expected))                                                       \
      fail_msg("got %s (%s), expected %s", det_status_name(status_), f->err.message, \
               det_status_name(expected));                                           \
    assert_int_equal(f->err.code, (expected));                                       \
    if (strstr(f->err.message, (words)) == NULL)                                     \
      fail_msg("'%s' is not in the message '%s'", (words), f->err.message);          \
  } while (0)

#define assert_ok(call)                                                                      \
  do {                                                                                       \
    det_status status_ = (call);                                                             \
    if (status_ != DET_OK) fail_msg("got %s: %s", det_status_name(status_), f->err.message); \
  } while (0)

#endif

/* What tests of checkpoints share: the context, and files to save and compare. */
#ifndef TESTS_CAPI_CHECKPOINT_FILES_H
#define TESTS_CAPI_CHECKPOINT_FILES_H

#include <sys/stat.h>

#include "tests/capi/fixture.h"

#define META "{\"steps_completed\": 7}"

/* A core that keeps all checkpoints, for tests of several. */
static inline int setup_keeping(void **state) {
  if (setup_home(state) != 0) return -1;
  struct fixture *f = *state;
  f->options.config_json = "{\"checkpoint_storage\": {\"save_trial_latest\": 100}}";
  return det_core_init(&f->options, &f->core, &f->err) == DET_OK ? 0 : -1;
}

static inline det_checkpoint_context *checkpoint_of(struct fixture *f) {
  return det_core_checkpoint(f->core);
}

static inline void write_file(const char *directory, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static inline void assert_file(const char *directory, const char *name, const char *expected) {
  char path[512], text[256] = "";
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "r");
  if (file == NULL) fail_msg("%s is missing", path);
  assert_true(fread(text, 1, sizeof text - 1, file) < sizeof text - 1);
  fclose(file);
  assert_string_equal(text, expected);
}

static inline int exists(const char *directory, const char *name) {
  char path[512];
  struct stat about;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return stat(path, &about) == 0;
}

#endif

#include <det/storage.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cmocka.h"

struct place {
  char home[64];
  char model[128], near[128], far[160];
  det_error err;
};

static int make_place(void **state) {
  struct place *p = calloc(1, sizeof *p);
  if (p == NULL) return -1;
  strcpy(p->home, "/tmp/detcore-test-XXXXXX");
  if (mkdtemp(p->home) == NULL) return -1;
  p->err = (det_error)DET_ERROR_INIT;
  snprintf(p->model, sizeof p->model, "%s/model", p->home);
  snprintf(p->near, sizeof p->near, "%s/near", p->home);
  snprintf(p->far, sizeof p->far, "{\"type\":\"directory\",\"container_path\":\"%s/far\"}",
           p->home);
  *state = p;
  if (mkdir(p->model, 0700) != 0) return -1;
  char path[160];
  snprintf(path, sizeof path, "%s/weights", p->model);
  FILE *file = fopen(path, "w");
  return file == NULL || fputs("weights", file) < 0 || fclose(file) != 0 ? -1 : 0;
}

static int remove_place(void **state) {
  struct place *p = *state;
  char command[96];
  snprintf(command, sizeof command, "rm -rf '%s'", p->home);
  const int failed = system(command);
  free(p);
  return failed;
}

static det_storage *open_at(struct place *p, const char *location) {
  det_storage *storage = NULL;
  const det_status status = det_storage_open(location, &storage, &p->err);
  if (status != DET_OK) fail_msg("det_storage_open: %s", p->err.message);
  return storage;
}

static void checkpoint_is_stored_copied_and_deleted(void **state) {
  struct place *p = *state;
  det_storage *near = open_at(p, p->near), *far = open_at(p, p->far);
  char *id, *json, back[96];
  assert_int_equal(
      det_storage_upload(near, p->model, "{\"steps_completed\":7}", NULL, &id, &p->err), DET_OK);
  assert_int_equal(det_storage_list(near, id, &json, &p->err), DET_OK);
  assert_non_null(strstr(json, "\"weights\":7"));
  assert_non_null(strstr(json, "\"metadata.json\""));
  det_free(json);
  assert_int_equal(det_storage_verify(near, id, NULL, &p->err), DET_OK);
  assert_int_equal(det_storage_copy(near, id, far, NULL, &p->err), DET_OK);
  assert_int_equal(det_storage_copy(near, id, far, NULL, &p->err), DET_E_CONFLICT);
  assert_int_equal(det_storage_delete(near, id, &p->err), DET_OK);
  assert_int_equal(det_storage_delete(near, id, &p->err), DET_OK);
  assert_int_equal(det_storage_verify(near, id, NULL, &p->err), DET_E_NOT_FOUND);
  snprintf(back, sizeof back, "%s/back", p->home);
  assert_int_equal(det_storage_download(far, id, back, NULL, &p->err), DET_OK);
  strcat(back, "/weights");
  assert_int_equal(access(back, R_OK), 0);
  det_free(id);
  det_storage_free(far);
  det_storage_free(near);
}

static void config_opens_the_same_storage(void **state) {
  struct place *p = *state;
  det_storage *first = open_at(p, p->near);
  char *config, *id;
  assert_int_equal(det_storage_get_config(first, &config, &p->err), DET_OK);
  det_storage *second = open_at(p, config);
  assert_int_equal(det_storage_upload(first, p->model, NULL, NULL, &id, &p->err), DET_OK);
  assert_int_equal(det_storage_verify(second, id, NULL, &p->err), DET_OK);
  det_free(id);
  det_free(config);
  det_storage_free(second);
  det_storage_free(first);
}

static int32_t stop(const det_progress *progress, void *user_data) {
  (void)progress;
  (void)user_data;
  return -1;
}

static void what_is_wrong_changes_nothing(void **state) {
  struct place *p = *state;
  det_storage *storage = NULL;
  char *id;
  static const char *const wrong[] = {"", "tape://x", "{\"type\":\"tape\"}", "{\"type\":", NULL};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    assert_int_equal(det_storage_open(wrong[i], &storage, &p->err), DET_E_INVALID);
    assert_null(storage);
  }
  storage = open_at(p, p->near);
  det_checkpoint_options options = DET_CHECKPOINT_OPTIONS_INIT;
  options.shard = 1;
  assert_int_equal(det_storage_upload(storage, p->model, NULL, &options, &id, &p->err),
                   DET_E_INVALID);
  options.shard = 0;
  assert_int_equal(det_storage_upload(storage, p->model, "[]", &options, &id, &p->err),
                   DET_E_INVALID);
  assert_int_equal(det_storage_upload(storage, NULL, NULL, &options, &id, &p->err), DET_E_INVALID);
  assert_int_equal(det_storage_upload(storage, "/none", NULL, &options, &id, &p->err),
                   DET_E_NOT_FOUND);
  options.progress = stop;
  assert_int_equal(det_storage_upload(storage, p->model, NULL, &options, &id, &p->err),
                   DET_E_CALLBACK);
  assert_null(id);
  assert_int_equal(det_storage_delete(storage, "../model", &p->err), DET_E_INVALID);
  assert_int_equal(det_storage_delete(NULL, "a", &p->err), DET_E_INVALID);
  assert_int_equal(det_storage_copy(storage, "a", NULL, NULL, &p->err), DET_E_INVALID);
  assert_int_equal(access(p->model, R_OK), 0);
  det_storage_free(storage);
  det_storage_free(NULL);
}

int test_storage(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(checkpoint_is_stored_copied_and_deleted, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(config_opens_the_same_storage, make_place, remove_place),
      cmocka_unit_test_setup_teardown(what_is_wrong_changes_nothing, make_place, remove_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

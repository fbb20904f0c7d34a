#include "tests/capi/fixture.h"

static void every_status_has_a_name(void **state) {
  (void)state;
  for (det_status code = DET_E_UNAVAILABLE; code <= DET_PREEMPTED; ++code)
    assert_string_not_equal(det_status_name(code), "DET_E_UNKNOWN");
  assert_string_equal(det_status_name(DET_E_NOT_FOUND), "DET_E_NOT_FOUND");
  assert_string_equal(det_status_name(-1000), "DET_E_UNKNOWN");
}

static void init_functions_do_what_the_macros_do(void **state) {
  (void)state;
  det_error err, expected = DET_ERROR_INIT;
  memset(&err, 0xff, sizeof err);
  err = (det_error)DET_ERROR_INIT;
  assert_memory_equal(&err, &expected, sizeof err);
}

static void success_leaves_the_error_alone(void **state) {
  struct fixture *f = *state;
  f->err.code = 77;
  assert_ok(det_profiler_off(det_core_profiler(f->core), &f->err));
  assert_int_equal(f->err.code, 77);
}

static void an_older_and_shorter_error_is_not_overrun(void **state) {
  struct fixture *f = *state;
  struct {
    det_error err;
    char guard[8];
  } older;
  memset(&older, 'g', sizeof older);
  older.err.struct_size = offsetof(det_error, message) + 20;
  assert_int_equal(det_core_init(&f->options, NULL, &older.err), DET_E_INVALID);
  assert_int_equal(older.err.code, DET_E_INVALID);
  assert_int_equal(strlen(older.err.message), 19); /* cut, and still ended */
  assert_int_equal(older.err.message[20], 'g');

  memset(&older, 'g', sizeof older);
  older.err.struct_size = 4; /* too short for anything */
  assert_int_equal(det_core_init(&f->options, NULL, &older.err), DET_E_INVALID);
  assert_int_equal(older.err.message[0], 'g');
}

static void a_zeroed_error_counts_as_a_full_one(void **state) {
  struct fixture *f = *state;
  det_error err;
  memset(&err, 0, sizeof err);
  assert_int_equal(det_core_init(&f->options, NULL, &err), DET_E_INVALID);
  assert_string_equal(err.message, "out must not be NULL");
}

static void messages_are_one_line_and_cut_between_characters(void **state) {
  struct fixture *f = *state;
  char name[2000];
  strcpy(name, "/nonexistent\n");
  while (strlen(name) + 2 < sizeof name) strcat(name, "\xc3\xa4"); /* ä */
  char *id = NULL;
  assert_int_not_equal(det_checkpoint_upload(det_core_checkpoint(f->core), name,
                                             "{\"steps_completed\": 1}", NULL, &id, &f->err),
                       DET_OK);
  assert_null(strchr(f->err.message, '\n'));
  size_t length = strlen(f->err.message);
  assert_in_range(length, sizeof f->err.message - 3, sizeof f->err.message - 1);
  assert_int_equal((unsigned char)f->err.message[length - 1], 0xa4); /* a whole ä at the end */
  det_free(id);
}

static void messages_do_not_steer_the_terminal_that_shows_them(void **state) {
  struct fixture *f = *state;
  assert_int_equal(det_checkpoint_delete(det_core_checkpoint(f->core),
                                         "\x1b]0;owned\x07\xe2\x80\xae\xff", &f->err),
                   DET_E_INVALID);
  assert_non_null(strstr(f->err.message, "\\x1b]0;owned\\x07\\u202e\\xff"));
  assert_null(strpbrk(f->err.message, "\x1b\x07\xe2\xff"));
}

static void the_version_is_that_of_the_headers(void **state) {
  (void)state;
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", DET_VERSION_MAJOR, DET_VERSION_MINOR, DET_VERSION_PATCH);
  assert_string_equal(det_version_string(), text);
  assert_int_equal(det_version(),
                   DET_VERSION_MAJOR * 1000000 + DET_VERSION_MINOR * 1000 + DET_VERSION_PATCH);
  det_free(NULL);
}

int test_error(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_has_a_name),
      cmocka_unit_test(init_functions_do_what_the_macros_do),
      CASE(success_leaves_the_error_alone),
      CASE(an_older_and_shorter_error_is_not_overrun),
      CASE(a_zeroed_error_counts_as_a_full_one),
      CASE(messages_are_one_line_and_cut_between_characters),
      CASE(messages_do_not_steer_the_terminal_that_shows_them),
      cmocka_unit_test(the_version_is_that_of_the_headers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

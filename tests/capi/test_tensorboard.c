/* What the program itself shows in TensorBoard. What the real TensorBoard makes of it:
 * tests/python/test_tensorboard.py. */
#include <math.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "tests/capi/fixture.h"

static det_tensorboard_context *board_of(struct fixture *f) {
  return det_core_tensorboard(f->core);
}

/* Whether the event files of the store have these words. */
static bool files_have(struct fixture *f, const char *words) {
  char command[256];
  snprintf(command, sizeof command, "grep -rqaF -e '%s' '%s' --include='events.out.*'", words,
           f->home);
  return system(command) == 0;
}

static void what_is_added_is_in_the_file_after_a_flush(void **state) {
  struct fixture *f = *state;
  const double values[] = {1, 2, 3};
  const float floats[] = {1, 2, 3};
  const unsigned char pixels[12] = {0};
  assert_ok(det_tensorboard_add_scalar(board_of(f), "a/scalar", 1, 0.5, &f->err));
  assert_ok(det_tensorboard_add_histogram(board_of(f), "a/histogram", 1, values, 3, &f->err));
  assert_ok(det_tensorboard_add_histogram_float(board_of(f), "some/floats", 1, floats, 3, &f->err));
  assert_ok(det_tensorboard_add_text(board_of(f), "a/text", 1, "**bold** words", &f->err));
  assert_ok(det_tensorboard_add_pixels(board_of(f), "an/image", 1, pixels, 2, 2, 3, &f->err));
  assert_ok(det_tensorboard_flush(board_of(f), DET_TIMEOUT_DEFAULT, &f->err));
  const char *words[] = {"a/scalar", "a/histogram", "some/floats", "bold** w", "an/image", "IHDR"};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
    if (!files_have(f, words[i])) fail_msg("no file has '%s'", words[i]);
}

static void what_is_added_last_is_in_the_file_after_the_close(void **state) {
  struct fixture *f = *state;
  assert_ok(det_tensorboard_add_text(board_of(f), "tag", 1, "the last words", &f->err));
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_true(files_have(f, "the last words"));
  assert_fails(det_tensorboard_add_text(board_of(f), "tag", 2, "x", &f->err), DET_E_STATE,
               "det_core_close()");
  assert_fails(det_tensorboard_flush(board_of(f), DET_TIMEOUT_DEFAULT, &f->err), DET_E_STATE,
               "det_core_close()");
}

static void tags_and_steps_are_checked(void **state) {
  struct fixture *f = *state;
  static char long_tag[4098];
  memset(long_tag, 'x', 4097);
  const char *const tags[] = {NULL, "", "\xff", long_tag};
  for (size_t i = 0; i < 4; ++i) {
    assert_fails(det_tensorboard_add_scalar(board_of(f), tags[i], 1, 0, &f->err), DET_E_INVALID,
                 "tag");
    assert_fails(det_tensorboard_add_text(board_of(f), tags[i], 1, "", &f->err), DET_E_INVALID,
                 "tag");
  }
  assert_fails(det_tensorboard_add_scalar(board_of(f), "tag", -1, 0, &f->err), DET_E_INVALID,
               "step -1");
  assert_fails(det_tensorboard_add_scalar(NULL, "tag", 1, 0, &f->err), DET_E_INVALID,
               "tensorboard");
}

static void histograms_of_nothing_and_of_no_numbers_are_refused(void **state) {
  struct fixture *f = *state;
  const double bad[][3] = {{1, NAN, 2}, {1, INFINITY, 2}, {1, -INFINITY, 2}};
  for (size_t i = 0; i < 3; ++i)
    assert_fails(det_tensorboard_add_histogram(board_of(f), "tag", 1, bad[i], 3, &f->err),
                 DET_E_INVALID, "value 1");
  assert_fails(det_tensorboard_add_histogram(board_of(f), "tag", 1, bad[0], 0, &f->err),
               DET_E_INVALID, "no values");
  assert_fails(det_tensorboard_add_histogram(board_of(f), "tag", 1, NULL, 3, &f->err),
               DET_E_INVALID, "values");
  assert_fails(det_tensorboard_add_histogram_float(board_of(f), "tag", 1, NULL, 0, &f->err),
               DET_E_INVALID, "no values");
}

static void histograms_that_cannot_be_drawn_are_refused(void **state) {
  struct fixture *f = *state;
  const double limits[] = {1, 2, 3}, counts[] = {0, 2, 0}, negative[] = {1, -1, 0},
               none[] = {0, 0, 0};
  const double falling[] = {1, 3, 2}, infinite[] = {1, 2, INFINITY}, no_numbers[] = {NAN, 1, 1};
  det_histogram good = DET_HISTOGRAM_INIT, bad;
  good.limits = limits, good.counts = counts, good.count = 3, good.min = 1.25, good.max = 1.5;
  assert_ok(det_tensorboard_add_histogram_buckets(board_of(f), "tag", 1, &good, &f->err));
#define REFUSED(change, words)                                                              \
  bad = good, change;                                                                       \
  assert_fails(det_tensorboard_add_histogram_buckets(board_of(f), "tag", 1, &bad, &f->err), \
               DET_E_INVALID, words)
  REFUSED(bad.counts = none, "count nothing");
  REFUSED(bad.count = 0, "count nothing");
  REFUSED(bad.counts = negative, "0 or above");
  REFUSED(bad.counts = no_numbers, "0 or above");
  REFUSED(bad.counts = NULL, "histogram.counts");
  REFUSED(bad.limits = falling, "ascend");
  REFUSED(bad.limits = infinite, "ascend");
  REFUSED(bad.limits = NULL, "histogram.limits");
  REFUSED(bad.min = 2.5, "min and max");
  REFUSED(bad.max = 0.5, "min and max");
  REFUSED(bad.min = NAN, "finite");
  REFUSED(bad.sum = INFINITY, "finite");
  REFUSED(bad.struct_size = 0, "struct_size");
  assert_fails(det_tensorboard_add_histogram_buckets(board_of(f), "tag", 1, NULL, &f->err),
               DET_E_INVALID, "histogram");
}

static void texts_that_are_no_texts_are_refused(void **state) {
  struct fixture *f = *state;
  assert_fails(det_tensorboard_add_text(board_of(f), "tag", 1, "\xc3(", &f->err), DET_E_INVALID,
               "UTF-8");
  assert_fails(det_tensorboard_add_text(board_of(f), "tag", 1, NULL, &f->err), DET_E_INVALID,
               "text");
  assert_ok(det_tensorboard_add_text(board_of(f), "tag", 1, "", &f->err));
}

static void sizes_that_no_image_has_are_refused(void **state) {
  struct fixture *f = *state;
  const int32_t sizes[][3] = {{0, 1, 1},         {1, 0, 1},         {-1, 1, 1},
                              {1, INT32_MIN, 1}, {1, 1, 0},         {1, 1, 5},
                              {1, 1, INT32_MAX}, {65536, 65536, 1}, {INT32_MAX, INT32_MAX, 4}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    assert_fails(det_tensorboard_add_pixels(board_of(f), "tag", 1, "x", sizes[i][0], sizes[i][1],
                                            sizes[i][2], &f->err),
                 DET_E_INVALID, "adding an image");
  assert_fails(det_tensorboard_add_pixels(board_of(f), "tag", 1, NULL, 1, 1, 1, &f->err),
               DET_E_INVALID, "pixels");
}

static void a_forked_child_adds_nothing(void **state) {
  struct fixture *f = *state;
  assert_ok(det_tensorboard_add_text(board_of(f), "tag", 1, "of the parent", &f->err));
  pid_t child = fork();
  if (child == 0) {
    det_status status = det_tensorboard_add_text(board_of(f), "tag", 2, "of the child", &f->err);
    det_core_free(f->core);
    _exit(status == DET_E_STATE ? 0 : 1);
  }
  int end;
  waitpid(child, &end, 0);
  assert_int_equal(end, 0);
  assert_ok(det_tensorboard_flush(board_of(f), DET_TIMEOUT_DEFAULT, &f->err));
  assert_true(files_have(f, "of the parent"));
  assert_false(files_have(f, "of the child"));
}

static void in_manual_mode_it_is_uploaded_when_asked(void **state) {
  struct fixture *f = *state;
  char *path, command[512];
  det_core_free(f->core);
  f->options.tensorboard_mode = DET_TENSORBOARD_MODE_MANUAL;
  start(f);
  assert_ok(det_train_get_tensorboard_path(det_core_train(f->core), &path, &f->err));
  assert_ok(det_tensorboard_add_text(board_of(f), "tag", 1, "by hand", &f->err));
  assert_ok(det_tensorboard_flush(board_of(f), DET_TIMEOUT_DEFAULT, &f->err));
  assert_false(files_have(f, "by hand"));
  assert_ok(det_tensorboard_add_text(board_of(f), "tag", 2, "not flushed", &f->err));
  assert_ok(det_train_upload_tensorboard_files(det_core_train(f->core), NULL, NULL, NULL, &f->err));
  assert_true(files_have(f, "by hand"));
  assert_true(files_have(f, "not flushed"));
  snprintf(command, sizeof command, "rm -r '%s'", path);
  assert_int_equal(system(command), 0);
  det_free(path);
}

static void what_cannot_be_written_is_told(void **state) {
  struct fixture *f = *state;
  char *path, command[600];
  assert_ok(det_train_get_tensorboard_path(det_core_train(f->core), &path, &f->err));
  snprintf(command, sizeof command, "rm -r '%s' && touch '%s'", path, path);
  assert_int_equal(system(command), 0);
  assert_ok(det_tensorboard_add_scalar(board_of(f), "tag", 1, 1, &f->err));
  det_status status = det_tensorboard_flush(board_of(f), DET_TIMEOUT_DEFAULT, &f->err);
  assert_true(status != DET_OK && status != DET_E_TIMEOUT);
  snprintf(command, sizeof command, "rm '%s'", path);
  assert_int_equal(system(command), 0);
  assert_ok(det_tensorboard_add_text(board_of(f), "tag", 2, "works again", &f->err));
  assert_ok(det_tensorboard_flush(board_of(f), DET_TIMEOUT_DEFAULT, &f->err));
  assert_true(files_have(f, "works again"));
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_non_null(strstr(f->log, "TensorBoard misses"));
  det_free(path);
}

int test_tensorboard(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      CASE(what_is_added_is_in_the_file_after_a_flush),
      CASE(what_is_added_last_is_in_the_file_after_the_close),
      CASE(tags_and_steps_are_checked),
      CASE(histograms_of_nothing_and_of_no_numbers_are_refused),
      CASE(histograms_that_cannot_be_drawn_are_refused),
      CASE(texts_that_are_no_texts_are_refused),
      CASE(sizes_that_no_image_has_are_refused),
      CASE(a_forked_child_adds_nothing),
      CASE(in_manual_mode_it_is_uploaded_when_asked),
      CASE(what_cannot_be_written_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

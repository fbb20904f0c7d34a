#include <math.h>

#include "tests/capi/fixture.h"

static void it_goes_on_and_off_as_often_as_one_likes(void **state) {
  struct fixture *f = *state;
  det_profiler_context *profiler = det_core_profiler(f->core);
  assert_ok(det_profiler_off(profiler, &f->err));
  for (int i = 0; i < 2; ++i) {
    assert_ok(det_profiler_on(profiler, 0.1, 1, &f->err));
    assert_ok(det_profiler_on(profiler, 0, 0, &f->err));  // already on, it looks at nothing
    assert_ok(det_profiler_off(profiler, &f->err));
    assert_ok(det_profiler_off(profiler, &f->err));
  }
  assert_ok(det_profiler_on(profiler, 3600, 1, &f->err));  // closing ends it
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_fails(det_profiler_on(profiler, 1, 1, &f->err), DET_E_STATE, "close");
  assert_fails(det_profiler_off(profiler, &f->err), DET_E_STATE, "close");
}

static void intervals_and_counts_out_of_range_are_refused(void **state) {
  struct fixture *f = *state;
  det_profiler_context *profiler = det_core_profiler(f->core);
  assert_fails(det_profiler_on(profiler, 0.05, 10, &f->err), DET_E_INVALID, "0.1 seconds");
  assert_fails(det_profiler_on(profiler, NAN, 10, &f->err), DET_E_INVALID, "0.1 seconds");
  assert_fails(det_profiler_on(profiler, 1, 0, &f->err), DET_E_INVALID, "1 or more");
  assert_fails(det_profiler_on(NULL, 1, 10, &f->err), DET_E_INVALID, "profiler");
  assert_fails(det_profiler_off(NULL, &f->err), DET_E_INVALID, "profiler");
}

int test_profiler(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      CASE(it_goes_on_and_off_as_often_as_one_likes),
      CASE(intervals_and_counts_out_of_range_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <math.h>

#include "tests/capi/fixture.h"

static void sampling_says_that_it_is_not_in_this_release(void **state) {
  struct fixture *f = *state;
  det_profiler_context *profiler = det_core_profiler(f->core);
  assert_fails(det_profiler_on(profiler, 0.1, 1, &f->err), DET_E_UNSUPPORTED, "release");
  assert_ok(det_profiler_off(profiler, &f->err));
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
      CASE(sampling_says_that_it_is_not_in_this_release),
      CASE(intervals_and_counts_out_of_range_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

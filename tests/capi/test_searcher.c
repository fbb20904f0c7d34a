#include <math.h>

#include "tests/capi/fixture.h"

static det_searcher_context *searcher_of(struct fixture *f) { return det_core_searcher(f->core); }

static int setup_length_20(void **state) {
  if (setup_home(state) != 0) return -1;
  struct fixture *f = *state;
  f->options.config_json =
      "{\"searcher\": {\"name\": \"single\", \"metric\": \"acc\", \"max_length\": {\"epochs\": "
      "20}}}";
  return det_core_init(&f->options, &f->core, &f->err) == DET_OK ? 0 : -1;
}

static void the_single_search_gives_one_operation_of_the_configured_length(void **state) {
  struct fixture *f = *state;
  det_searcher_op *op;
  assert_int_equal(det_searcher_configured_units(searcher_of(f)), DET_LENGTH_UNIT_EPOCHS);
  assert_ok(det_searcher_next(searcher_of(f), &op, &f->err));
  assert_int_equal(det_searcher_op_length(op), 20);
  assert_ok(det_searcher_op_report_progress(op, 10, &f->err));
  assert_ok(det_searcher_op_report_completed(op, 0.9, &f->err));
  assert_int_equal(det_searcher_next(searcher_of(f), &op, &f->err), DET_DONE);
  assert_null(op);
  assert_int_equal(det_searcher_next(searcher_of(f), &op, &f->err), DET_DONE);
}

static void without_a_configuration_the_length_is_one(void **state) {
  struct fixture *f = *state;
  det_searcher_op *op;
  assert_int_equal(det_searcher_configured_units(searcher_of(f)), DET_LENGTH_UNIT_NONE);
  assert_ok(det_searcher_next(searcher_of(f), &op, &f->err));
  assert_int_equal(det_searcher_op_length(op), 1);
}

static void an_unfinished_operation_is_handed_out_again_after_a_restart(void **state) {
  struct fixture *f = *state;
  det_searcher_op *op;
  assert_ok(det_searcher_next(searcher_of(f), &op, &f->err));
  restart(f, DET_OUTCOME_ERROR);
  assert_ok(det_searcher_next(searcher_of(f), &op, &f->err));
  assert_int_equal(det_searcher_op_length(op), 20);
  assert_ok(det_searcher_op_report_completed(op, 0.5, &f->err));
  restart(f, DET_OUTCOME_ERROR);
  assert_int_equal(det_searcher_next(searcher_of(f), &op, &f->err), DET_DONE);
}

static void the_next_operation_needs_the_one_before_completed(void **state) {
  struct fixture *f = *state;
  det_searcher_op *op, *next;
  assert_ok(det_searcher_next(searcher_of(f), &op, &f->err));
  assert_fails(det_searcher_next(searcher_of(f), &next, &f->err), DET_E_STATE,
               "must call op.report_completed");
  assert_null(next);
}

static void an_operation_is_completed_once(void **state) {
  struct fixture *f = *state;
  det_searcher_op *op;
  assert_ok(det_searcher_next(searcher_of(f), &op, &f->err));
  assert_ok(det_searcher_op_report_completed(op, NAN, &f->err));
  assert_fails(det_searcher_op_report_completed(op, 1, &f->err), DET_E_STATE, "completed before");
  assert_ok(det_searcher_op_report_progress(op, 20, &f->err)); /* its own length is allowed */
  assert_fails(det_searcher_op_report_progress(op, 19, &f->err), DET_E_STATE, "is completed");
}

static void progress_must_be_a_length(void **state) {
  struct fixture *f = *state;
  det_searcher_op *op;
  assert_ok(det_searcher_next(searcher_of(f), &op, &f->err));
  assert_fails(det_searcher_op_report_progress(op, -1, &f->err), DET_E_INVALID, "length");
  assert_fails(det_searcher_op_report_progress(op, NAN, &f->err), DET_E_INVALID, "length");
  assert_fails(det_searcher_op_report_progress(op, INFINITY, &f->err), DET_E_INVALID, "length");
}

static void json_metrics_are_checked(void **state) {
  struct fixture *f = *state;
  det_searcher_op *op;
  assert_ok(det_searcher_next(searcher_of(f), &op, &f->err));
  assert_fails(det_searcher_op_report_completed_json(op, "{", &f->err), DET_E_INVALID,
               "metric_json");
  assert_fails(det_searcher_op_report_completed_json(op, NULL, &f->err), DET_E_INVALID,
               "metric_json");
  assert_ok(det_searcher_op_report_completed_json(op, "{\"a\": 1}", &f->err));
}

static void the_end_is_acknowledged_by_hand_when_asked(void **state) {
  struct fixture *f = *state;
  det_searcher_op *op;
  assert_ok(det_searcher_configure(searcher_of(f), DET_SEARCHER_MODE_CHIEF_ONLY, 0, &f->err));
  assert_ok(det_searcher_next(searcher_of(f), &op, &f->err));
  assert_fails(det_searcher_acknowledge_out_of_ops(searcher_of(f), &f->err), DET_E_STATE,
               "DET_DONE");
  assert_ok(det_searcher_op_report_completed(op, 1, &f->err));
  assert_int_equal(det_searcher_next(searcher_of(f), &op, &f->err), DET_DONE);
  assert_ok(det_searcher_acknowledge_out_of_ops(searcher_of(f), &f->err));
  assert_ok(det_searcher_acknowledge_out_of_ops(searcher_of(f), &f->err));
}

static void configure_comes_first_and_knows_its_modes(void **state) {
  struct fixture *f = *state;
  det_searcher_op *op;
  assert_fails(det_searcher_configure(searcher_of(f), 5, 1, &f->err), DET_E_INVALID, "mode 5");
  assert_ok(det_searcher_next(searcher_of(f), &op, &f->err));
  assert_fails(det_searcher_configure(searcher_of(f), 0, 1, &f->err), DET_E_STATE, "first");
}

static void units_follow_the_configuration(void **state) {
  struct fixture *f = *state;
  const struct {
    const char *config;
    det_length_unit unit;
  } cases[] = {
      {"{\"searcher\": {\"name\": \"single\", \"max_length\": 50}}", DET_LENGTH_UNIT_NONE},
      {"{\"searcher\": {\"name\": \"single\", \"max_length\": {\"batches\": 5}}}",
       DET_LENGTH_UNIT_BATCHES},
      {"{\"searcher\": {\"name\": \"custom\", \"unit\": \"records\"}}", DET_LENGTH_UNIT_RECORDS},
      {"{\"searcher\": {\"name\": \"single\"}}", DET_LENGTH_UNIT_NONE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    det_core_free(f->core);
    f->options.config_json = cases[i].config;
    start(f);
    assert_int_equal(det_searcher_configured_units(searcher_of(f)), cases[i].unit);
  }
}

static void null_handles_are_refused(void **state) {
  struct fixture *f = *state;
  det_searcher_op *op;
  assert_fails(det_searcher_next(NULL, &op, &f->err), DET_E_INVALID, "searcher must not be NULL");
  assert_fails(det_searcher_next(searcher_of(f), NULL, &f->err), DET_E_INVALID, "out");
  assert_fails(det_searcher_configure(NULL, 0, 1, &f->err), DET_E_INVALID, "searcher");
  assert_fails(det_searcher_acknowledge_out_of_ops(NULL, &f->err), DET_E_INVALID, "searcher");
  assert_fails(det_searcher_op_report_progress(NULL, 1, &f->err), DET_E_INVALID, "op");
  assert_fails(det_searcher_op_report_completed(NULL, 1, &f->err), DET_E_INVALID, "op");
  assert_int_equal(det_searcher_op_length(NULL), 0);
  assert_int_equal(det_searcher_configured_units(NULL), DET_LENGTH_UNIT_NONE);
}

int test_searcher(void) {
#define CASE(name, begin) cmocka_unit_test_setup_teardown(name, begin, teardown)
  const struct CMUnitTest tests[] = {
      CASE(the_single_search_gives_one_operation_of_the_configured_length, setup_length_20),
      CASE(without_a_configuration_the_length_is_one, setup),
      CASE(an_unfinished_operation_is_handed_out_again_after_a_restart, setup_length_20),
      CASE(the_next_operation_needs_the_one_before_completed, setup),
      CASE(an_operation_is_completed_once, setup_length_20),
      CASE(progress_must_be_a_length, setup),
      CASE(json_metrics_are_checked, setup),
      CASE(the_end_is_acknowledged_by_hand_when_asked, setup),
      CASE(configure_comes_first_and_knows_its_modes, setup),
      CASE(units_follow_the_configuration, setup),
      CASE(null_handles_are_refused, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

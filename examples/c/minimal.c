#include <det/core.h>
#include <stdio.h>
#include <stdlib.h>

static det_error err = DET_ERROR_INIT;

static det_status check(det_status status) {
  if (status >= 0) return status;
  fprintf(stderr, "%s\n", err.message);
  exit(EXIT_FAILURE);
}

int main(void) {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.config_json = "{\"searcher\": {\"name\": \"single\", \"max_length\": 100}}";
  det_core *core; /* no cluster needed: the master is inside */
  check(det_core_init(&options, &core, &err));

  double rate = det_info_hparam_double(det_core_info(core), "rate", 0.1), weight = 0, loss = 9;
  int64_t step = 0;
  det_searcher_op *op;
  while (check(det_searcher_next(det_core_searcher(core), &op, &err)) == DET_OK) {
    while (step < (int64_t)det_searcher_op_length(op)) {
      weight -= rate * 2 * (weight - 3); /* your training goes here */
      loss = (weight - 3) * (weight - 3);
      det_metric metric = {"loss", loss};
      check(det_train_report_training_metrics(det_core_train(core), ++step, &metric, 1, &err));
      if (check(det_preempt_should_preempt(det_core_preempt(core), &err)) == DET_PREEMPTED)
        goto leave;
    }
    check(det_searcher_op_report_completed(op, loss, &err));
  }
leave:
  check(det_core_close(core, DET_OUTCOME_OK, &err));
  det_core_free(core);
  printf("weight %.3f after %lld steps\n", weight, (long long)step);
  return 0;
}

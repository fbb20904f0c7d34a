#include <det/core.h>
#include <det/tensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

static det_error err = DET_ERROR_INIT;

static det_status check(det_status status) {
  if (status < 0) fprintf(stderr, "%s\n", err.message), exit(EXIT_FAILURE);
  return status;
}

int main(void) {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.external_id = "minimal-c"; /* every start with this name continues the same trial */
  det_core *core;
  check(det_core_init(&options, &core, &err));

  double weight = 0;
  int64_t step;
  det_buffer state = {"weight", &weight, sizeof weight};
  check(det_state_load(det_core_checkpoint(core), NULL, &state, 1, &step, &err));
  printf("from step %lld\n", (long long)step);

  int stop = 0;
  while (step < 1000 && !stop) {
    weight -= 0.02 * (weight - 3);                            /* your training goes here, */
    thrd_sleep(&(struct timespec){.tv_nsec = 5000000}, NULL); /* and takes longer */
    det_metric loss = {"loss", (weight - 3) * (weight - 3)};
    check(det_train_report_training_metrics(det_core_train(core), ++step, &loss, 1, &err));
    stop = check(det_preempt_should_preempt(det_core_preempt(core), &err)) == DET_PREEMPTED;
    if (stop || step % 100 == 0)
      check(det_state_save(det_core_checkpoint(core), step, &state, 1, NULL, &err));
  }
  check(det_core_close(core, DET_OUTCOME_OK, &err));
  int status = det_core_exit_status(core); /* 0, or 75 if it was asked to stop before the end */
  det_core_free(core);
  printf("weight %.3f at step %lld\n", weight, (long long)step);
  return status;
}

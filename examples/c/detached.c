/* Adds reports to a training loop that runs outside any cluster, so that a master shows it.
 *
 *     cc detached.c $(pkg-config --cflags --libs detcore) -o detached
 *     det login http://HOST:8080
 *     DET_MASTER=http://HOST:8080 ./detached
 *
 * The lines with a bar are the additions to the bare loop. After a crash, the next start is the
 * next run of the same trial. */
#include <det/core.h> /* | */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  det_error err = DET_ERROR_INIT;                                  /* | */
  det_core_options options = DET_CORE_OPTIONS_INIT;                /* | */
  options.external_id = "detached-example";                        /* | the name of the trial */
  options.close_at_end = options.capture_output = 1;               /* | */
  static det_core *core;                                           /* | until the process ends */
  if (det_core_init(&options, &core, &err) != DET_OK) goto failed; /* | */

  double weight = 0;
  for (int step = 1; step <= 100; step++) {
    weight -= 0.1 * 2 * (weight - 3);
    double loss = (weight - 3) * (weight - 3);
    if (step % 10 == 0) printf("step %d, loss %g\n", step, loss);
    det_metric metric = {"loss", loss};                                                      /* | */
    if (det_train_report_training_metrics(det_core_train(core), step, &metric, 1, &err) < 0) /* | */
      goto failed;
  }
  printf("weight %.3f\n", weight);
  return 0;

failed:
  fprintf(stderr, "%s\n", err.message);
  return 1;
}

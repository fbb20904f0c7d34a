/* Reports metrics, progress, status and log lines, then reads the metrics back.
 *
 *     cc metrics.c $(pkg-config --cflags --libs detcore) -lm -o metrics
 *     ./metrics */
#include <det/core.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static det_error err = DET_ERROR_INIT;

static void check(det_status status) {
  if (status >= 0) return;
  fprintf(stderr, "metrics: %s\n", err.message);
  exit(EXIT_FAILURE);
}

static void print_metrics(int64_t trial_id) {
  det_client *client;
  char *json;
  check(det_client_open(NULL, &client, &err));
  check(det_client_list_metrics(client, trial_id, NULL, NULL, &json, &err));
  puts(json);
  det_free(json);
  det_client_free(client);
}

int main(void) {
  det_core *core;
  check(det_core_init(NULL, &core, &err));
  det_train_context *train = det_core_train(core);
  int64_t trial_id = det_info_trial_id(det_core_info(core));

  check(det_train_set_status(train, "training", &err));
  for (int64_t step = 1; step <= 10; step++) {
    det_metric metrics[] = {{"loss", 1.0 / (double)step}, {"learning_rate", 0.1}};
    check(det_train_report_training_metrics(train, step, metrics, 2, &err));
    check(det_train_report_progress(train, (double)step / 10, &err));
  }
  det_metric validation[] = {{"loss", 0.15}, {"diverged", NAN}}; /* any double is kept */
  check(det_train_report_validation_metrics(train, 10, validation, 2, &err));

  /* Your own groups, and values of any JSON type. */
  det_metric memory[] = {{"resident_mib", 12.5}};
  check(det_train_report_metrics(train, "system", 10, memory, 1, &err));
  check(det_train_report_metrics_json(train, "confusion", 10, "{\"matrix\": [[9, 1], [0, 10]]}",
                                      NULL, &err));
  check(det_train_log(train, DET_LOG_LEVEL_INFO, "all images seen", &err));

  check(det_train_flush(train, -1, &err)); /* needed only to read them back at once */
  print_metrics(trial_id);
  check(det_core_close(core, DET_OUTCOME_OK, &err));
  det_core_free(core);
  return 0;
}

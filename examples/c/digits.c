/* Trains a small network to read handwritten digits.
 *
 * You can pause or kill the program at any moment. The next start resumes from the latest
 * checkpoint. The result is the same to the last bit, with or without interruptions.
 *
 *     cc digits.c digits_model.c $(pkg-config --cflags --libs detcore) -lm -o digits
 *     ./digits [IMAGES.csv]
 *
 * Hyperparameters: learning_rate, momentum, weight_decay, hidden_size, batch_size.
 * DIGITS_BATCH_MS adds this number of milliseconds to each batch, so that you can watch. */
#include <det/core.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "digits_model.h"

static const char config[] =
    "{\"name\": \"digits\","
    " \"searcher\": {\"name\": \"single\", \"metric\": \"accuracy\", \"smaller_is_better\": false,"
    "                \"max_length\": {\"epochs\": 40}},"
    " \"hyperparameters\": {\"learning_rate\": 0.05, \"momentum\": 0.9, \"weight_decay\": 1e-4,"
    "                       \"hidden_size\": 64, \"batch_size\": 64},"
    " \"reproducibility\": {\"experiment_seed\": 1}}";

static det_error err = DET_ERROR_INIT;

/* Ends the program after a failure. The next run finds all earlier reports and checkpoints. */
static det_status check(det_status status) {
  if (status >= 0) return status;
  fprintf(stderr, "digits: %s\n", err.message);
  exit(EXIT_FAILURE);
}

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "digits: %s\n", what);
  exit(EXIT_FAILURE);
}

/* The state that a later run cannot compute again. It can compute the order of the images from the
 * trial's seed and the epoch. */
struct progress {
  int64_t batches; /* since the start of the trial */
  double loss;     /* summed over the images of this epoch so far */
};

struct training {
  det_core *core;
  struct dataset data;
  struct model model;
  struct optimizer optimizer;
  size_t batch_size, batches_per_epoch;
  uint32_t *order; /* the images in the order of this epoch */
  uint64_t seed;
  struct progress progress;
};

enum { BUFFERS = 3 };

static void state_of(struct training *t, det_buffer state[BUFFERS]) {
  const size_t bytes = t->model.count * sizeof(float);
  state[0] = (det_buffer){"progress", &t->progress, sizeof t->progress};
  state[1] = (det_buffer){"weights", t->model.weights, bytes};
  state[2] = (det_buffer){"velocity", t->model.velocity, bytes};
}

static void save(struct training *t) {
  det_buffer state[BUFFERS];
  state_of(t, state);
  check(det_state_save(det_core_checkpoint(t->core), t->progress.batches, state, BUFFERS, NULL,
                       &err));
}

/* Restores the latest checkpoint. Without a checkpoint, the state stays unchanged. */
static void load(struct training *t) {
  det_buffer state[BUFFERS];
  state_of(t, state);
  check(det_state_load(det_core_checkpoint(t->core), NULL, state, BUFFERS, NULL, &err));
}

static void configure(struct training *t) {
  const det_info *info = det_core_info(t->core);
  t->optimizer.learning_rate = det_info_hparam_double(info, "learning_rate", 0.05);
  t->optimizer.momentum = det_info_hparam_double(info, "momentum", 0.9);
  t->optimizer.weight_decay = det_info_hparam_double(info, "weight_decay", 1e-4);
  int64_t hidden_size = det_info_hparam_int(info, "hidden_size", 64);
  int64_t batch_size = det_info_hparam_int(info, "batch_size", 64);
  if (hidden_size < 1 || hidden_size > MODEL_MAX_HIDDEN || batch_size < 1 ||
      batch_size > (int64_t)t->data.train_count) {
    check(det_core_close(t->core, DET_OUTCOME_INVALID_HP, &err));
    fprintf(stderr,
            "digits: hidden_size must be from 1 to 4096, batch_size from 1 to the number of "
            "images\n");
    exit(EXIT_SUCCESS); /* the master has the reason; it would retry a failure */
  }
  t->batch_size = (size_t)batch_size;
  t->batches_per_epoch = (t->data.train_count + t->batch_size - 1) / t->batch_size;
  t->seed = (uint64_t)det_info_trial_seed(info);
  t->order = calloc(t->data.train_count, sizeof *t->order);
  require(model_init(&t->model, (size_t)hidden_size, t->seed) == 0 && t->order, "out of memory");

  load(t);
}

/* Trains to the end of the epoch. Returns DET_PREEMPTED if asked to stop earlier. */
static det_status train_epoch(struct training *t) {
  const char *delay = getenv("DIGITS_BATCH_MS");
  struct timespec pause = {0, delay ? 1000000L * (atoi(delay) % 1000) : 0};
  size_t epoch = (size_t)t->progress.batches / t->batches_per_epoch;
  size_t batch = (size_t)t->progress.batches % t->batches_per_epoch;
  shuffle(t->order, t->data.train_count, t->seed + epoch);
  if (batch == 0) t->progress.loss = 0;

  for (; batch < t->batches_per_epoch; batch++) {
    if (check(det_preempt_should_preempt(det_core_preempt(t->core), &err)) == DET_PREEMPTED)
      return DET_PREEMPTED;
    size_t first = batch * t->batch_size, count = t->batch_size;
    if (first + count > t->data.train_count) count = t->data.train_count - first;
    t->progress.loss +=
        model_train(&t->model, &t->optimizer, t->data.train, t->order + first, count);
    t->progress.batches++;
    if (delay) nanosleep(&pause, NULL);
  }
  return DET_OK;
}

static void report(struct training *t) {
  det_train_context *train = det_core_train(t->core);
  struct score score = model_evaluate(&t->model, t->data.test, t->data.test_count);
  det_metric training[] = {{"loss", t->progress.loss / (double)t->data.train_count}};
  det_metric validation[] = {{"loss", score.loss}, {"accuracy", score.accuracy}};
  check(det_train_report_training_metrics(train, t->progress.batches, training, 1, &err));
  check(det_train_report_validation_metrics(train, t->progress.batches, validation, 2, &err));
}

/* Trains up to the length of the operation. Returns DET_PREEMPTED if asked to stop earlier. */
static det_status run(struct training *t, det_searcher_op *op) {
  int64_t end = (int64_t)(det_searcher_op_length(op) * t->batches_per_epoch);
  while (t->progress.batches < end) {
    det_status status = train_epoch(t);
    if (status == DET_OK) report(t);
    save(t);
    if (status == DET_PREEMPTED) return DET_PREEMPTED;
    double epochs = (double)t->progress.batches / (double)t->batches_per_epoch;
    check(det_searcher_op_report_progress(op, epochs, &err));
  }
  struct score score = model_evaluate(&t->model, t->data.test, t->data.test_count);
  check(det_searcher_op_report_completed(op, score.accuracy, &err));
  printf("accuracy %.4f, loss %.9f\n", score.accuracy, score.loss);
  return DET_OK;
}

int main(int argc, char **argv) {
  struct training t = {0};
  require(dataset_read(&t.data, argc > 1 ? argv[1] : DIGITS_CSV) == 0, "no images to learn from");

  const int32_t signals[] = {SIGTERM}; /* from Slurm, Kubernetes or a spot machine */
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.config_json = config;
  options.preempt_signals = signals;
  options.preempt_signal_count = 1;
  check(det_core_init(&options, &t.core, &err));
  configure(&t);

  det_searcher_op *op;
  while (check(det_searcher_next(det_core_searcher(t.core), &op, &err)) == DET_OK &&
         run(&t, op) == DET_OK) {
  }
  check(det_core_close(t.core, DET_OUTCOME_OK, &err));
  int status = det_core_exit_status(t.core); /* not 0 if more work remains */

  det_core_free(t.core);
  model_free(&t.model);
  dataset_free(&t.data);
  free(t.order);
  return status;
}

/* Trains a small network to read handwritten digits on many ranks.
 *
 * Each rank takes its part of every batch, and MPI sums the gradients. Each rank saves its slice of
 * the model. After a pause or a crash, any other number of ranks can resume from the checkpoint.
 *
 *     mpicc digits_mpi.c ../c/digits_model.c \
 *       $(pkg-config --cflags --libs detcore-mpi) -lm -o digits_mpi
 *     mpirun -n 4 ./digits_mpi [IMAGES.csv]
 *
 * Hyperparameters: learning_rate, momentum, weight_decay, hidden_size, batch_size.
 * DIGITS_BATCH_MS adds this number of milliseconds to each batch, so that you can watch. */
#include <det/core.h>
#include <det/mpi.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../c/digits_model.h"

static const char config[] =
    "{\"name\": \"digits_mpi\","
    " \"searcher\": {\"name\": \"single\", \"metric\": \"accuracy\", \"smaller_is_better\": false,"
    "                \"max_length\": {\"epochs\": 40}},"
    " \"hyperparameters\": {\"learning_rate\": 0.05, \"momentum\": 0.9, \"weight_decay\": 1e-4,"
    "                       \"hidden_size\": 64, \"batch_size\": 64},"
    " \"reproducibility\": {\"experiment_seed\": 1}}";

static det_error err = DET_ERROR_INIT;

/* Ends the whole job after a failure. The next run finds all earlier reports and checkpoints. */
static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "digits_mpi: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  abort();
}

static det_status check(det_status status) {
  require(status >= 0, err.message);
  return status;
}

/* The state, without the model, that a later run cannot compute again. It is the same on every
 * rank. */
struct progress {
  int64_t batches; /* since the start of the trial */
  double loss;     /* summed over the images of this epoch so far */
};

struct training {
  det_core *core;
  size_t rank, size;
  struct dataset data;
  struct model model;
  struct optimizer optimizer;
  size_t batch_size, batches_per_epoch;
  uint32_t *order; /* the images in the order of this epoch */
  uint64_t seed;
  struct progress progress;
};

/* Divides `count` items among the ranks. Returns the first item of this rank. Its part ends where
 * the next rank's part begins. */
static size_t part(size_t count, size_t rank, size_t size) { return count * rank / size; }

/* The header of one rank's file. After it come `count` weights and `count` velocities. */
struct shard {
  struct progress progress;
  uint64_t first, count; /* of the parameters */
};

static void save(struct training *t) {
  char metadata[64], path[4096];
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %lld}",
           (long long)t->progress.batches);
  det_checkpoint_options options = DET_CHECKPOINT_OPTIONS_INIT;
  options.shard = 1; /* all ranks together write one checkpoint */
  det_checkpoint_writer *store;
  check(
      det_checkpoint_writer_begin(det_core_checkpoint(t->core), metadata, &options, &store, &err));

  size_t first = part(t->model.count, t->rank, t->size);
  size_t count = part(t->model.count, t->rank + 1, t->size) - first;
  struct shard shard = {t->progress, first, count};
  snprintf(path, sizeof path, "%s/shard-%zu-of-%zu.bin", det_checkpoint_writer_path(store), t->rank,
           t->size);
  FILE *file = fopen(path, "wb");
  require(file && fwrite(&shard, sizeof shard, 1, file) == 1 &&
              fwrite(t->model.weights + first, sizeof(float), count, file) == count &&
              fwrite(t->model.velocity + first, sizeof(float), count, file) == count &&
              fclose(file) == 0,
          "cannot write the checkpoint");
  check(det_checkpoint_writer_commit(store, &err)); /* visible once the last rank has committed */
  det_checkpoint_writer_free(store);
}

/* Reads the slice of one rank of the previous run. Returns its number of parameters. */
static size_t restore_shard(struct training *t, const char *path) {
  struct shard shard;
  FILE *file = fopen(path, "rb");
  require(
      file && fread(&shard, sizeof shard, 1, file) == 1 && shard.first <= t->model.count &&
          shard.count <= t->model.count - shard.first &&
          fread(t->model.weights + shard.first, sizeof(float), shard.count, file) == shard.count &&
          fread(t->model.velocity + shard.first, sizeof(float), shard.count, file) == shard.count,
      "cannot read the checkpoint");
  fclose(file);
  t->progress = shard.progress;
  return shard.count;
}

/* Every rank needs the whole model. Any number of ranks may have written it. */
static void restore(struct training *t, const char *checkpoint_id) {
  char path[4096];
  det_checkpoint_reader *stored;
  check(
      det_checkpoint_reader_open(det_core_checkpoint(t->core), checkpoint_id, NULL, &stored, &err));
  const char *directory = det_checkpoint_reader_path(stored);
  DIR *listing = opendir(directory);
  require(listing != NULL, "cannot list the checkpoint");
  size_t restored = 0;
  for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
    if (strncmp(entry->d_name, "shard-", 6) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    restored += restore_shard(t, path);
  }
  require(restored == t->model.count, "the checkpoint belongs to another model");
  closedir(listing);
  det_checkpoint_reader_free(stored);
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
    if (t->rank == 0)
      fprintf(stderr,
              "digits_mpi: hidden_size must be from 1 to 4096, batch_size from 1 to the number of "
              "images\n");
    /* Every rank finds the same error. No rank may end the job before rank 0 has reported the
     * reason. */
    MPI_Finalize();
    exit(EXIT_SUCCESS); /* the master would retry a failure */
  }
  t->batch_size = (size_t)batch_size;
  t->batches_per_epoch = (t->data.train_count + t->batch_size - 1) / t->batch_size;
  t->seed = (uint64_t)det_info_trial_seed(info);
  t->order = calloc(t->data.train_count, sizeof *t->order);
  require(model_init(&t->model, (size_t)hidden_size, t->seed) == 0 && t->order, "out of memory");

  const char *checkpoint_id = det_info_latest_checkpoint(info);
  if (checkpoint_id) restore(t, checkpoint_id);
}

/* Makes one step of all ranks on the images that `order` names. */
static void train_batch(struct training *t, const uint32_t *order, size_t count) {
  size_t first = part(count, t->rank, t->size), end = part(count, t->rank + 1, t->size);
  double loss = model_gradient(&t->model, t->data.train, order + first, end - first);
  MPI_Allreduce(MPI_IN_PLACE, t->model.gradient, (int)t->model.count, MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  model_step(&t->model, &t->optimizer, count);
  t->progress.loss += loss;
  t->progress.batches++;
}

/* Trains to the end of the epoch. Returns DET_PREEMPTED if the job is asked to stop earlier. All
 * ranks return it at the same batch. */
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
    train_batch(t, t->order + first, count);
    if (delay) nanosleep(&pause, NULL);
  }
  return DET_OK;
}

/* Reports that only the chief, rank 0, makes. */
static void report(struct training *t, det_searcher_op *op) {
  det_train_context *train = det_core_train(t->core);
  struct score score = model_evaluate(&t->model, t->data.test, t->data.test_count);
  det_metric training[] = {{"loss", t->progress.loss / (double)t->data.train_count}};
  det_metric validation[] = {{"loss", score.loss}, {"accuracy", score.accuracy}};
  check(det_train_report_training_metrics(train, t->progress.batches, training, 1, &err));
  check(det_train_report_validation_metrics(train, t->progress.batches, validation, 2, &err));
  double epochs = (double)t->progress.batches / (double)t->batches_per_epoch;
  check(det_searcher_op_report_progress(op, epochs, &err));
}

/* Trains up to the length of the operation. Returns DET_PREEMPTED if asked to stop earlier. */
static det_status run(struct training *t, det_searcher_op *op) {
  int64_t end = (int64_t)(det_searcher_op_length(op) * t->batches_per_epoch);
  while (t->progress.batches < end) {
    det_status status = train_epoch(t);
    if (status == DET_OK && t->rank == 0) report(t, op);
    save(t);
    if (status == DET_PREEMPTED) return DET_PREEMPTED;
  }
  if (t->rank == 0) {
    struct score score = model_evaluate(&t->model, t->data.test, t->data.test_count);
    check(det_searcher_op_report_completed(op, score.accuracy, &err));
    printf("accuracy %.4f, loss %.9f\n", score.accuracy, score.loss);
  }
  return DET_OK;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  struct training t = {0};
  require(dataset_read(&t.data, argc > 1 ? argv[1] : DIGITS_CSV) == 0, "no images to learn from");

  det_distributed_context *distributed;
  check(det_distributed_from_mpi(MPI_COMM_WORLD, &distributed, &err));
  t.rank = (size_t)det_distributed_rank(distributed);
  t.size = (size_t)det_distributed_size(distributed);

  /* Slurm sends SIGTERM to every rank. mpirun forwards SIGUSR1, but handles SIGTERM itself. */
  const int32_t signals[] = {SIGTERM, SIGUSR1};
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.config_json = config;
  options.distributed = distributed;
  options.preempt_signals = signals;
  options.preempt_signal_count = 2;
  check(det_core_init(&options, &t.core, &err));
  configure(&t);

  det_searcher_op *op;
  while (check(det_searcher_next(det_core_searcher(t.core), &op, &err)) == DET_OK &&
         run(&t, op) == DET_OK) {
  }
  check(det_core_close(t.core, DET_OUTCOME_OK, &err));
  int status = det_core_exit_status(t.core); /* not 0 if more work remains */

  det_core_free(t.core);
  det_distributed_free(distributed);
  model_free(&t.model);
  dataset_free(&t.data);
  free(t.order);
  MPI_Finalize(); /* mpirun ends the other ranks if one exits with a status that is not 0 */
  return status;
}

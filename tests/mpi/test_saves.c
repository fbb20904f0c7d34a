/* Checkpoints that all ranks of an MPI job save: in the background, beside collectives of their
 * own; or with the argument "bucket" into that of tests/servers/object_stores.py, where the ranks
 * wait for each of them. Each failed check says so and ends the job with status 1. */
#include <det/core.h>
#include <det/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { saves = 5 };

static int32_t rank;
static int into_bucket;
static det_error err = DET_ERROR_INIT;

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "rank %d: not so: %s (%s)\n", (int)rank, what, err.message);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* One that rank 0 makes for all. */
static void make_home(det_distributed_context *job, char *home, size_t size) {
  det_messages *messages;
  if (rank == 0) check(mkdtemp(home) != NULL, "mkdtemp");
  check(det_distributed_broadcast(job, home, size, &messages, &err) == DET_OK, "broadcast");
  size_t length;
  memcpy(home, det_messages_data(messages, 0, &length), size);
  det_messages_free(messages);
}

static void write_file(const char *directory, const char *name, int number) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "w");
  check(file != NULL && fprintf(file, "%d", number) > 0 && fclose(file) == 0, "writing a file");
}

static void describe_bucket(char *storage, size_t size) {
  const char *names[] = {"BUCKET", "ENDPOINT", "ACCESS_KEY", "SECRET_KEY"}, *found[4];
  for (int i = 0; i < 4; ++i) {
    char variable[64];
    snprintf(variable, sizeof variable, "DET_TEST_S3_%s", names[i]);
    found[i] = getenv(variable);
    check(found[i] != NULL, variable);
  }
  snprintf(storage, size,
           "{\"type\": \"s3\", \"bucket\": \"%s\", \"endpoint_url\": \"%s\", "
           "\"access_key\": \"%s\", \"secret_key\": \"%s\"}",
           found[0], found[1], found[2], found[3]);
}

/* Gives a ticket where it is saved in the background. */
static det_checkpoint_ticket *save(det_checkpoint_context *checkpoint, int number, char *id) {
  char metadata[64], name[32];
  det_checkpoint_options options = DET_CHECKPOINT_OPTIONS_INIT;
  det_checkpoint_writer *store;
  det_checkpoint_ticket *ticket = NULL;
  options.shard = 1;
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %d}", number);
  snprintf(name, sizeof name, "part%d", (int)rank);
  check(det_checkpoint_writer_begin(checkpoint, metadata, &options, &store, &err) == DET_OK,
        "begin");
  write_file(det_checkpoint_writer_path(store), name, number);
  strcpy(id, det_checkpoint_writer_id(store));
  if (into_bucket) check(det_checkpoint_writer_commit(store, &err) == DET_OK, "commit");
  else check(det_checkpoint_writer_commit_async(store, &ticket, &err) == DET_OK, "commit");
  det_checkpoint_writer_free(store);
  return ticket;
}

int main(int argc, char **argv) {
  char home[] = "/tmp/detcore-mpi-XXXXXX", command[64];
  det_distributed_context *job;
  det_core_options options = DET_CORE_OPTIONS_INIT;
  det_core *core;
  det_messages *messages;
  det_checkpoint_ticket *tickets[saves];
  det_checkpoint_reader *restore;
  struct stat about;
  char copy[200], path[256], storage[1024], ids[saves][64];

  MPI_Init(&argc, &argv);
  check(det_distributed_from_mpi_world(&job, &err) == DET_OK, "joining");
  rank = det_distributed_rank(job);
  make_home(job, home, sizeof home);
  options.master = home;
  into_bucket = argc > 1 && strcmp(argv[1], "bucket") == 0;
  if (into_bucket) {
    describe_bucket(storage, sizeof storage);
    options.checkpoint_storage = storage;
  }
  options.distributed = job;
  check(det_core_init(&options, &core, &err) == DET_OK, "starting");
  for (int i = 0; i < saves; ++i) {
    tickets[i] = save(det_core_checkpoint(core), i, ids[i]);
    for (int j = 0; j < 100; ++j) { /* the training's own */
      check(det_distributed_allgather(job, &i, sizeof i, &messages, &err) == DET_OK, "allgather");
      det_messages_free(messages);
    }
  }
  for (int i = 0; i < saves; ++i)
    check(tickets[i] == NULL ||
              det_checkpoint_ticket_wait(tickets[i], DET_TIMEOUT_INFINITE, &err) == DET_OK,
          "waiting");
  check(det_checkpoint_reader_open(det_core_checkpoint(core), ids[saves - 1], NULL, &restore,
                                   &err) == DET_OK,
        "restoring");
  snprintf(copy, sizeof copy, "%s", det_checkpoint_reader_path(restore));
  if (rank == 0) det_checkpoint_reader_free(restore); /* which takes nothing from the others */
  check(det_distributed_allgather(job, NULL, 0, &messages, &err) == DET_OK, "the chief let go");
  det_messages_free(messages);
  for (int32_t other = 0; rank != 0 && other < det_distributed_size(job); ++other) {
    snprintf(path, sizeof path, "%s/part%d", copy, (int)other);
    check(stat(path, &about) == 0, "every rank's file is there");
  }
  check(det_distributed_allgather(job, NULL, 0, &messages, &err) == DET_OK, "all have read");
  det_messages_free(messages);
  if (rank != 0) det_checkpoint_reader_free(restore);
  check(det_distributed_allgather(job, NULL, 0, &messages, &err) == DET_OK, "all let go");
  det_messages_free(messages);
  check(!into_bucket || stat(copy, &about) != 0, "the last one takes the copy along");
  for (int i = 0; i < saves; ++i) det_checkpoint_ticket_free(tickets[i]);
  check(det_core_close(core, DET_OUTCOME_OK, &err) == DET_OK, "closing");
  det_core_free(core);
  check(det_distributed_allgather(job, NULL, 0, &messages, &err) == DET_OK, "all have closed");
  det_messages_free(messages);
  det_distributed_free(job);
  snprintf(command, sizeof command, "rm -rf '%s'", home);
  check(rank != 0 || system(command) == 0, "clearing up");
  MPI_Finalize();
  return 0;
}

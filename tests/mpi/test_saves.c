/* Checkpoints that all ranks of an MPI job save in the background, beside collectives of their own.
 * Each failed check says so and ends the job with status 1. */
#include <det/core.h>
#include <det/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { saves = 5 };

static int32_t rank;
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

static det_checkpoint_ticket *save(det_checkpoint_context *checkpoint, int number) {
  char metadata[64], name[32];
  det_checkpoint_options options = DET_CHECKPOINT_OPTIONS_INIT;
  det_checkpoint_writer *store;
  det_checkpoint_ticket *ticket;
  options.shard = 1;
  snprintf(metadata, sizeof metadata, "{\"steps_completed\": %d}", number);
  snprintf(name, sizeof name, "part%d", (int)rank);
  check(det_checkpoint_store_begin(checkpoint, metadata, &options, &store, &err) == DET_OK,
        "begin");
  write_file(det_checkpoint_store_path(store), name, number);
  check(det_checkpoint_store_commit_async(store, &ticket, &err) == DET_OK, "commit");
  det_checkpoint_store_free(store);
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
  char path[256];

  MPI_Init(&argc, &argv);
  check(det_distributed_from_mpi_world(&job, &err) == DET_OK, "joining");
  rank = det_distributed_rank(job);
  make_home(job, home, sizeof home);
  options.master = home;
  options.distributed = job;
  check(det_core_init(&options, &core, &err) == DET_OK, "starting");
  for (int i = 0; i < saves; ++i) {
    tickets[i] = save(det_core_checkpoint(core), i);
    for (int j = 0; j < 100; ++j) { /* the training's own */
      check(det_distributed_allgather(job, &i, sizeof i, &messages, &err) == DET_OK, "allgather");
      det_messages_free(messages);
    }
  }
  for (int i = 0; i < saves; ++i)
    check(det_checkpoint_ticket_wait(tickets[i], DET_TIMEOUT_INFINITE, &err) == DET_OK, "waiting");
  check(det_checkpoint_restore_begin(det_core_checkpoint(core),
                                     det_checkpoint_ticket_id(tickets[saves - 1]), NULL, &restore,
                                     &err) == DET_OK,
        "restoring");
  for (int32_t other = 0; other < det_distributed_size(job); ++other) {
    snprintf(path, sizeof path, "%s/part%d", det_checkpoint_restore_path(restore), (int)other);
    check(stat(path, &about) == 0, "every rank's file is there");
  }
  det_checkpoint_restore_free(restore);
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

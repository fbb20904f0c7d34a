/* A job over MPI: launched by mpirun with any number of ranks. Each failed check says so and ends
 * the job with status 1. */
#include <det/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int32_t rank, size;

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "rank %d of %d: not so: %s\n", (int)rank, (int)size, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* As many bytes as rank and round say, all the same. */
static size_t length_of(int32_t from, int round) {
  static const size_t lengths[] = {0, 1, 1000, 8168, 8169, 20000, 3000000};
  return lengths[(size_t)(from + round) % (sizeof lengths / sizeof *lengths)];
}

static int is_message_of(const det_messages *messages, size_t index, int32_t from, int round) {
  size_t length = 0;
  const char *data = det_messages_data(messages, index, &length);
  if (length != length_of(from, round)) return 0;
  for (size_t i = 0; i < length; ++i)
    if (data[i] != 'a' + from) return 0;
  return data != NULL;
}

static void every_collective(det_distributed_context *job, char *buffer) {
  det_error err;
  det_messages *messages;
  for (int round = 0; round < 14; ++round) {
    const size_t length = length_of(rank, round);
    memset(buffer, 'a' + rank, length);
    check(det_distributed_allgather(job, buffer, length, &messages, &err) == DET_OK, err.message);
    check(det_messages_count(messages) == (size_t)size, "allgather gives one message a rank");
    for (int32_t from = 0; from < size; ++from)
      check(is_message_of(messages, (size_t)from, from, round), "allgather");
    det_messages_free(messages);

    check(det_distributed_broadcast(job, buffer, length, &messages, &err) == DET_OK, err.message);
    check(is_message_of(messages, 0, 0, round), "broadcast");
    det_messages_free(messages);

    check(det_distributed_gather(job, buffer, length, &messages, &err) == DET_OK, err.message);
    check((messages != NULL) == (rank == 0), "gather gives the chief alone a list");
    for (int32_t from = 0; messages != NULL && from < size; ++from)
      check(is_message_of(messages, (size_t)from, from, round), "gather");
    det_messages_free(messages);

    check(det_distributed_allgather_local(job, buffer, length, &messages, &err) == DET_OK,
          err.message);
    check(is_message_of(messages, (size_t)rank, rank, round), "allgather_local");
    det_messages_free(messages);
    check(det_distributed_broadcast_local(job, buffer, length, &messages, &err) == DET_OK,
          err.message);
    check(is_message_of(messages, 0, 0, round), "broadcast_local");
    det_messages_free(messages);
  }
  check(det_distributed_allgather(job, NULL, 0, &messages, &err) == DET_OK, err.message);
  check(det_messages_data(messages, 0, NULL) == NULL, "null stays null");
  det_messages_free(messages);
}

static void many_broadcasts_to_a_rank_that_sleeps(det_distributed_context *job) {
  det_error err;
  det_messages *messages;
  if (rank == size - 1) usleep(300000);
  for (int i = 0; i < 10000; ++i) {
    check(det_distributed_broadcast(job, &i, sizeof i, &messages, &err) == DET_OK, err.message);
    check(memcmp(det_messages_data(messages, 0, NULL), &i, sizeof i) == 0, "in order");
    det_messages_free(messages);
  }
  /* A failure that the others come to meanwhile would be this rank's too. */
  check(det_distributed_allgather(job, NULL, 0, &messages, &err) == DET_OK, err.message);
  det_messages_free(messages);
}

static void a_mismatch_names_both_calls(det_distributed_context *job) {
  det_error err;
  det_messages *messages;
  det_status status;
  if (size == 1) return;
  do
    status = rank == 1 ? det_distributed_allgather(job, "x", 1, &messages, &err)
                       : det_distributed_broadcast(job, "x", 1, &messages, &err);
  while (status == DET_OK && (det_messages_free(messages), 1));
  check(status == DET_E_CONFLICT, err.message);
  check(strstr(err.message, "allgather (call") && strstr(err.message, "broadcast (call"),
        err.message);
}

/* Nothing of a handle that is gone reaches the next one. */
static void many_handles_one_after_the_other(void) {
  det_error err;
  det_messages *messages;
  for (int i = 0; i < 20; ++i) {
    det_distributed_context *job;
    check(det_distributed_from_mpi_world(&job, &err) == DET_OK, err.message);
    for (int round = 0; round < 5; ++round) {
      check(det_distributed_allgather(job, &rank, sizeof rank, &messages, &err) == DET_OK,
            err.message);
      det_messages_free(messages);
    }
    det_distributed_free(job);
  }
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  det_distributed_context *job;
  det_error err;
  /* "host" initialises MPI itself, "library" leaves that to the library, "env" knows no MPI. */
  const int is_host = strcmp(mode, "host") == 0;
  if (is_host) MPI_Init(&argc, &argv);
  const det_status joined = strcmp(mode, "env") == 0 ? det_distributed_from_env(&job, &err)
                                                     : det_distributed_from_mpi_world(&job, &err);
  if (joined != DET_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  int world_rank, world_size;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  rank = det_distributed_rank(job);
  size = det_distributed_size(job);
  check(rank == world_rank && size == world_size, "the ranks of MPI");
  check(det_distributed_local_size(job) == size && det_distributed_local_rank(job) == rank,
        "ranks that share memory are of one machine");
  check(det_distributed_cross_rank(job) == 0 && det_distributed_cross_size(job) == 1, "a machine");

  char *buffer = malloc(3000000);
  every_collective(job, buffer);
  many_broadcasts_to_a_rank_that_sleeps(job);
  free(buffer);
  if (is_host) {
    a_mismatch_names_both_calls(job); /* a job that failed is not finalised before exit() */
    many_handles_one_after_the_other();
  }
  det_distributed_free(job);

  int finalized = 0;
  MPI_Finalized(&finalized);
  check(finalized == !is_host, "whoever initialised MPI finalises it");
  if (is_host) MPI_Finalize();
  check(det_distributed_from_mpi_world(&job, &err) == DET_E_STATE, "no job after MPI's end");
  return 0;
}

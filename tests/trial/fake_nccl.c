/* An NCCL that has no device: it adds up what the fake driver has, over the processes of a machine,
 * in memory that they share and in the order of their ranks. As the real one does, it returns
 * before anything is done, waits in the stream that it is given, and never ends where a rank is
 * gone. FAKE_NCCL_FAIL_AT and FAKE_NCCL_DIE_AT are numbers, from 1, of a sum that fails on this
 * rank, and FAKE_NCCL_VERSION what it says it is. */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/tensors/fake_cuda.h"

enum { most_ranks = 8, largest = 1 << 20 };
enum { success = 0, system_error = 2, invalid_argument = 4, remote_error = 6, in_progress = 7 };
enum { f32 = 7, f64 = 8, average = 4 };

struct shared {
  atomic_int joined, left, aborted;
  atomic_uint given[most_ranks];      /* sums that a rank has given its part of */
  char parts[2][most_ranks][largest]; /* of sums with an even and an odd number */
};

struct communicator {
  struct shared *shared;
  struct communicator *before; /* that was aborted */
  atomic_int is_aborted;
  int rank, size, has_left, is_settled;
  int sums_asked;
  unsigned sums_begun;
};

struct sum {
  struct communicator *in;
  char *data;
  size_t count;
  int dtype, is_given;
  unsigned number;
};

struct id {
  char name[128];
};
struct config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

int ncclGetVersion(int *version) {
  const char *said = getenv("FAKE_NCCL_VERSION");
  *version = said != NULL ? atoi(said) : 22304;
  return success;
}

const char *ncclGetErrorString(int result) {
  return result == remote_error   ? "remote process exited or there was a network error"
         : result == system_error ? "unhandled system error"
                                  : "another error";
}

int ncclGetUniqueId(struct id *id) {
  static int made;
  memset(id->name, 0, sizeof id->name);
  snprintf(id->name, sizeof id->name, "/fake-nccl-%d-%d", (int)getpid(), made++);
  const int fd = shm_open(id->name, O_CREAT | O_EXCL | O_RDWR, 0600);
  const int failed = fd < 0 || ftruncate(fd, sizeof(struct shared)) != 0;
  if (fd >= 0) close(fd);
  return failed ? system_error : success;
}

int ncclCommInitRankConfig(struct communicator **made, int size, struct id id, int rank,
                           const struct config *config) {
  if (config->size != sizeof *config || config->magic != 0xcafebeef || config->blocking != 0)
    return invalid_argument;
  const int fd = shm_open(id.name, O_RDWR, 0600);
  if (fd < 0) return system_error;
  void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  *made = calloc(1, sizeof **made);
  if (memory == MAP_FAILED || *made == NULL || size > most_ranks) return system_error;
  (*made)->shared = memory;
  (*made)->rank = rank;
  (*made)->size = size;
  if (atomic_fetch_add(&(*made)->shared->joined, 1) + 1 == size) shm_unlink(id.name);
  return in_progress;
}

int ncclCommGetAsyncError(struct communicator *in, int *error) {
  struct shared *shared = in->shared;
  const int is_alone = in->has_left ? shared->left < in->size : shared->joined < in->size;
  if (shared->aborted != 0) *error = remote_error;
  else if (is_alone || !in->is_settled) *error = in_progress;
  else *error = success;
  in->is_settled = 1; /* the second time, at the soonest */
  return success;
}

#define ADD(type)                                                                    \
  for (size_t i = 0; i < count; ++i) {                                               \
    type total = 0;                                                                  \
    for (int rank = 0; rank < size; ++rank) total += ((const type *)parts[rank])[i]; \
    ((type *)data)[i] = total / (type)size;                                          \
  }
static void add_up(char parts[][largest], int size, void *data, size_t count, int dtype) {
  if (dtype == f32) ADD(float) else ADD(double)
}

static int add(void *argument) {
  struct sum *sum = argument;
  struct communicator *in = sum->in;
  struct shared *shared = in->shared;
  const size_t bytes = sum->count * (sum->dtype == f32 ? sizeof(float) : sizeof(double));
  if (in->is_aborted) {
    free(sum);
    return 1;
  }
  if (!sum->is_given) {
    memcpy(shared->parts[sum->number % 2][in->rank], sum->data, bytes);
    atomic_store(&shared->given[in->rank], sum->number + 1);
    sum->is_given = 1;
  }
  for (int rank = 0; rank < in->size; ++rank)
    if (atomic_load(&shared->given[rank]) < sum->number + 1) return 0;
  add_up(shared->parts[sum->number % 2], in->size, sum->data, sum->count, sum->dtype);
  free(sum);
  return 1;
}

static int is_number(const char *variable, int number) {
  const char *value = getenv(variable);
  return value != NULL && atoi(value) == number;
}

int ncclAllReduce(const void *from, void *to, size_t count, int dtype, int operation,
                  struct communicator *in, void *stream) {
  char *data = fake_cuda_at(to);
  const int is_known = dtype == f32 || dtype == f64;
  const size_t bytes = count * (dtype == f32 ? sizeof(float) : sizeof(double));
  if (from != to || data == NULL || operation != average || !is_known || bytes > largest)
    return invalid_argument;
  ++in->sums_asked;
  if (is_number("FAKE_NCCL_FAIL_AT", in->sums_asked)) return system_error;
  if (is_number("FAKE_NCCL_DIE_AT", in->sums_asked)) raise(SIGKILL);
  struct sum *sum = calloc(1, sizeof *sum);
  if (sum == NULL) return system_error;
  *sum = (struct sum){in, data, count, dtype, 0, in->sums_begun++};
  in->is_settled = 0;
  return fake_cuda_give(stream, add, sum) == 0 ? in_progress : system_error;
}

int ncclCommFinalize(struct communicator *in) {
  in->has_left = 1;
  atomic_fetch_add(&in->shared->left, 1);
  return in_progress;
}

int ncclCommDestroy(struct communicator *in) {
  munmap(in->shared, sizeof(struct shared));
  free(in);
  return success;
}

/* Stays: what is queued looks at it. */
int ncclCommAbort(struct communicator *in) {
  static struct communicator *aborted;
  in->before = aborted;
  aborted = in;
  in->is_aborted = 1;
  if (!in->has_left) atomic_store(&in->shared->aborted, 1);
  return success;
}

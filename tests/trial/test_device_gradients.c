/* Gradients of CUDA devices over ranks that are processes, by a driver and an NCCL of the tests'
 * own. usage: test_device_gradients SCENARIO NCCL [RANKS]; with RANKS it starts so many processes
 * itself, else each of them is started by mpirun. A check that fails says so and ends its process
 * with status 1. */
#include <det/distributed.h>
#include <det/trial_gradients.h>
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/free_port.h"
#include "tests/patience.h"
#include "tests/tensors/fake_cuda.h"

enum { tensors = 4, largest = 5000, buckets = 3 };
static const size_t counts[tensors] = {3000, 0, largest, 700};
/* From the last on: 700 by itself, 5000, 3000. */
static const size_t threshold = 20000;

static int32_t rank, size;
static det_distributed_context *job;
static det_error err = DET_ERROR_INIT;
static char *devices[tensors];
static int is_last_to_have_host_memory;

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "rank %d of %d: not so: %s (%s)\n", (int)rank, (int)size, what, err.message);
  _exit(1);
}

static int is_on_host(int tensor) {
  return is_last_to_have_host_memory && rank == size - 1 && tensor == 2;
}

static float *values_of(int tensor) {
  return (float *)(is_on_host(tensor) ? devices[tensor] : fake_cuda_at(devices[tensor]));
}

static float element(int of_rank, int period, int tensor, size_t at) {
  return (float)sin((double)at * 0.7 + of_rank * 31 + period * 7 + tensor);
}

static void fill(int period) {
  for (int i = 0; i < tensors; ++i)
    for (size_t at = 0; at < counts[i]; ++at) values_of(i)[at] = element(rank, period, i, at);
}

/* Added up in the order of the ranks, which both ways do here. */
static void check_means(int period, int tensor) {
  for (size_t at = 0; at < counts[tensor]; ++at) {
    float expected = 0;
    for (int of = 0; of < size; ++of) expected += element(of, period, tensor, at);
    expected /= (float)size;
    check(values_of(tensor)[at] == expected, "the mean");
  }
}

static det_status create(int32_t reduction, int32_t complete, det_trial_gradients **gradients) {
  det_trial_gradient registered[tensors];
  for (int i = 0; i < tensors; ++i) {
    registered[i] = (det_trial_gradient)DET_TRIAL_GRADIENT_INIT;
    registered[i].count = counts[i];
  }
  det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
  options.reduction = reduction;
  options.gradients_are_complete = complete;
  options.tensor_fusion_threshold = threshold;
  return det_trial_gradients_create(job, registered, tensors, &options, gradients, &err);
}

static det_status add(det_trial_gradients *gradients, int tensor) {
  return det_trial_gradients_add(gradients, (size_t)tensor, devices[tensor], devices[tensor], &err);
}

static void add_from_last(det_trial_gradients *gradients) {
  for (int i = tensors - 1; i >= 0; --i) check(add(gradients, i) == DET_OK, "add");
}

static det_status step(det_trial_gradients *gradients) {
  int32_t apply = 0;
  const det_status status = det_trial_gradients_step(gradients, &apply, &err);
  check(status != DET_OK || apply == 1, "applied");
  return status;
}

static void meet(void) {
  det_messages *messages;
  check(det_distributed_allgather(job, "x", 1, &messages, &err) == DET_OK, "all ranks meet");
  det_messages_free(messages);
}

/* Of a whole training of some periods; how many sums NCCL was asked for. */
static int train(int32_t reduction, int32_t complete) {
  det_trial_gradients *gradients;
  const int before = fake_cuda.works;
  check(create(reduction, complete, &gradients) == DET_OK, "create");
  for (int period = 0; period < 4; ++period) {
    fill(period);
    add_from_last(gradients);
    check(step(gradients) == DET_OK, "step");
    for (int i = 0; i < tensors; ++i) check_means(period, i);
  }
  det_trial_gradients_free(gradients);
  check(fake_cuda.streams == 0 && fake_cuda.retained == 0 && fake_cuda.pinned == 0,
        "nothing of the device is left behind");
  return fake_cuda.works - before;
}

static void adds_up(void) {
  for (int32_t complete = 0; complete <= 1; ++complete) {
    check(train(DET_TRIAL_REDUCTION_AUTO, complete) == 4 * buckets, "by NCCL where it can be had");
    check(train(DET_TRIAL_REDUCTION_NCCL, complete) == 4 * buckets,
          "by NCCL where it is asked for");
    check(train(DET_TRIAL_REDUCTION_MESSAGES, complete) == 0, "in processes where asked for");
  }
}

/* What no rank adds stays as it is, and leaves nothing of an earlier period; what comes in memory
 * of the process, and goes there, later, is added up all the same. */
static void changes(void) {
  det_trial_gradients *gradients;
  float host[700], result[700];
  check(create(DET_TRIAL_REDUCTION_AUTO, 0, &gradients) == DET_OK, "create");
  check(step(gradients) == DET_OK, "a step of nothing");
  fill(0);
  add_from_last(gradients);
  check(step(gradients) == DET_OK && fake_cuda.works == buckets, "the first step of all");
  fill(1);
  for (size_t at = 0; at < counts[3]; ++at) host[at] = element(rank, 1, 3, at);
  check(det_trial_gradients_add(gradients, 3, host, result, &err) == DET_OK, "add");
  const int waits = fake_cuda.synchronized;
  check(add(gradients, 0) == DET_OK, "add");
  check(fake_cuda.synchronized == waits + 1, "what may be computed yet is waited for");
  check(step(gradients) == DET_OK && fake_cuda.works == 2 * buckets, "a step of some");
  check_means(1, 0);
  check(values_of(2)[9] == element(rank, 1, 2, 9), "what was not added is not written");
  check(host[9] == element(rank, 1, 3, 9), "what was added is not written");
  memcpy(values_of(3), result, sizeof result);
  check_means(1, 3);
  det_trial_gradients_free(gradients);
}

/* A bucket begins when it is full, whether or not the others have come to it. */
static void overlaps(void) {
  det_trial_gradients *gradients;
  check(create(DET_TRIAL_REDUCTION_NCCL, 1, &gradients) == DET_OK, "create");
  fill(0);
  add_from_last(gradients);
  check(step(gradients) == DET_OK && fake_cuda.works == buckets, "the first step");
  fill(1);
  const int waits = fake_cuda.synchronized;
  if (rank != 0) meet();
  static const int begun[tensors] = {3, 2, 2, 1}; /* after that tensor */
  for (int i = tensors - 1; i >= 0; --i) {
    check(add(gradients, i) == DET_OK, "add");
    check(fake_cuda.works == buckets + begun[i], "full buckets have begun, and no others");
  }
  check(fake_cuda.synchronized == waits, "what is complete is not waited for");
  if (rank == 0) meet();
  check(step(gradients) == DET_OK && fake_cuda.works == 2 * buckets, "the second step");
  for (int i = 0; i < tensors; ++i) check_means(1, i);
  det_trial_gradients_free(gradients);
}

static void expect(det_status code, det_status status, const char *text) {
  check(status == code, "the code of the error");
  check(strstr(err.message, text) != NULL, text);
}

/* In processes, unless it must not be: where the last rank has no NCCL it is known at once. */
static void is_refused(const char *why) {
  det_trial_gradients *gradients;
  check(train(DET_TRIAL_REDUCTION_AUTO, 0) == 0, "in processes");
  expect(DET_E_UNSUPPORTED, create(DET_TRIAL_REDUCTION_NCCL, 0, &gradients), why);
  check((strncmp(err.message, "rank ", 5) == 0) == (rank != size - 1), "which rank it is");
  meet();
}
static void is_without(void) { is_refused("libnccl.so.2 cannot be loaded"); }
static void is_too_old(void) { is_refused("libnccl.so.2 is of version 2804"); }

static void is_unfit(const char *why) {
  det_trial_gradients *gradients;
  check(train(DET_TRIAL_REDUCTION_AUTO, 0) == 0, "in processes");
  check(create(DET_TRIAL_REDUCTION_NCCL, 0, &gradients) == DET_OK, "create");
  add_from_last(gradients);
  expect(DET_E_UNSUPPORTED, step(gradients), why);
  det_trial_gradients_free(gradients);
  meet();
}

static void shares_device(void) {
  is_unfit(size == 2 ? "ranks 0 and 1 have the same CUDA device"
                     : "ranks 0 and 3 have the same CUDA device");
}
static void has_host_memory(void) {
  is_unfit(size == 2 ? "rank 1: some gradients are on a CUDA device and others are not"
                     : "rank 3: some gradients are on a CUDA device and others are not");
}

static void has_other_context(void) {
  is_unfit("gradients belong to another context of the CUDA device than its primary one");
}

/* The last rank's second sum fails: nobody waits for what never comes. A rank may hear of it when
 * it still connects. */
static void fails(void) {
  det_trial_gradients *gradients;
  check(create(DET_TRIAL_REDUCTION_AUTO, 1, &gradients) == DET_OK, "create");
  add_from_last(gradients);
  expect(DET_E_UNAVAILABLE, step(gradients), " by NCCL: NCCL answers ");
  check(step(gradients) == DET_E_STATE, "it stays failed");
  det_trial_gradients_free(gradients);
}

static void expect_loss(det_status status) {
  check(status == DET_E_UNAVAILABLE || status == DET_E_TIMEOUT, "an error in time");
}

/* The last rank is killed in the step, before it gives its part of the second sum. */
static void dies_in_step(void) {
  det_trial_gradients *gradients;
  check(create(DET_TRIAL_REDUCTION_AUTO, 1, &gradients) == DET_OK, "create");
  add_from_last(gradients);
  expect_loss(step(gradients));
  check(fake_cuda.works == buckets, "sums were on their way");
  det_trial_gradients_free(gradients);
}

/* The last rank is killed while the others wait for its part, in adding what a queue of the device
 * may still compute. */
static void dies_in_add(void) {
  det_trial_gradients *gradients;
  check(create(DET_TRIAL_REDUCTION_AUTO, 0, &gradients) == DET_OK, "create");
  add_from_last(gradients);
  check(step(gradients) == DET_OK && fake_cuda.works == buckets, "the first step");
  if (rank == size - 1) raise(SIGKILL);
  check(add(gradients, 3) == DET_OK, "nothing is on its way yet");
  expect_loss(add(gradients, 2));
  det_trial_gradients_free(gradients);
}

/* The last rank lacks a gradient: an error that names it, though others wait for its sum. */
static void differs(void) {
  det_trial_gradients *gradients;
  check(create(DET_TRIAL_REDUCTION_AUTO, 0, &gradients) == DET_OK, "create");
  add_from_last(gradients);
  check(step(gradients) == DET_OK && fake_cuda.works == buckets, "the first step");
  for (int i = tensors - 1; i >= 0; --i)
    if (rank != size - 1 || i != 3) check(add(gradients, i) == DET_OK, "add");
  expect(DET_E_CONFLICT, step(gradients), "added gradient 3");
  det_trial_gradients_free(gradients);
  meet();
}

/* Freed with sums on their way, the job goes on. */
static void leaves(void) {
  det_trial_gradients *gradients;
  check(create(DET_TRIAL_REDUCTION_AUTO, 1, &gradients) == DET_OK, "create");
  add_from_last(gradients);
  check(step(gradients) == DET_OK && fake_cuda.works == buckets, "the first step");
  meet();
  if (rank == 0) check(add(gradients, 3) == DET_OK, "add");
  det_trial_gradients_free(gradients);
  check(fake_cuda.streams == 0 && fake_cuda.retained == 0, "nothing is left behind");
  meet();
}

static const struct {
  const char *name;
  void (*run)(void);
} scenarios[] = {
    {"adds up", adds_up},
    {"changes", changes},
    {"overlaps", overlaps},
    {"is without", is_without},
    {"is too old", is_too_old},
    {"shares device", shares_device},
    {"has host memory", has_host_memory},
    {"has other context", has_other_context},
    {"fails", fails},
    {"dies in step", dies_in_step},
    {"dies in add", dies_in_add},
    {"differs", differs},
    {"leaves", leaves},
};

static int run(const char *scenario, const char *nccl) {
  rank = det_distributed_rank(job);
  size = det_distributed_size(job);
  const int is_last = rank == size - 1;
  is_last_to_have_host_memory = strcmp(scenario, "has host memory") == 0;
  fake_cuda.without_context = !is_last || strcmp(scenario, "has other context") != 0;
  fake_cuda.device = is_last && strcmp(scenario, "shares device") == 0 ? 1 : rank + 1;
  if (is_last && strcmp(scenario, "is too old") == 0) setenv("FAKE_NCCL_VERSION", "2804", 1);
  if (is_last && strcmp(scenario, "fails") == 0) setenv("FAKE_NCCL_FAIL_AT", "2", 1);
  if (is_last && strcmp(scenario, "dies in step") == 0) setenv("FAKE_NCCL_DIE_AT", "2", 1);
  if (!is_last || strcmp(scenario, "is without") != 0)
    check(dlopen(nccl, RTLD_NOW | RTLD_GLOBAL) != NULL, dlerror());
  for (int i = 0; i < tensors; ++i) {
    const size_t bytes = (counts[i] + 1) * sizeof(float);
    devices[i] = is_on_host(i) ? calloc(1, bytes) : fake_cuda_alloc_more(bytes);
  }
  fill(0);
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i)
    if (strcmp(scenarios[i].name, scenario) == 0) {
      scenarios[i].run();
      det_distributed_free(job);
      return 0;
    }
  check(0, "a scenario of that name");
  return 1;
}

/* One of the processes that this one starts. */
static int run_rank(int32_t number, int32_t ranks, int32_t port, char **arguments) {
  det_distributed_options options = DET_DISTRIBUTED_OPTIONS_INIT;
  options.rank = options.local_rank = number;
  options.size = options.local_size = ranks;
  options.cross_rank = 0;
  options.cross_size = 1;
  options.pub_port = port;
  options.timeout_ms = strncmp(arguments[1], "dies", 4) == 0 ? 3000 : TEST_PATIENCE_MS;
  check(det_distributed_create(&options, &job, &err) == DET_OK, "joining");
  return run(arguments[1], arguments[2]);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  if (strcmp(argv[1], "is without") == 0 && dlopen("libnccl.so.2", RTLD_LAZY) != NULL) {
    puts("this machine has NCCL");
    return 77;
  }
  const int ranks = argc > 3 ? atoi(argv[3]) : 0;
  if (ranks == 0) {
    check(det_distributed_from_env(&job, &err) == DET_OK, "joining");
    return run(argv[1], argv[2]);
  }
  const int32_t port = free_port();
  pid_t processes[8];
  for (int i = 0; i < ranks; ++i) {
    processes[i] = fork();
    if (processes[i] == 0) return run_rank(i, ranks, port, argv);
  }
  int failed = 0;
  for (int i = 0; i < ranks; ++i) {
    int status = 0;
    waitpid(processes[i], &status, 0);
    const int was_to_die = i == ranks - 1 && strncmp(argv[1], "dies", 4) == 0;
    failed |= was_to_die ? !WIFSIGNALED(status) : status != 0;
  }
  return failed;
}

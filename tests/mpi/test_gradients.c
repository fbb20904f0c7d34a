/* Gradients over MPI: launched by mpirun with any number of ranks. In every way that there is, with
 * MPI's own sums among them. Each failed check says so and ends the job with status 1. */
#include <det/mpi.h>
#include <det/trial_gradients.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { tensors = 3, largest = 20000, periods = 3 };
static const size_t counts[tensors] = {5, largest, 777};

static int32_t rank, size;
static det_error err = DET_ERROR_INIT;

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "rank %d of %d: not so: %s (%s)\n", (int)rank, (int)size, what, err.message);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double element(int from, int batch, int tensor, size_t at) {
  return sin((double)(at % 1013) * 0.7 + from * 31 + batch * 7 + tensor);
}

static void expect_the_same_everywhere(det_distributed_context *job, const void *data,
                                       size_t bytes) {
  det_messages *messages;
  check(det_distributed_allgather(job, data, bytes, &messages, &err) == DET_OK, "allgather");
  for (int32_t from = 0; from < size; ++from) {
    size_t length;
    const void *theirs = det_messages_data(messages, (size_t)from, &length);
    check(length == bytes && memcmp(theirs, data, bytes) == 0, "the same bits on all ranks");
  }
  det_messages_free(messages);
}

static double value_of(const void *data, det_dtype dtype, size_t at) {
  return dtype == DET_DTYPE_F64 ? ((const double *)data)[at] : (double)((const float *)data)[at];
}

static void set_value(void *data, det_dtype dtype, size_t at, double value) {
  if (dtype == DET_DTYPE_F64) ((double *)data)[at] = value;
  else ((float *)data)[at] = (float)value;
}

/* Gradients are copied from arrays of their own, or computed where they are added up, if there is
 * such a place. */
static void train(det_distributed_context *job, const det_trial_gradients_options *options,
                  det_dtype dtype, int in_place) {
  const int frequency = options->aggregation_frequency;
  const double tolerance = options->gradient_compression ? 2e-3 : 1e-6;
  const size_t width = dtype == DET_DTYPE_F64 ? sizeof(double) : sizeof(float);
  det_trial_gradient registered[tensors];
  void *data[tensors], *own[tensors];
  for (int i = 0; i < tensors; ++i) {
    registered[i] = (det_trial_gradient)DET_TRIAL_GRADIENT_INIT;
    registered[i].count = counts[i];
    registered[i].dtype = dtype;
    data[i] = own[i] = malloc(counts[i] * width);
  }
  det_trial_gradients *gradients;
  check(det_trial_gradients_create(job, registered, tensors, options, &gradients, &err) == DET_OK,
        "create");
  char *memory = NULL;
  size_t bytes = 0;
  if (in_place) {
    check(det_trial_gradients_memory(gradients, (void **)&memory, &bytes, &err) == DET_OK,
          "memory");
    const int copies = size == 1 || frequency > 1 || options->gradient_compression;
    check(!copies || memory == NULL, "no place where gradients are copied");
    check(copies || options->reduction == DET_TRIAL_REDUCTION_AUTO || memory != NULL, "a place");
  }
  for (int i = 0; memory != NULL && i < tensors; ++i) {
    data[i] = memory;
    memory += (counts[i] * width + 63) / 64 * 64;
  }
  for (int batch = 0; batch < periods * frequency; ++batch) {
    int32_t apply;
    for (int i = tensors - 1; i >= 0; --i) {
      for (size_t at = 0; at < counts[i]; ++at)
        set_value(data[i], dtype, at, element(rank, batch, i, at));
      check(det_trial_gradients_add(gradients, (size_t)i, data[i], data[i], &err) == DET_OK, "add");
    }
    check(det_trial_gradients_step(gradients, &apply, &err) == DET_OK, "step");
    check(apply == (batch % frequency == frequency - 1), "applied at the end of a period");
    for (int i = 0; apply && i < tensors; ++i) {
      for (size_t at = 0; at < counts[i]; ++at) {
        double expected = 0;
        for (int from = 0; from < size; ++from)
          for (int of = batch - frequency + 1; of <= batch; ++of)
            expected += element(from, of, i, at);
        expected /= size * (options->average_aggregated_gradients ? frequency : 1);
        check(fabs(value_of(data[i], dtype, at) - expected) <= tolerance, "the mean");
      }
      expect_the_same_everywhere(job, data[i], counts[i] * width);
    }
  }
  det_trial_gradients_free(gradients);
  for (int i = 0; i < tensors; ++i) free(own[i]);
}

/* As a framework does it that computes gradients on threads of its own. */
static void *train_by_mpi(void *job) {
  det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
  options.reduction = DET_TRIAL_REDUCTION_TRANSPORT;
  train(job, &options, DET_DTYPE_F32, 1);
  return NULL;
}

static void train_on_another_thread(det_distributed_context *job) {
  int level;
  MPI_Query_thread(&level);
  check(level >= MPI_THREAD_SERIALIZED, "other threads may call MPI");
  pthread_t thread;
  check(pthread_create(&thread, NULL, train_by_mpi, job) == 0, "a thread");
  pthread_join(thread, NULL);
}

/* A bucket that one rank has begun to sum and another has not is no trap. */
static void expect_a_difference(det_distributed_context *job, det_trial_gradients_options options) {
  det_trial_gradient registered[2] = {DET_TRIAL_GRADIENT_INIT, DET_TRIAL_GRADIENT_INIT};
  float value = 1;
  int32_t apply;
  registered[0].count = registered[1].count = 1;
  options.aggregation_frequency = 1;
  options.tensor_fusion_threshold = 1;
  det_trial_gradients *gradients;
  check(det_trial_gradients_create(job, registered, 2, &options, &gradients, &err) == DET_OK,
        "create");
  check(det_trial_gradients_add(gradients, rank == 0 ? 1 : 0, &value, &value, &err) == DET_OK,
        "add");
  check(det_trial_gradients_step(gradients, &apply, &err) == DET_E_CONFLICT, "a conflict");
  check(strstr(err.message, "added gradient") != NULL, "which gradient it is");
  det_trial_gradients_free(gradients);
}

/* What one rank gives wrongly, in C already, no other waits for. */
static void expect_a_refusal(det_distributed_context *job) {
  det_trial_gradient registered = DET_TRIAL_GRADIENT_INIT;
  det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
  if (rank == size - 1) options.struct_size = 0;
  det_trial_gradients *gradients;
  char *averages;
  check(
      det_trial_gradients_create(job, &registered, 1, &options, &gradients, &err) == DET_E_INVALID,
      "a refusal");
  check(strstr(err.message, "options.struct_size") != NULL, "why");
  check(det_trial_average_metrics(job, "{}", NULL, rank == size - 1 ? NULL : &averages, &err) ==
            DET_E_INVALID,
        "a refusal of metrics");
  check(strstr(err.message, "out_json") != NULL, "why");
}

static uint16_t short_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

/* More than MPI gets in one piece, in two formats. All numbers in it are exact. */
static void sum_in_pieces(det_distributed_context *job) {
  enum { longest = 1500007 };
  det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
  options.reduction = DET_TRIAL_REDUCTION_TRANSPORT;
  det_trial_gradient registered[2] = {DET_TRIAL_GRADIENT_INIT, DET_TRIAL_GRADIENT_INIT};
  registered[0].count = registered[1].count = longest;
  registered[1].dtype = DET_DTYPE_BF16;
  float *floats = malloc(longest * sizeof *floats);
  uint16_t *shorts = malloc(longest * sizeof *shorts);
  for (size_t at = 0; at < longest; ++at) {
    floats[at] = (float)(at % 5) + (float)(rank + 1);
    shorts[at] = short_of(floats[at]);
  }
  det_trial_gradients *gradients;
  int32_t apply;
  check(det_trial_gradients_create(job, registered, 2, &options, &gradients, &err) == DET_OK,
        "create");
  check(det_trial_gradients_add(gradients, 1, shorts, shorts, &err) == DET_OK, "add shorts");
  check(det_trial_gradients_add(gradients, 0, floats, floats, &err) == DET_OK, "add floats");
  check(det_trial_gradients_step(gradients, &apply, &err) == DET_OK, "step");
  for (size_t at = 0; at < longest; ++at) {
    const float mean = (float)(at % 5) + (float)(size + 1) / 2;
    check(floats[at] == mean && shorts[at] == short_of(mean), "the mean, exactly");
  }
  det_trial_gradients_free(gradients);
  free(floats);
  free(shorts);
}

/* Freed with sums on their way. */
static void leave_in_the_middle(det_distributed_context *job) {
  det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
  options.reduction = DET_TRIAL_REDUCTION_TRANSPORT;
  det_trial_gradient registered = DET_TRIAL_GRADIENT_INIT;
  registered.count = largest;
  float *data = calloc(largest, sizeof *data);
  det_trial_gradients *gradients;
  check(det_trial_gradients_create(job, &registered, 1, &options, &gradients, &err) == DET_OK,
        "create");
  check(det_trial_gradients_add(gradients, 0, data, data, &err) == DET_OK, "add");
  det_trial_gradients_free(gradients);
  free(data);
}

/* In more than one piece. */
static void broadcast_arrays(det_distributed_context *job) {
  const int64_t small_shape[] = {3}, large_shape[] = {5000, 1000};
  double small[] = {rank + 1, rank + 2, rank + 3};
  const size_t count = 5000000;
  float *large = malloc(count * sizeof *large);
  for (size_t i = 0; i < count; ++i) large[i] = (float)(i % 1013) + (float)rank;
  det_tensor arrays[2] = {DET_TENSOR_INIT, DET_TENSOR_INIT};
  arrays[0].name = "small";
  arrays[0].dtype = DET_DTYPE_F64;
  arrays[0].data = small;
  arrays[0].shape = small_shape;
  arrays[0].dimensions = 1;
  arrays[1].name = "large";
  arrays[1].dtype = DET_DTYPE_F32;
  arrays[1].data = large;
  arrays[1].shape = large_shape;
  arrays[1].dimensions = 2;
  check(det_trial_broadcast(job, arrays, 2, &err) == DET_OK, "broadcast");
  check(small[2] == 3 && large[count - 1] == (float)((count - 1) % 1013), "what rank 0 has");
  expect_the_same_everywhere(job, small, sizeof small);
  expect_the_same_everywhere(job, large, count * sizeof *large);
  if (rank == size - 1) arrays[1].dtype = DET_DTYPE_I32;
  if (size > 1)
    check(det_trial_broadcast(job, arrays, 2, &err) == DET_E_CONFLICT &&
              strstr(err.message, "'large' is F32 [5000, 1000] on rank 0 and I32") != NULL,
          "a conflict that names the array");
  free(large);
}

int main(void) {
  det_distributed_context *job;
  check(det_distributed_from_mpi_world(&job, &err) == DET_OK, "joining");
  rank = det_distributed_rank(job);
  size = det_distributed_size(job);
  for (int32_t way = DET_TRIAL_REDUCTION_AUTO; way <= DET_TRIAL_REDUCTION_MESSAGES; ++way) {
    for (int kind = 0; kind < 4; ++kind) {
      det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
      options.reduction = way;
      options.aggregation_frequency = kind % 2 == 0 ? 1 : 2;
      options.gradient_compression = kind / 2;
      options.average_aggregated_gradients = kind != 1;
      options.tensor_fusion_threshold = kind == 0 ? 0 : 4096;
      for (int in_place = 0; in_place < 2; ++in_place) {
        train(job, &options, DET_DTYPE_F32, in_place);
        train(job, &options, DET_DTYPE_F64, in_place);
      }
      if (size > 1) expect_a_difference(job, options);
    }
  }
  if (size > 1) sum_in_pieces(job);
  train_on_another_thread(job);
  broadcast_arrays(job);
  expect_a_refusal(job);
  if (size > 1) leave_in_the_middle(job);
  expect_the_same_everywhere(job, "end", 3); /* the job goes on */
  det_distributed_free(job);
  return 0;
}

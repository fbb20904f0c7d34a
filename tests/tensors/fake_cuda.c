#include "tests/tensors/fake_cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Far from all memory of the process. */
#define FIRST_ADDRESS 0x7000000000000000ULL

struct stream {
  void *to;
  const void *from;
  size_t size; /* 0: nothing to do */
};

struct fake_cuda_state fake_cuda;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *memory;
static size_t memory_size;
static int pending, own_context, primary_context;
static __thread void *current;

char *fake_cuda_alloc(size_t size) {
  memory = calloc(1, size);
  memory_size = size;
  return (char *)FIRST_ADDRESS;
}
char *fake_cuda_bytes(void) { return memory; }
void fake_cuda_free(void) {
  free(memory);
  memory = NULL;
  memory_size = 0;
  memset(&fake_cuda, 0, sizeof fake_cuda);
}

static int is_device(unsigned long long address, size_t size) {
  return address >= FIRST_ADDRESS && address - FIRST_ADDRESS + size <= memory_size;
}

static int add(int *count, int change) {
  pthread_mutex_lock(&mutex);
  *count += change;
  const int now = *count;
  pthread_mutex_unlock(&mutex);
  return now;
}

int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }

int cuPointerGetAttribute(void *value, int attribute, unsigned long long pointer) {
  if (!is_device(pointer, 1)) return 1;
  if (attribute == 1) *(void **)value = fake_cuda.without_context ? NULL : &own_context;
  else if (attribute == 2) *(unsigned *)value = 2;
  else if (attribute == 9) *(int *)value = 3;
  else return 1;
  return 0;
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal + 10;
  return ordinal == 3 ? 0 : 101;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  if (device != 13) return 101;
  *context = &primary_context;
  add(&fake_cuda.retained, 1);
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  if (device != 13) return 101;
  add(&fake_cuda.retained, -1);
  return 0;
}

int cuCtxPushCurrent_v2(void *context) {
  current = context;
  return context == &own_context || context == &primary_context ? 0 : 201;
}

int cuCtxPopCurrent_v2(void **context) {
  *context = current;
  current = NULL;
  return 0;
}

int cuCtxSynchronize(void) {
  add(&fake_cuda.synchronized, 1);
  return current != NULL ? 0 : 201;
}

int cuMemHostAlloc(void **allocated, size_t size, unsigned flags) {
  if (current == NULL || flags != 1) return 201;
  *allocated = malloc(size);
  add(&fake_cuda.pinned, 1);
  return *allocated != NULL ? 0 : 2;
}

int cuMemFreeHost(void *allocated) {
  free(allocated);
  add(&fake_cuda.pinned, -1);
  return 0;
}

int cuStreamCreate(void **made, unsigned flags) {
  if (current == NULL || flags != 1) return 201;
  *made = calloc(1, sizeof(struct stream));
  add(&fake_cuda.streams, 1);
  return *made != NULL ? 0 : 2;
}

int cuStreamSynchronize(void *which) {
  struct stream *stream = which;
  if (stream->size == 0) return 0;
  memcpy(stream->to, stream->from, stream->size);
  stream->size = 0;
  add(&pending, -1);
  return 0;
}

int cuStreamDestroy_v2(void *which) {
  cuStreamSynchronize(which);
  free(which);
  add(&fake_cuda.streams, -1);
  return 0;
}

static int copy(void *to, const void *from, size_t size, void *which) {
  struct stream *stream = which;
  if (current == NULL) return 201;
  cuStreamSynchronize(stream); /* copies of one stream come one after the other */
  const int number = add(&fake_cuda.copies, 1);
  if (number == fake_cuda.fail_at) return 700;
  add(&fake_cuda.bytes_copied_mib, (int)(size >> 20));
  *stream = (struct stream){to, from, size};
  const int now = add(&pending, 1);
  pthread_mutex_lock(&mutex);
  if (now > fake_cuda.most_pending) fake_cuda.most_pending = now;
  pthread_mutex_unlock(&mutex);
  return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t size, void *stream) {
  return is_device(from, size) ? copy(to, memory + (from - FIRST_ADDRESS), size, stream) : 1;
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t size, void *stream) {
  return is_device(to, size) ? copy(memory + (to - FIRST_ADDRESS), from, size, stream) : 1;
}

int cuGetErrorString(int result, const char **text) {
  *text = result == 700 ? "an illegal memory access was encountered" : "another error";
  return 0;
}

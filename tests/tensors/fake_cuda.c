#include "tests/tensors/fake_cuda.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far from all memory of the process. */
#define FIRST_ADDRESS 0x7000000000000000ULL
#define BLOCK_DISTANCE 0x0001000000000000ULL
enum { most_blocks = 64, most_streams = 8, most_works = 64, not_ready = 600 };

struct work {
  int (*call)(void *argument);
  void *argument;
};

struct stream {
  void *to;
  const void *from;
  size_t size; /* 0: nothing to do */
  struct work works[most_works];
  int first, next; /* of the works that are not done */
};

struct fake_cuda_state fake_cuda;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t has_worker = PTHREAD_ONCE_INIT;
static char *memory;
static size_t memory_size;
static struct {
  char *bytes;
  size_t size;
} more[most_blocks];
static struct stream *working[most_streams]; /* that were ever given work */
static int pending, own_context, primary_context;
static __thread void *contexts[8];
static __thread int depth;
#define current (depth > 0 ? contexts[depth - 1] : NULL)

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

static unsigned long long address_of(int block) {
  return FIRST_ADDRESS + (unsigned long long)(block + 1) * BLOCK_DISTANCE;
}

char *fake_cuda_alloc_more(size_t size) {
  for (int block = 0; block < most_blocks; ++block)
    if (more[block].bytes == NULL) {
      more[block].bytes = malloc(size);
      memset(more[block].bytes, 0xa5, size);
      more[block].size = size;
      return (char *)address_of(block);
    }
  return NULL;
}

static char *bytes_of(unsigned long long address, size_t size) {
  if (address >= FIRST_ADDRESS && address - FIRST_ADDRESS + size <= memory_size)
    return memory + (address - FIRST_ADDRESS);
  for (int block = 0; block < most_blocks; ++block)
    if (address >= address_of(block) && address - address_of(block) + size <= more[block].size)
      return more[block].bytes + (address - address_of(block));
  return NULL;
}

char *fake_cuda_at(const void *address) { return bytes_of((unsigned long long)address, 1); }

static int is_device(unsigned long long address, size_t size) {
  return bytes_of(address, size) != NULL;
}

int cuStreamQuery(void *which);

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
  else if (attribute == 8) *(unsigned *)value = 0;
  else if (attribute == 9) *(int *)value = 3;
  else return 1;
  return 0;
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal + 10;
  return ordinal == 3 ? 0 : 101;
}

int cuDeviceGetUuid(void *uuid, int device) {
  memset(uuid, fake_cuda.device, 16);
  return device == 13 ? 0 : 101;
}

int cuMemAlloc_v2(unsigned long long *allocated, size_t size) {
  if (current == NULL) return 201;
  *allocated = (unsigned long long)fake_cuda_alloc_more(size);
  return *allocated != 0 ? 0 : 2;
}

int cuMemFree_v2(unsigned long long address) {
  for (int block = 0; block < most_blocks; ++block)
    if (more[block].bytes != NULL && address == address_of(block)) {
      free(more[block].bytes);
      more[block].bytes = NULL;
      more[block].size = 0;
      return 0;
    }
  return 1;
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
  if ((context != &own_context && context != &primary_context) || depth == 8) return 201;
  contexts[depth++] = context;
  return 0;
}

int cuCtxPopCurrent_v2(void **context) {
  *context = current;
  if (depth > 0) --depth;
  return 0;
}

/* Waits for all queues, those that others have a part in as well. */
int cuCtxSynchronize(void) {
  if (current == NULL) return 201;
  for (int i = 0; i < most_streams; ++i)
    while (working[i] != NULL && cuStreamQuery(working[i]) == not_ready) sched_yield();
  add(&fake_cuda.synchronized, 1);
  return 0;
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

static void do_copy(struct stream *stream) {
  if (stream->size == 0) return;
  memcpy(stream->to, stream->from, stream->size);
  stream->size = 0;
  add(&pending, -1);
}

static int go_on(struct stream *stream) {
  for (; stream->first != stream->next; stream->first = (stream->first + 1) % most_works) {
    const struct work *work = &stream->works[stream->first];
    if (!work->call(work->argument)) return 0;
  }
  return 1;
}

static void *work_on(void *unused) {
  for (;; usleep(100)) {
    pthread_mutex_lock(&at_work);
    for (int i = 0; i < most_streams; ++i)
      if (working[i] != NULL) go_on(working[i]);
    pthread_mutex_unlock(&at_work);
  }
  return unused;
}

static void start_worker(void) {
  pthread_t worker;
  if (pthread_create(&worker, NULL, work_on, NULL) == 0) pthread_detach(worker);
}

int cuStreamQuery(void *which) {
  do_copy(which);
  pthread_mutex_lock(&at_work);
  const int is_done = go_on(which);
  pthread_mutex_unlock(&at_work);
  return is_done ? 0 : not_ready;
}

int cuStreamSynchronize(void *which) {
  while (cuStreamQuery(which) == not_ready) sched_yield();
  return 0;
}

int fake_cuda_give(void *which, int (*call)(void *argument), void *argument) {
  struct stream *stream = which;
  int place = 0;
  pthread_once(&has_worker, start_worker);
  pthread_mutex_lock(&at_work);
  while (place < most_streams && working[place] != stream && working[place] != NULL) ++place;
  if (place < most_streams) {
    working[place] = stream;
    stream->works[stream->next] = (struct work){call, argument};
    stream->next = (stream->next + 1) % most_works;
    ++fake_cuda.works;
  }
  pthread_mutex_unlock(&at_work);
  return place < most_streams ? 0 : 2;
}

int cuStreamDestroy_v2(void *which) {
  cuStreamSynchronize(which);
  pthread_mutex_lock(&at_work);
  for (int i = 0; i < most_streams; ++i)
    if (working[i] == which) working[i] = NULL;
  pthread_mutex_unlock(&at_work);
  free(which);
  add(&fake_cuda.streams, -1);
  return 0;
}

static int copy(void *to, const void *from, size_t size, void *which) {
  struct stream *stream = which;
  if (current == NULL) return 201;
  do_copy(stream); /* copies of one stream come one after the other */
  const int number = add(&fake_cuda.copies, 1);
  if (number == fake_cuda.fail_at) return 700;
  add(&fake_cuda.bytes_copied_mib, (int)(size >> 20));
  stream->to = to;
  stream->from = from;
  stream->size = size;
  const int now = add(&pending, 1);
  pthread_mutex_lock(&mutex);
  if (now > fake_cuda.most_pending) fake_cuda.most_pending = now;
  pthread_mutex_unlock(&mutex);
  return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t size, void *stream) {
  return is_device(from, size) ? copy(to, bytes_of(from, size), size, stream) : 1;
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t size, void *stream) {
  return is_device(to, size) ? copy(bytes_of(to, size), from, size, stream) : 1;
}

int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t size, void *stream) {
  char *bytes_to = bytes_of(to, size), *bytes_from = bytes_of(from, size);
  return copy(bytes_to != NULL ? bytes_to : (char *)to,
              bytes_from != NULL ? bytes_from : (const char *)from, size, stream);
}

int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t size, void *stream) {
  if (current == NULL || stream == NULL || !is_device(to, size)) return 1;
  do_copy(stream);
  memset(bytes_of(to, size), value, size);
  return 0;
}

int cuGetErrorString(int result, const char **text) {
  *text = result == 700 ? "an illegal memory access was encountered" : "another error";
  return 0;
}

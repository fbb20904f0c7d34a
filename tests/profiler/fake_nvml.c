#include "tests/profiler/fake_nvml.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8 /* GPUs, and of one its MIG devices */
#define MOST_PROCESSES 64
#define MOST_FUNCTIONS 32

enum {
  success = 0,
  uninitialized = 1,
  invalid_argument = 2,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  insufficient_size = 7,
};

struct device {
  int gpu, mig; /* mig: -1 of a whole one */
};
struct process {
  unsigned pid;
  unsigned long long bytes;
};
struct gpu {
  char model[32];
  int migs, processes;
  struct process process[MOST_PROCESSES];
  unsigned long long sent, received;
};
struct failure {
  char function[64];
  int gpu, error, first;
};
struct calls {
  const char *function; /* a literal, known by its address */
  int count;
};

static struct {
  int started, gpus, failures;
  struct gpu gpu[MOST];
  struct failure failure[MOST];
  struct calls calls[MOST + 1][MOST_FUNCTIONS]; /* first those that are for no GPU */
} fake;
static struct device wholes[MOST], migs[MOST][MOST];

static int number_in_range(int number) { return number >= 0 && number < MOST; }

static void read_word(const char *word) {
  int gpu = 0, number = 0;
  struct failure failure = {.first = 1};
  struct process process;
  char model[32];
  if (sscanf(word, "gpus=%d", &number) == 1) {
    fake.gpus = number;
  } else if (sscanf(word, "model=%d:%31s", &gpu, model) == 2 && number_in_range(gpu)) {
    strcpy(fake.gpu[gpu].model, model);
  } else if (sscanf(word, "mig=%d:%d", &gpu, &number) == 2 && number_in_range(gpu)) {
    fake.gpu[gpu].migs = number;
  } else if (sscanf(word, "process=%d:%u:%llu", &gpu, &process.pid, &process.bytes) == 3 &&
             number_in_range(gpu)) {
    fake.gpu[gpu].process[fake.gpu[gpu].processes++] = process;
  } else if (sscanf(word, "fail=%63[^:]:%d:%d:%d", failure.function, &failure.gpu, &failure.error,
                    &failure.first) >= 3) {
    fake.failure[fake.failures++] = failure;
  } else {
    fprintf(stderr, "FAKE_NVML has '%s', which is no word of fake_nvml.h\n", word);
    abort();
  }
}

static void read_scenario(void) {
  const int started = fake.started;
  memset(&fake, 0, sizeof fake);
  fake.started = started;
  fake.gpus = 2;
  for (int gpu = 0; gpu < MOST; ++gpu) {
    strcpy(fake.gpu[gpu].model, "Fake");
    wholes[gpu] = (struct device){gpu, -1};
    for (int mig = 0; mig < MOST; ++mig) migs[gpu][mig] = (struct device){gpu, mig};
  }
  const char *const variable = getenv("FAKE_NVML");
  char text[4096] = "", *rest = NULL;
  if (variable != NULL) strncpy(text, variable, sizeof text - 1);
  for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
    read_word(word);
}

/* Quick, since bench_gpu_sampling.py measures what is around it. */
static int count_call(const char *function, int gpu) {
  struct calls *calls = fake.calls[gpu + 1];
  while (calls->function != NULL && calls->function != function) ++calls;
  calls->function = function;
  return ++calls->count;
}

int fake_nvml_calls(const char *function, int gpu) {
  for (const struct calls *calls = fake.calls[gpu + 1]; calls->function != NULL; ++calls)
    if (strcmp(calls->function, function) == 0) return calls->count;
  return 0;
}
int fake_nvml_started(void) { return fake.started; }

/* What a call is to answer before it does anything. */
static int ask(const char *function, int gpu) {
  const int count = count_call(function, gpu);
  for (int i = 0; i < fake.failures; ++i) {
    const struct failure *const failure = &fake.failure[i];
    if (strcmp(failure->function, function) == 0 && (failure->gpu == gpu || failure->gpu == -1) &&
        count >= failure->first)
      return failure->error;
  }
  return fake.started > 0 ? success : uninitialized;
}
#define ASK(function, gpu)                        \
  do {                                            \
    const int answer = ask("nvml" function, gpu); \
    if (answer != success) return answer;         \
  } while (0)
/* The same of what only a whole GPU is asked. */
#define ASK_WHOLE(function, device, refusal) \
  do {                                       \
    ASK(function, (device)->gpu);            \
    if ((device)->mig >= 0) return refusal;  \
  } while (0)

static int start(void) {
  read_scenario();
  ++fake.started;
  const int answer = ask("nvmlInit", -1);
  if (answer != success) --fake.started;
  return answer;
}
static int count(unsigned *number) {
  ASK("DeviceGetCount", -1);
  *number = (unsigned)fake.gpus;
  return success;
}
static int by_index(unsigned index, struct device **device) {
  ASK("DeviceGetHandleByIndex", (int)index);
  if (index >= (unsigned)fake.gpus) return invalid_argument;
  *device = &wholes[index];
  return success;
}

#ifdef FAKE_NVML_OLD
int nvmlInit(void) { return start(); }
int nvmlDeviceGetCount(unsigned *number) { return count(number); }
int nvmlDeviceGetHandleByIndex(unsigned index, struct device **device) {
  return by_index(index, device);
}
#else
int nvmlInit_v2(void) { return start(); }
int nvmlInitWithFlags(unsigned flags) { return flags == 0 ? start() : invalid_argument; }
int nvmlDeviceGetCount_v2(unsigned *number) { return count(number); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device) {
  return by_index(index, device);
}
#endif

int nvmlShutdown(void) {
  if (fake.started == 0) return uninitialized;
  --fake.started;
  return success;
}

const char *nvmlErrorString(int error) {
  switch (error) {
    case 1:
      return "Uninitialized";
    case 3:
      return "Not Supported";
    case 15:
      return "GPU is lost";
    case 18:
      return "Driver/library version mismatch";
    case 999:
      return "Unknown Error";
    default:
      return "An Error";
  }
}

int nvmlDeviceGetUUID(const struct device *device, char *uuid, unsigned size) {
  ASK("DeviceGetUUID", device->gpu);
  const int length = device->mig < 0
                         ? snprintf(uuid, size, FAKE_UUID, device->gpu)
                         : snprintf(uuid, size, FAKE_MIG_UUID, device->gpu, device->mig);
  return (unsigned)length < size ? success : insufficient_size;
}

int nvmlDeviceGetName(const struct device *device, char *name, unsigned size) {
  ASK("DeviceGetName", device->gpu);
  snprintf(name, size, "%s", fake.gpu[device->gpu].model);
  return success;
}

int nvmlDeviceGetUtilizationRates(const struct device *device, unsigned *percent) {
  ASK_WHOLE("DeviceGetUtilizationRates", device, not_supported);
  if (fake.gpu[device->gpu].migs > 0) return not_supported;
  percent[0] = FAKE_UTIL((unsigned)device->gpu);
  percent[1] = 0;
  return success;
}

static unsigned long long used_of(const struct device *device) {
  const unsigned long long used = FAKE_USED_MEMORY((unsigned long long)device->gpu);
  return device->mig < 0 ? used : used / 2;
}

int nvmlDeviceGetMemoryInfo(const struct device *device, unsigned long long *memory) {
  ASK("DeviceGetMemoryInfo", device->gpu);
  memory[0] = FAKE_TOTAL_MEMORY;
  memory[2] = used_of(device) + FAKE_RESERVED_MEMORY;
  memory[1] = memory[0] - memory[2];
  return success;
}

int nvmlDeviceGetPowerUsage(const struct device *device, unsigned *milliwatts) {
  ASK_WHOLE("DeviceGetPowerUsage", device, not_supported);
  *milliwatts = FAKE_MILLIWATTS((unsigned)device->gpu);
  return success;
}

int nvmlDeviceGetTemperature(const struct device *device, unsigned sensor, unsigned *celsius) {
  ASK_WHOLE("DeviceGetTemperature", device, not_supported);
  if (sensor != 0) return invalid_argument;
  *celsius = FAKE_CELSIUS((unsigned)device->gpu);
  return success;
}

int nvmlDeviceGetClockInfo(const struct device *device, unsigned clock, unsigned *megahertz) {
  ASK_WHOLE("DeviceGetClockInfo", device, invalid_argument);
  if (clock != 1) return invalid_argument;
  *megahertz = FAKE_MEGAHERTZ((unsigned)device->gpu);
  return success;
}

int nvmlDeviceGetPcieThroughput(const struct device *device, unsigned counter,
                                unsigned *kilobytes) {
  ASK_WHOLE("DeviceGetPcieThroughput", device, not_supported);
  const unsigned gpu = (unsigned)device->gpu;
  *kilobytes = counter == 0 ? FAKE_PCIE_SENT(gpu) : FAKE_PCIE_RECEIVED(gpu);
  return success;
}

#ifndef FAKE_NVML_OLD
struct memory_v2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
int nvmlDeviceGetMemoryInfo_v2(const struct device *device, struct memory_v2 *memory) {
  ASK("DeviceGetMemoryInfo_v2", device->gpu);
  if (memory->version != (2U << 24 | sizeof *memory)) return 25;
  memory->total = FAKE_TOTAL_MEMORY;
  memory->reserved = FAKE_RESERVED_MEMORY;
  memory->used = used_of(device);
  memory->free = memory->total - memory->reserved - memory->used;
  return success;
}

struct process_info {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
int nvmlDeviceGetComputeRunningProcesses_v3(const struct device *device, unsigned *number,
                                            struct process_info *processes) {
  ASK("DeviceGetComputeRunningProcesses", device->gpu);
  const struct gpu *const gpu = &fake.gpu[device->gpu];
  if (device->mig < 0 && gpu->migs > 0) return no_permission;
  const unsigned room = *number;
  *number = (unsigned)gpu->processes;
  if (room < *number) return insufficient_size;
  for (int i = 0; i < gpu->processes; ++i)
    processes[i] = (struct process_info){gpu->process[i].pid, gpu->process[i].bytes, ~0U, ~0U};
  return success;
}

struct field_value {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int result;
  unsigned long long value;
};
int nvmlDeviceGetFieldValues(const struct device *device, int number, struct field_value *values) {
  ASK_WHOLE("DeviceGetFieldValues", device, not_supported);
  struct gpu *const gpu = &fake.gpu[device->gpu];
  gpu->sent += FAKE_NVLINK_SENT;
  gpu->received += FAKE_NVLINK_RECEIVED;
  for (int i = 0; i < number; ++i) {
    struct field_value *const value = &values[i];
    const int known = (value->field == 138 || value->field == 139) && value->scope == ~0U;
    value->result = known ? ask("nvmlField", device->gpu) : not_supported;
    value->type = 3;
    value->value = value->field == 138 ? gpu->sent : gpu->received;
  }
  return success;
}

int nvmlDeviceGetMaxMigDeviceCount(const struct device *device, unsigned *number) {
  ASK("DeviceGetMaxMigDeviceCount", device->gpu);
  *number = fake.gpu[device->gpu].migs > 0 ? 7 : 0;
  return success;
}
int nvmlDeviceGetMigDeviceHandleByIndex(const struct device *device, unsigned index,
                                        struct device **mig) {
  ASK("DeviceGetMigDeviceHandleByIndex", device->gpu);
  if (index >= (unsigned)fake.gpu[device->gpu].migs) return not_found;
  *mig = &migs[device->gpu][index];
  return success;
}
#endif

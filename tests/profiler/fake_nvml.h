/* A libnvidia-ml.so.1 that has no GPUs, and answers as the variable FAKE_NVML says when NVML is
 * started. That has words, in any order:
 *   gpus=N                              so many GPUs, 2 unless it is said
 *   model=GPU:NAME                      otherwise all are of one model
 *   mig=GPU:N                           GPU is cut into so many MIG devices
 *   process=GPU:PID:BYTES               a process that has memory of it
 *   fail=FUNCTION:GPU:ERROR[:FIRST]     FUNCTION (without _v2) answers ERROR for GPU (-1: for all),
 *                                       from its call number FIRST on, counted from 1
 * What GPU i says is below; a MIG device says nothing but its UUID, memory and processes. */
#ifndef TESTS_PROFILER_FAKE_NVML_H
#define TESTS_PROFILER_FAKE_NVML_H

#define FAKE_UUID "GPU-00000000-0000-0000-0000-00000000000%d"
#define FAKE_MIG_UUID "MIG-00000000-0000-0000-0000-0000000000%d%d"
#define FAKE_UTIL(i) (40U + (i))
#define FAKE_TOTAL_MEMORY (80ULL << 30)
#define FAKE_RESERVED_MEMORY (1ULL << 30)
#define FAKE_USED_MEMORY(i) ((2ULL + (i)) << 30) /* of a MIG device half of that */
#define FAKE_MILLIWATTS(i) (100500U + 1000U * (i))
#define FAKE_CELSIUS(i) (50U + (i))
#define FAKE_MEGAHERTZ(i) (1400U + (i))
#define FAKE_PCIE_SENT(i) (1000U + (i)) /* KB/s */
#define FAKE_PCIE_RECEIVED(i) (2000U + (i))
#define FAKE_NVLINK_SENT 1024 /* KiB more at each call */
#define FAKE_NVLINK_RECEIVED 2048

#ifdef __cplusplus
extern "C" {
#endif

/* How often FUNCTION was called for a GPU (-1: those that are for none) since NVML was started; its
 * MIG devices count as it. */
int fake_nvml_calls(const char *function, int gpu);
/* How often NVML was started and not ended. */
int fake_nvml_started(void);

#ifdef __cplusplus
}
#endif
#endif

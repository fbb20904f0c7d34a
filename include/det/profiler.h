/**
 * @file
 * @brief System metrics while training (seed: ProfilerContext).
 *
 * Reports are metrics of a group, as `{agent: {name: value, label: {name: value}}}`: `agent` is the
 * machine (DET_AGENT_ID, else the host's name). They have a time and no steps. Each value is the
 * average of the samples of one report; one that some of them lack counts as 0 there. The groups
 * are gpu, cpu, memory, disk, network, process and pressure; docs/profiler.md lists what is in
 * them.
 *
 * Where a control group (of a container, a job or a service) leaves this process less than the
 * machine has, `cpu_util_simple` is what those under the limit use of the CPUs that it leaves them,
 * and `memory_free` what is left below it. What a machine does not tell is left out; what it stops
 * to tell is a warning in the log, once.
 *
 * A `det_profiler_context` is a view borrowed from `det_core`, valid until det_core_free().
 */
#ifndef DET_PROFILER_H
#define DET_PROFILER_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the profiler; borrowed from det_core_profiler(). */
typedef struct det_profiler_context det_profiler_context;

/** Starts sampling on a thread of its own (seed: on). Any rank may call; only the first rank of a
 * machine samples. Does nothing while already on, which it may be from the start:
 * `profiling.enabled` of the configuration. Does not block. What was sampled since the last report
 * is reported by det_profiler_off() and det_core_close(), and lost with a kill.
 * @param[in] sampling_interval   Seconds between samples, at least 0.1; the usual value is 1.
 * @param[in] samples_per_report  Samples averaged into one report, at least 1; usually 10.
 * @return DET_OK; DET_E_INVALID (interval or count out of range); DET_E_STATE (closed); DET_E_FULL
 * (no more threads).   @since 0.1 */
DET_API det_status det_profiler_on(det_profiler_context *profiler, double sampling_interval,
                                   int32_t samples_per_report, det_error *err) DET_NOEXCEPT;

/** Stops sampling, reports the rest and waits for the thread to end (seed: off). Does nothing while
 * off.
 * @return DET_OK; DET_E_INVALID (NULL); DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_profiler_off(det_profiler_context *profiler, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

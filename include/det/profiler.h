/**
 * @file
 * @brief Reports system metrics while the program trains.
 *
 * The groups are gpu, cpu, memory, disk, network, process and pressure. docs/profiler.md lists
 * their metrics. A report has the form `{agent: {name: value, label: {name: value}}}`. `agent` is
 * the machine: DET_AGENT_ID, else the host's name. Reports have a time and no steps.
 *
 * Each value is the average of the samples of one report. In a sample without the value it counts
 * as 0.
 *
 * A control group (of a container, a job or a service) may give this process less than the machine
 * has. Then `cpu_util_simple` is the used part of the CPUs that the limit allows, by all processes
 * under it. `memory_free` is the memory that remains below the limit.
 *
 * Values that a machine does not give are left out. If it stops giving one, the log has a warning,
 * once.
 *
 * A `det_profiler_context` is a view borrowed from `det_core`. It is valid until det_core_free().
 */
#ifndef DET_PROFILER_H
#define DET_PROFILER_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the profiler. Borrowed from det_core_profiler(). Follows ProfilerContext. */
typedef struct det_profiler_context det_profiler_context;

/** Starts sampling, on a separate thread.
 *
 * Any rank may call it, but only the first rank of a machine samples. It does nothing if the
 * profiler is on already. `profiling.enabled` of the configuration turns it on from the start. It
 * does not block.
 *
 * Samples since the last report are reported by det_profiler_off() and det_core_close(). A kill
 * loses them. Follows ProfilerContext.on().
 * @param[in] sampling_interval   Seconds between samples, at least 0.1. The usual value is 1.
 * @param[in] samples_per_report  Samples that are averaged into one report, at least 1; usually 10.
 * @retval DET_OK         The profiler is on.
 * @retval DET_E_INVALID  The interval or the count is out of range.
 * @retval DET_E_STATE    The core is closed.
 * @retval DET_E_FULL     No more threads are possible.
 * @since 0.1 */
DET_API det_status det_profiler_on(det_profiler_context *profiler, double sampling_interval,
                                   int32_t samples_per_report, det_error *err) DET_NOEXCEPT;

/** Stops sampling, reports the rest, and waits for the thread to end. It does nothing if the
 * profiler is off. Follows ProfilerContext.off().
 * @retval DET_OK         The profiler is off.
 * @retval DET_E_INVALID  `profiler` is NULL.
 * @retval DET_E_STATE    The core is closed.
 * @since 0.1 */
DET_API det_status det_profiler_off(det_profiler_context *profiler, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

/**
 * @file
 * @brief System metrics while training (seed: ProfilerContext).
 *
 * A `det_profiler_context` is a view borrowed from `det_core`, valid until det_core_free().
 */
#ifndef DET_PROFILER_H
#define DET_PROFILER_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the profiler; borrowed from det_core_profiler(). */
typedef struct det_profiler_context det_profiler_context;

/** Starts sampling GPU, CPU, memory, disk and network (seed: on). Any rank may call; only the
 * local chief of a machine samples. Does nothing while already on. Does not block.
 * @param[in] sampling_interval   Seconds between samples, at least 0.1; the usual value is 1.
 * @param[in] samples_per_report  Samples averaged into one report, at least 1; usually 10.
 * @return DET_OK; DET_E_INVALID (interval or count out of range); DET_E_STATE (closed);
 * DET_E_UNSUPPORTED (sampling is not in this release).   @since 0.1 */
DET_API det_status det_profiler_on(det_profiler_context *profiler, double sampling_interval,
                                   int32_t samples_per_report, det_error *err) DET_NOEXCEPT;

/** Stops sampling and waits for the sampler to end (seed: off). Does nothing while off.
 * @return DET_OK; DET_E_INVALID (NULL); DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_profiler_off(det_profiler_context *profiler, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

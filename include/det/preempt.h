/**
 * @file
 * @brief Being asked to stop: pause, cancel, a scheduler, a spot machine (seed: PreemptContext).
 *
 * A `det_preempt_context` is a view borrowed from `det_core`, valid until det_core_free().
 */
#ifndef DET_PREEMPT_H
#define DET_PREEMPT_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the preemption signal; borrowed from det_core_preempt(). */
typedef struct det_preempt_context det_preempt_context;

/** Who calls det_preempt_should_preempt() and who decides (seed: PreemptMode). */
typedef int32_t det_preempt_mode;
#define DET_PREEMPT_MODE_WORKERS_ASK_CHIEF 0 /**< All ranks in step; the chief decides for all. */
#define DET_PREEMPT_MODE_CHIEF_ONLY 1        /**< The chief alone; elsewhere DET_E_STATE. */
#define DET_PREEMPT_MODE_WORKERS_ASK_MASTER \
  2 /**< Each rank for itself; answers may differ in time. */

/** Whether to stop now (seed: should_preempt, auto_ack on). Cheap enough for every batch: one
 * process pays a few nanoseconds, ranks that ask their chief one small broadcast. The first true
 * answer also tells the master that this process will leave unfinished and expects to be started
 * again: in WORKERS_ASK_CHIEF mode on the chief, whose failure to do so is an error on every rank.
 * Once true it stays true. Who calls it is set by the mode; it blocks only where ranks wait for
 * their chief.
 * @return DET_OK (go on); DET_PREEMPTED (save a checkpoint and leave); DET_E_STATE (closed, or not
 * this rank's call); DET_E_UNAVAILABLE, DET_E_BUSY (the acknowledgement failed; it is tried again
 * by the next call); what the communicator fails with.   @since 0.1 */
DET_API det_status det_preempt_should_preempt(det_preempt_context *preempt,
                                              det_error *err) DET_NOEXCEPT;

/** As det_preempt_should_preempt(), without telling the master (seed: auto_ack=False). Whoever
 * then leaves because of it calls det_preempt_acknowledge() first.   @since 0.1 */
DET_API det_status det_preempt_should_preempt_no_ack(det_preempt_context *preempt,
                                                     det_error *err) DET_NOEXCEPT;

/** Tells the master that this process will leave unfinished and expects to be started again
 * (seed: acknowledge_preemption_signal). Blocks for one request. Repeats do nothing. With no
 * signal pending it is refused, since the trial's end would then be taken for a pause. One rank is
 * enough: the acknowledgement is the run's. After a power cut the run counts as killed all the
 * same.
 * @return DET_OK; DET_E_STATE (no signal pending, or closed); DET_E_UNAVAILABLE, DET_E_BUSY;
 * DET_E_UNSUPPORTED (a rank that cannot reach the master).
 * @since 0.1 */
DET_API det_status det_preempt_acknowledge(det_preempt_context *preempt,
                                           det_error *err) DET_NOEXCEPT;

/** Raises the signal from inside the process, as a pause from outside would; for hosts with their
 * own signal handling. Async-signal-safe, any thread, does not block. Any rank: in
 * WORKERS_ASK_CHIEF mode the chief learns of it with that rank's next call, and then all do; in
 * CHIEF_ONLY mode only the chief's counts.
 * @return DET_OK; DET_E_INVALID (NULL); DET_E_STATE (closed); DET_E_UNSUPPORTED (on a rank of
 * another machine that cannot reach the chief's store: call it on rank 0, or see det_core_init()).
 * No message is written.
 * @since 0.1 */
DET_API det_status det_preempt_request(det_preempt_context *preempt) DET_NOEXCEPT;

DET_END_DECLS

#endif

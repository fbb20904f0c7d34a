/**
 * @file
 * @brief Asks whether the run should stop: after a pause, a cancel, or a notice from a scheduler.
 *
 * A `det_preempt_context` is a view borrowed from `det_core`. It is valid until det_core_free().
 */
#ifndef DET_PREEMPT_H
#define DET_PREEMPT_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the preemption signal. Borrowed from det_core_preempt(). Follows PreemptContext. */
typedef struct det_preempt_context det_preempt_context;

/** Sets which ranks call det_preempt_should_preempt(), and which one decides. Follows
 * PreemptMode. */
typedef int32_t det_preempt_mode;
#define DET_PREEMPT_MODE_WORKERS_ASK_CHIEF 0 /**< All ranks call it; the chief decides for all. */
#define DET_PREEMPT_MODE_CHIEF_ONLY 1        /**< Only the chief; other ranks get DET_E_STATE. */
#define DET_PREEMPT_MODE_WORKERS_ASK_MASTER \
  2 /**< Each rank asks for itself; answers may differ in time. */

/** Asks whether this run should stop now.
 *
 * Call it after every batch. A process without ranks pays a few nanoseconds. Ranks that ask their
 * chief pay one small broadcast. Once the answer is "stop", it stays so.
 *
 * The first such answer also tells the master that this process leaves unfinished, to be started
 * again. In the mode WORKERS_ASK_CHIEF the chief does that. If it fails, every rank gets the
 * error.
 *
 * The mode sets which ranks may call it. It blocks only while ranks wait for their chief.
 * Follows PreemptContext.should_preempt() with `auto_ack`.
 * @retval DET_OK             Continue to train.
 * @retval DET_PREEMPTED      Save a checkpoint and leave.
 * @retval DET_E_STATE        The core is closed, or the mode does not let this rank call.
 * @retval DET_E_UNAVAILABLE  The master did not take the notice. The next call tries again.
 * @retval DET_E_BUSY         The same, for a store that another process holds.
 * @return Also any failure of the communication between ranks.
 * @since 0.1 */
DET_API det_status det_preempt_should_preempt(det_preempt_context *preempt,
                                              det_error *err) DET_NOEXCEPT;

/** Asks whether this run should stop, without telling the master.
 *
 * A program that then stops calls det_preempt_acknowledge() before it leaves. Everything else is as
 * for det_preempt_should_preempt(). Follows PreemptContext.should_preempt() with
 * `auto_ack=False`.
 * @return As det_preempt_should_preempt().
 * @since 0.1 */
DET_API det_status det_preempt_should_preempt_no_ack(det_preempt_context *preempt,
                                                     det_error *err) DET_NOEXCEPT;

/** Tells the master that this process leaves unfinished, to be started again.
 *
 * One rank is enough, because the acknowledgement is the run's. A repeat does nothing. Without a
 * pending signal the call is rejected, because the master would take the trial's end for a pause.
 * After a power cut the run counts as killed all the same. Blocks for one request.
 * Follows PreemptContext.acknowledge_preemption_signal().
 * @retval DET_OK             The master has it.
 * @retval DET_E_STATE        No signal is pending, or the core is closed.
 * @retval DET_E_UNAVAILABLE  The master does not answer. Call again.
 * @retval DET_E_BUSY         Another process holds the store. Call again.
 * @retval DET_E_UNSUPPORTED  This rank cannot reach the master.
 * @since 0.1 */
DET_API det_status det_preempt_acknowledge(det_preempt_context *preempt,
                                           det_error *err) DET_NOEXCEPT;

/** Raises the signal from inside the process, as a pause from outside does.
 *
 * It is for hosts that handle signals themselves. Any thread and any signal handler may call it
 * (async-signal-safe). It does not block, and writes no message.
 *
 * Any rank may call it. In the mode WORKERS_ASK_CHIEF the chief sees it at that rank's next call,
 * and then all ranks stop. In the mode CHIEF_ONLY only the chief's call counts.
 * @retval DET_OK             The signal is raised.
 * @retval DET_E_INVALID      `preempt` is NULL.
 * @retval DET_E_STATE        The core is closed.
 * @retval DET_E_UNSUPPORTED  This rank runs on another machine and cannot reach the chief's store.
 *                            Call it on rank 0, or see det_core_init().
 * @since 0.1 */
DET_API det_status det_preempt_request(det_preempt_context *preempt) DET_NOEXCEPT;

DET_END_DECLS

#endif

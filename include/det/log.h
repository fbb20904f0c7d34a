/**
 * @file
 * @brief The library's own log lines, taken by the host when and where it wants.
 *
 * For hosts that cannot be called on any thread, such as Node, or an event loop: with
 * `det_core_options.log_queue` the lines of a core wait in a queue, and nothing of the library
 * waits for the host. Beyond 8 MiB lines are left out; one in their place says how many. A queue
 * may be that of several cores. It is thread-safe; lines come in order to one thread that takes
 * them.
 */
#ifndef DET_LOG_H
#define DET_LOG_H

#include <det/error.h>

DET_BEGIN_DECLS

/** Log lines that wait. Owned by the caller; cores that write to it keep what they need of it. */
typedef struct det_log_queue det_log_queue;

/** Makes an empty queue. Any thread, does not block.
 * @param[out] out  Receives the queue; release it with det_log_queue_free(). NULL on failure.
 * @return DET_OK; DET_E_INVALID; DET_E_IO (no file descriptor left).   @since 0.1 */
DET_API det_status det_log_queue_create(det_log_queue **out, det_error *err) DET_NOEXCEPT;

/** Takes the oldest line. Any thread, does not block.
 * @param[out] level        Receives one of DET_LOG_LEVEL_*. NULL: not wanted.
 * @param[out] out_message  Receives the line without its end, to release with det_free(). NULL when
 *                          none waits, and on failure.
 * @return DET_OK; DET_DONE (none waits); DET_E_INVALID.   @since 0.1 */
DET_API det_status det_log_queue_take(det_log_queue *queue, det_log_level *level,
                                      char **out_message, det_error *err) DET_NOEXCEPT;

/** A file descriptor for poll(2) and event loops, readable while lines wait. The queue's: to be
 * polled, not to be read or closed.
 * @return The descriptor; -1 for NULL.   @since 0.1 */
DET_API int32_t det_log_queue_fd(const det_log_queue *queue) DET_NOEXCEPT;

/** Releases the queue with the lines in it. Cores that write to it go on, and their lines are
 * dropped. NULL does nothing.   @since 0.1 */
DET_API void det_log_queue_free(det_log_queue *queue) DET_NOEXCEPT;

DET_END_DECLS

#endif

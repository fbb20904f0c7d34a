/**
 * @file
 * @brief The library's own log lines: to a callback, or taken by the host when and where it wants.
 *
 * A queue is for hosts that cannot be called on any thread, such as Node, or an event loop: with
 * `det_core_options.log_queue` the lines of a core wait in a queue, and nothing of the library
 * waits for the host. Beyond 8 MiB lines are left out; one in their place says how many. A queue
 * may be that of several cores. It is thread-safe; lines come in order to one thread that takes
 * them.
 */
#ifndef DET_LOG_H
#define DET_LOG_H

#include <det/error.h>

DET_BEGIN_DECLS

/** One log line of the library. */
typedef struct det_log_line {
  size_t struct_size;  /**< sizeof(det_log_line). */
  const char *message; /**< One line without its end, safe to print. */
  const char *source;  /**< The part of the library that says so, such as "http" or "journal". */
  int64_t time_us;     /**< Microseconds since 1970 in UTC. */
  det_log_level level; /**< One of DET_LOG_LEVEL_*, not DET_LOG_LEVEL_DEFAULT. */
  int32_t rank;        /**< Of the process in its job. */
} det_log_line;

/** Receives the library's own log lines, in order. May be called on any thread, never on two at
 * once for one core. What the library does on threads of its own does not wait for it. `line` and
 * its texts live during the call. Must not call the library. det_core_close() waits for it at most
 * 1 second, and what frees the handle, after which it is not called any more, at most 5: a host
 * whose callback can only run on the thread that calls the library, such as a runtime with one
 * thread, takes a det_log_queue instead. */
typedef void (*det_log_callback)(const det_log_line *line, void *user_data);

/** Log lines that wait. Owned by the caller; cores that write to it keep what they need of it. */
typedef struct det_log_queue det_log_queue;

/** Makes an empty queue. Any thread, does not block.
 * @param[out] out  Receives the queue; release it with det_log_queue_free(). NULL on failure.
 * @return DET_OK; DET_E_INVALID; DET_E_IO (no file descriptor left).   @since 0.1 */
DET_API det_status det_log_queue_create(det_log_queue **out, det_error *err) DET_NOEXCEPT;

/** Takes the oldest line. Any thread, does not block.
 * @param[out] out  Receives the line, to release with det_free(), which releases its texts as well.
 *                  NULL when none waits, and on failure.
 * @return DET_OK; DET_DONE (none waits); DET_E_INVALID.   @since 0.1 */
DET_API det_status det_log_queue_take(det_log_queue *queue, det_log_line **out,
                                      det_error *err) DET_NOEXCEPT;

/** A file descriptor for poll(2) and event loops, readable while lines wait. The queue's: to be
 * polled, not to be read or closed.
 * @return The descriptor; -1 for NULL.   @since 0.1 */
DET_API int32_t det_log_queue_fd(const det_log_queue *queue) DET_NOEXCEPT;

/** Releases the queue with the lines in it. Cores that write to it go on, and their lines are
 * dropped. NULL does nothing.   @since 0.1 */
DET_API void det_log_queue_free(det_log_queue *queue) DET_NOEXCEPT;

DET_END_DECLS

#endif

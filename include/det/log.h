/**
 * @file
 * @brief Delivers the library's own log lines, to a callback or through a queue.
 *
 * Some hosts cannot be called on any thread, such as Node or an event loop. They use a queue, with
 * `det_core_options.log_queue`. The lines of a core then wait in the queue, and the library never
 * waits for the host.
 *
 * A queue holds up to 8 MiB. The library drops further lines, and one line has their number.
 * Several cores may share a queue. It is thread-safe. A single thread that takes lines gets them in
 * order.
 */
#ifndef DET_LOG_H
#define DET_LOG_H

#include <det/error.h>

DET_BEGIN_DECLS

/** One log line of the library. */
typedef struct det_log_line {
  size_t struct_size;  /**< sizeof(det_log_line). */
  const char *message; /**< One line without its end, safe to print. */
  const char *source;  /**< The part of the library, such as "http" or "journal". */
  int64_t time_us;     /**< Microseconds since 1970 in UTC. */
  det_log_level level; /**< One of DET_LOG_LEVEL_*, not DET_LOG_LEVEL_DEFAULT. */
  int32_t rank;        /**< The rank of the process in its job. */
} det_log_line;

/** Receives the library's own log lines, in order.
 *
 * The library may call it on any thread, and never on two at once for one core. Its own threads do
 * not wait for the callback. `line` and its texts are valid during the call. The callback must not
 * call the library.
 *
 * det_core_close() waits for the callback for at most 1 second. The function that frees the handle
 * waits for at most 5 seconds. After that the callback is not called any more. Does your host run
 * callbacks only on the thread that calls the library, as runtimes with one thread do? Then use a
 * det_log_queue. */
typedef void (*det_log_callback)(const det_log_line *line, void *user_data);

/** A queue of log lines. The caller owns it. Cores that write to it keep it usable for
 * themselves. */
typedef struct det_log_queue det_log_queue;

/** Makes an empty queue. Any thread may call it. It does not block.
 * @param[out] out  Receives the queue. Release it with det_log_queue_free(). NULL on failure.
 * @retval DET_OK         `out` has the queue.
 * @retval DET_E_INVALID  `out` is NULL.
 * @retval DET_E_IO       No file descriptor is left.
 * @since 0.1 */
DET_API det_status det_log_queue_create(det_log_queue **out, det_error *err) DET_NOEXCEPT;

/** Takes the oldest line. Any thread may call it. It does not block.
 * @param[out] out  Receives the line. Release it with det_free(), which also releases its texts.
 *                  NULL when no line waits, and on failure.
 * @retval DET_OK         `out` has the line.
 * @retval DET_DONE       No line waits.
 * @retval DET_E_INVALID  An argument is NULL.
 * @since 0.1 */
DET_API det_status det_log_queue_take(det_log_queue *queue, det_log_line **out,
                                      det_error *err) DET_NOEXCEPT;

/** Returns a file descriptor for poll(2) and event loops. It is readable while lines wait. The
 * queue owns it: poll it, but do not read or close it.
 * @return The descriptor; -1 for NULL.
 * @since 0.1 */
DET_API int32_t det_log_queue_fd(const det_log_queue *queue) DET_NOEXCEPT;

/** Releases the queue and the lines in it. Cores that write to it continue, and their lines are
 * dropped. NULL does nothing.
 * @since 0.1 */
DET_API void det_log_queue_free(det_log_queue *queue) DET_NOEXCEPT;

DET_END_DECLS

#endif

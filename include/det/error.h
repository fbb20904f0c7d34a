/**
 * @file
 * @brief Status codes and the caller-owned error.
 */
#ifndef DET_ERROR_H
#define DET_ERROR_H

#include <det/base.h>

DET_BEGIN_DECLS

/** The status that a function returns: 0, a positive answer, or a negative failure. */
typedef int32_t det_status;

#define DET_OK 0        /**< Done. */
#define DET_DONE 1      /**< Not a failure: nothing is left, as after the last operation. */
#define DET_PREEMPTED 2 /**< Not a failure: stop soon, after saving a checkpoint. */

#define DET_E_INTERNAL (-1)    /**< A defect of the library. Please report it. */
#define DET_E_NOMEM (-2)       /**< Out of memory. */
#define DET_E_INVALID (-3)     /**< An argument has a wrong value or type. */
#define DET_E_NOT_FOUND (-4)   /**< No such checkpoint, trial, experiment, file or value. */
#define DET_E_IO (-5)          /**< Reading or writing a file failed. See `os_errno`. */
#define DET_E_TIMEOUT (-6)     /**< The time limit passed first. */
#define DET_E_CALLBACK (-7)    /**< The caller's callback asked to stop. */
#define DET_E_UNSUPPORTED (-8) /**< Not in this build or this release. */
#define DET_E_STATE (-9)       /**< Wrong order of calls, wrong rank, or already closed. */
#define DET_E_ACCESS (-10)     /**< Permission or credentials are missing. */
#define DET_E_CORRUPT (-11)    /**< Stored data does not match its checksum or format. */
#define DET_E_FULL (-12)     /**< The disk, a quota, the journal or the table of threads is full. */
#define DET_E_BUSY (-13)     /**< Another process holds a lock. Try again. */
#define DET_E_CONFLICT (-14) /**< Two ranks or two reports contradict each other. */
#define DET_E_UNAVAILABLE (-15) /**< The master does not answer. */
#define DET_E_HTTP (-16)        /**< The master answers with an error. See `http_status`. */

/** Describes a failure, in the caller's memory. There is nothing to free. A successful call leaves
 * it unchanged. */
typedef struct det_error {
  size_t struct_size;  /**< sizeof(det_error). 0 means the size in release 0.1. */
  det_status code;     /**< The returned status. */
  int32_t os_errno;    /**< errno of the failed system call, or 0. */
  int32_t http_status; /**< Status of the master's answer, or 0. */
  int32_t retryable;   /**< 1: the same call may succeed a little later. Else 0. */
  char message[504];   /**< One line of UTF-8, safe to print: what failed, and what to do. */
} det_error;

/** Initialiser for a `det_error` on the stack. */
#define DET_ERROR_INIT \
  { sizeof(det_error), DET_OK, 0, 0, 0, "" }

/** Returns the name of a status code, such as "DET_E_NOT_FOUND".
 * @return A static string. Unknown numbers give "DET_E_UNKNOWN".
 * @since 0.1 */
DET_API const char *det_status_name(det_status code) DET_NOEXCEPT;

/** The importance of a log line. */
typedef int32_t det_log_level;
#define DET_LOG_LEVEL_DEFAULT 0 /**< In options, DET_LOG_LEVEL_WARNING. No line has it. */
#define DET_LOG_LEVEL_DEBUG 1   /**< For the developers of the library or of the training code. */
#define DET_LOG_LEVEL_INFO 2    /**< Normal events. */
#define DET_LOG_LEVEL_WARNING 3 /**< Something to look at. Work continues. */
#define DET_LOG_LEVEL_ERROR 4   /**< Something failed. */

DET_END_DECLS

#endif

/**
 * @file
 * @brief The base of every other header: linkage, the version, and releasing memory.
 *
 * Conventions of the whole API:
 * - Strings that you pass are UTF-8, end with NUL, and are copied.
 * - Strings that you get are borrowed from a named owner. A string in a `char **` parameter is
 *   yours: release it with det_free().
 * - After a failure an out parameter is NULL; a number is left as it was.
 * - Functions that end with `_free` or `_close` accept NULL.
 * - After a function has returned, its result survives the end of the process at any instant. It
 *   survives a power cut if the function's comment says so. On a master over HTTP both depend on
 *   the master.
 * - Any thread may call any function on any handle, unless the function's comment says otherwise.
 * - Each options struct begins with `size_t struct_size`. Start from its `_INIT` macro. In another
 *   language start from zeros and the size that the binding gives the struct.
 * - NULL for options means the defaults. So does 0 or NULL in a member.
 * - No struct has padding. Members named `reserved` must be 0.
 * - Counts, ids, steps, lengths and file sizes are `int64_t`. Sizes of memory are `size_t`.
 * - A comment that says "Follows X" names the part of Determined's Python API that it implements.
 */
#ifndef DET_BASE_H
#define DET_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define DET_API __attribute__((visibility("default")))
#else
#define DET_API
#endif

#ifdef __cplusplus
#if __cplusplus >= 201103L || defined(_MSC_VER)
#define DET_NOEXCEPT noexcept
#else
#define DET_NOEXCEPT throw()
#endif
#define DET_BEGIN_DECLS extern "C" {
#define DET_END_DECLS }
#else
#define DET_NOEXCEPT
#define DET_BEGIN_DECLS
#define DET_END_DECLS
#endif

#define DET_VERSION_MAJOR 0 /**< Of the header. det_version() returns the library's. */
#define DET_VERSION_MINOR 1 /**< Raised by an addition. */
#define DET_VERSION_PATCH 0 /**< Raised by a correction. */
/** The version of the header as one number, for `#if`. det_version() returns the library's. */
#define DET_VERSION_NUMBER \
  (DET_VERSION_MAJOR * 1000000 + DET_VERSION_MINOR * 1000 + DET_VERSION_PATCH)

/** A time limit in milliseconds. It is above 0, or one of DET_TIMEOUT_*. Any other number is
 * DET_E_INVALID. */
typedef int64_t det_timeout;
#define DET_TIMEOUT_DEFAULT 0     /**< The limit that the function's comment names. */
#define DET_TIMEOUT_INFINITE (-1) /**< No limit. */
#define DET_TIMEOUT_NONE (-2)     /**< Do not wait: a missing result is DET_E_TIMEOUT. */

DET_BEGIN_DECLS

/** Returns the version of the loaded library. It may be newer than the header of the program.
 * @return `major * 1000000 + minor * 1000 + patch`. Never fails.
 * @since 0.1 */
DET_API uint32_t det_version(void) DET_NOEXCEPT;

/** Returns the version of the loaded library as text, such as "0.1.0".
 * @return A string that is valid while the library is loaded. Never fails.
 * @since 0.1 */
DET_API const char *det_version_string(void) DET_NOEXCEPT;

/** Tells whether the loaded library has a feature.
 * @param[in] name  One of:
 *                  - "http": masters over HTTP;
 *                  - "mpi": libdetcore-mpi can be loaded (the call looks for it);
 *                  - "profiler";
 *                  - "s3", "gcs", "azure": storage.
 * @return 1 or 0. NULL and unknown names give 0.
 * @since 0.1 */
DET_API int32_t det_has_feature(const char *name) DET_NOEXCEPT;

/** Releases memory that a function of this library handed over through a `char **` parameter.
 * @param[in] memory  The pointer from that function. NULL does nothing.
 * @since 0.1 */
DET_API void det_free(void *memory) DET_NOEXCEPT;

DET_END_DECLS

#endif

/**
 * @file
 * @brief What every other header needs: linkage, the version, and freeing memory the library gave.
 *
 * Conventions of the whole API:
 * - Strings in are UTF-8, NUL-terminated and copied. Strings out are borrowed from a named owner,
 *   or the caller's to release with det_free() when the parameter is `char **`.
 * - An out parameter is NULL (or untouched, for numbers) after any failure.
 * - `_free` and `_close` accept NULL.
 * - What a function has done when it returned survives the end of the process at any instant, and a
 *   power cut too where its comment says so. On a master over HTTP that is the master's promise.
 * - Any thread may call any function on any handle unless the function's comment says otherwise.
 * - Every option struct starts with `size_t struct_size`. Start from its `_INIT` macro, or in
 * another language from zeros and the size that the binding gives the struct. A NULL options
 * pointer means the defaults, and so does 0 or NULL in a member. No struct has padding, and what is
 * `reserved` must be 0.
 * - Counts, ids, steps, lengths and sizes of files are `int64_t`; sizes of memory are `size_t`.
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

#define DET_VERSION_MAJOR 0 /**< Of the header; det_version() has that of the library. */
#define DET_VERSION_MINOR 1 /**< Raised by an addition. */
#define DET_VERSION_PATCH 0 /**< Raised by a correction. */
/** The version of the header as one number, for `#if`; det_version() has that of the library. */
#define DET_VERSION_NUMBER \
  (DET_VERSION_MAJOR * 1000000 + DET_VERSION_MINOR * 1000 + DET_VERSION_PATCH)

/** How long to wait, in milliseconds. Means the same wherever it is asked for: above 0 so long,
 * else one of DET_TIMEOUT_*; any other number is DET_E_INVALID. */
typedef int64_t det_timeout;
#define DET_TIMEOUT_DEFAULT 0     /**< As long as the comment says. */
#define DET_TIMEOUT_INFINITE (-1) /**< Without limit. */
#define DET_TIMEOUT_NONE (-2)     /**< Not at all: what is not there yet is DET_E_TIMEOUT. */

DET_BEGIN_DECLS

/** The version of the library that is loaded, which may be newer than the header compiled against.
 * @return `major * 1000000 + minor * 1000 + patch`. Never fails.   @since 0.1 */
DET_API uint32_t det_version(void) DET_NOEXCEPT;

/** The version of the library as text, such as "0.1.0".
 * @return A string that lives as long as the library is loaded. Never fails.   @since 0.1 */
DET_API const char *det_version_string(void) DET_NOEXCEPT;

/** Whether the library that is loaded has a feature, so that a program need not try: "http"
 * (masters over HTTP), "mpi" (libdetcore-mpi can be loaded: looks for it), "profiler", "s3", "gcs",
 * "azure" (storage).
 * @return 1 or 0; 0 for NULL and for a name this release does not know.   @since 0.1 */
DET_API int32_t det_has_feature(const char *name) DET_NOEXCEPT;

/** Releases memory that a function of this library handed over through a `char **` parameter.
 * @param[in] memory  What the function gave, or NULL, which does nothing.   @since 0.1 */
DET_API void det_free(void *memory) DET_NOEXCEPT;

DET_END_DECLS

#endif

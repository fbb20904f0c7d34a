/**
 * @file
 * @brief What every other header needs: linkage, the version, and freeing memory the library gave.
 *
 * Conventions of the whole API:
 * - Strings in are UTF-8, NUL-terminated and copied. Strings out are borrowed from a named owner,
 *   or the caller's to release with det_free() when the parameter is `char **`.
 * - An out parameter is NULL (or untouched, for numbers) after any failure.
 * - `_free` and `_close` accept NULL.
 * - Any thread may call any function on any handle unless the function's comment says otherwise.
 * - Every option struct starts with `size_t struct_size`; start from its `_INIT` macro or its
 *   `_init` function. A NULL options pointer means the defaults.
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
#define DET_NOEXCEPT noexcept
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

DET_BEGIN_DECLS

/** The version of the library that is loaded, which may be newer than the header compiled against.
 * @return `major * 1000000 + minor * 1000 + patch`. Never fails.   @since 0.1 */
DET_API uint32_t det_version(void) DET_NOEXCEPT;

/** The version of the library as text, such as "0.1.0".
 * @return A string that lives as long as the library is loaded. Never fails.   @since 0.1 */
DET_API const char *det_version_string(void) DET_NOEXCEPT;

/** Releases memory that a function of this library handed over through a `char **` parameter.
 * @param[in] memory  What the function gave, or NULL, which does nothing.   @since 0.1 */
DET_API void det_free(void *memory) DET_NOEXCEPT;

DET_END_DECLS

#endif

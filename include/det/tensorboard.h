/**
 * @file
 * @brief What the program itself shows in TensorBoard: scalars, histograms, texts and images,
 * beside the metrics that it reports (see docs/tensorboard.md).
 *
 * A `det_tensorboard_context` is a view borrowed from `det_core`, valid until det_core_free().
 *
 * What is added is encoded by the caller and written by a background thread: no call waits for disk
 * or network, unless 16 MiB wait already. It is in the event file of this run a tenth of a second
 * later, and at the latest when det_core_close() returns; what was added in the last moments before
 * the process is killed may be missing, the file stays readable. A file that cannot be written (a
 * full disk) is a warning in the log, and an error of the next det_tensorboard_flush().
 *
 * In DET_TENSORBOARD_MODE_AUTO the chief adds, and its file is in storage, beside the metrics or
 * brought there every 30 seconds and by det_core_close(). In DET_TENSORBOARD_MODE_MANUAL every rank
 * may: into the directory of det_train_get_tensorboard_path(), which
 * det_train_upload_tensorboard_files() brings there.
 */
#ifndef DET_TENSORBOARD_H
#define DET_TENSORBOARD_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of what is shown; borrowed from det_core_tensorboard(). */
typedef struct det_tensorboard_context det_tensorboard_context;

/** Adds a number to a curve. Takes less than a microsecond. Any thread.
 * @param[in] tag    UTF-8, 1 to 4096 bytes; TensorBoard groups by what is before the first '/'.
 *                   Copied.
 * @param[in] step   >= 0; it may go back.
 * @param[in] value  Kept as a 32-bit float; NaN and infinities too.
 * @return DET_OK; DET_E_INVALID (tag, step); DET_E_FULL (too much waits to be written and the disk
 * does not keep up, for `journal_wait_ms` of det_core_options: nothing was added); DET_E_STATE (a
 * rank other than the chief in DET_TENSORBOARD_MODE_AUTO; closed, or a forked child).
 * @since 0.1 */
DET_API det_status det_tensorboard_add_scalar(det_tensorboard_context *tensorboard, const char *tag,
                                              int64_t step, double value,
                                              det_error *err) DET_NOEXCEPT;

/** Adds how values are spread, such as the weights of a layer, in the buckets of TensorBoard's own
 * writers. Reads the values once, in tens of nanoseconds each. Otherwise as
 * det_tensorboard_add_scalar().
 * @param[in] values  `count` of them, at least one, all finite. Not kept.
 * @return As det_tensorboard_add_scalar(); DET_E_INVALID (no value, one that is not finite).
 * @since 0.1 */
DET_API det_status det_tensorboard_add_histogram(det_tensorboard_context *tensorboard,
                                                 const char *tag, int64_t step,
                                                 const double *values, size_t count,
                                                 det_error *err) DET_NOEXCEPT;

/** As det_tensorboard_add_histogram(), of floats.   @since 0.1 */
DET_API det_status det_tensorboard_add_histogram_float(det_tensorboard_context *tensorboard,
                                                       const char *tag, int64_t step,
                                                       const float *values, size_t count,
                                                       det_error *err) DET_NOEXCEPT;

/** A histogram that the caller has counted, on a GPU or over many batches. Bucket i counts the
 * values below `limits[i]` that are in no bucket before it. */
typedef struct det_histogram {
  size_t struct_size;   /**< sizeof(det_histogram). */
  const double *limits; /**< `count` of them, finite, ascending. */
  const double *counts; /**< `count` of them, 0 or above, one of them above. */
  size_t count;         /**< Buckets. */
  double min;           /**< The least value, in the first bucket that is not empty. */
  double max;           /**< The greatest value, in the last one. */
  double sum;           /**< Of all values. 0 where nobody needs it. */
  double sum_squares;   /**< Of the squares of all values. 0 where nobody needs it. */
} det_histogram;

/** Initialiser with the defaults. */
#define DET_HISTOGRAM_INIT \
  { sizeof(det_histogram), NULL, NULL, 0, 0, 0, 0, 0 }

/** Adds a histogram in the caller's buckets; otherwise as det_tensorboard_add_scalar().
 * @param[in] histogram  Copied.
 * @return As det_tensorboard_add_scalar(); DET_E_INVALID (no bucket counts anything, limits do not
 * ascend, numbers are not finite, `min` and `max` are outside).   @since 0.1 */
DET_API det_status det_tensorboard_add_histogram_buckets(det_tensorboard_context *tensorboard,
                                                         const char *tag, int64_t step,
                                                         const det_histogram *histogram,
                                                         det_error *err) DET_NOEXCEPT;

/** Adds a text, which TensorBoard shows as Markdown; otherwise as det_tensorboard_add_scalar().
 * @param[in] text  UTF-8, at most 64 MiB. Copied.
 * @return As det_tensorboard_add_scalar(); DET_E_INVALID (NULL, not UTF-8, too long).
 * @since 0.1 */
DET_API det_status det_tensorboard_add_text(det_tensorboard_context *tensorboard, const char *tag,
                                            int64_t step, const char *text,
                                            det_error *err) DET_NOEXCEPT;

/** Adds an image that the caller has encoded; otherwise as det_tensorboard_add_scalar().
 * @param[in] encoded  A PNG or JPEG file of `size` bytes, at most 64 MiB. Its head is read for the
 *                     width and height. Copied.
 * @return As det_tensorboard_add_scalar(); DET_E_INVALID (neither PNG nor JPEG, cut short in its
 * head, too large).   @since 0.1 */
DET_API det_status det_tensorboard_add_image(det_tensorboard_context *tensorboard, const char *tag,
                                             int64_t step, const void *encoded, size_t size,
                                             det_error *err) DET_NOEXCEPT;

/** Adds an image as its pixels, which become a PNG file that is not compressed; otherwise as
 * det_tensorboard_add_scalar().
 * @param[in] pixels    `height` rows from the top, of `width` pixels, of `channels` bytes, without
 *                      a gap: at most 64 MiB. Not kept.
 * @param[in] channels  1 (grey), 2 (grey and alpha), 3 (RGB), 4 (RGBA).
 * @return As det_tensorboard_add_scalar(); DET_E_INVALID (NULL, sizes).   @since 0.1 */
DET_API det_status det_tensorboard_add_pixels(det_tensorboard_context *tensorboard, const char *tag,
                                              int64_t step, const void *pixels, int32_t width,
                                              int32_t height, int32_t channels,
                                              det_error *err) DET_NOEXCEPT;

/** Waits until everything added before is in the event file, for a TensorBoard on the same file
 * system to see. Blocks.
 * @param[in] timeout_ms  How long; by default 60 seconds.
 * @return DET_OK; DET_E_TIMEOUT; DET_E_FULL, DET_E_ACCESS, DET_E_IO (events since the last call
 * could not be written and are lost; told once); DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_tensorboard_flush(det_tensorboard_context *tensorboard,
                                         det_timeout timeout_ms, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

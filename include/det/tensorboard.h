/**
 * @file
 * @brief Adds scalars, histograms, texts and images to TensorBoard, beside the reported metrics.
 *
 * See docs/tensorboard.md. A `det_tensorboard_context` is a view borrowed from `det_core`. It is
 * valid until det_core_free().
 *
 * A call encodes the data, and a background thread writes it. No call waits for disk or network,
 * unless 16 MiB wait already. The data is in the event file of this run a tenth of a second later.
 * At the latest it is there when det_core_close() returns. A kill may lose the last moments, but
 * the file stays readable. If the file cannot be written (a full disk), the log has a warning. The
 * next det_tensorboard_flush() returns an error.
 *
 * - In DET_TENSORBOARD_MODE_AUTO the chief adds. Its file is in storage beside the metrics, or is
 *   brought there every 30 seconds and by det_core_close().
 * - In DET_TENSORBOARD_MODE_MANUAL every rank may add. The file is in the directory of
 *   det_train_get_tensorboard_path(). det_train_upload_tensorboard_files() brings it to storage.
 */
#ifndef DET_TENSORBOARD_H
#define DET_TENSORBOARD_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View for TensorBoard. Borrowed from det_core_tensorboard(). */
typedef struct det_tensorboard_context det_tensorboard_context;

/** Adds a number to a curve.
 *
 * Any thread may call it. It takes less than a microsecond.
 * @param[in] tag    UTF-8, 1 to 4096 bytes. TensorBoard groups by the part before the first '/'.
 *                   Copied.
 * @param[in] step   0 or more. It may decrease.
 * @param[in] value  Stored as a 32-bit float, also NaN and infinities.
 * @retval DET_OK         Added.
 * @retval DET_E_INVALID  The tag or the step is wrong.
 * @retval DET_E_FULL     Too much data waits, and the disk did not keep up for `journal_wait_ms` of
 *                        det_core_options. Nothing was added.
 * @retval DET_E_STATE    In DET_TENSORBOARD_MODE_AUTO this rank is not the chief. Or the core is
 *                        closed, or this is a forked child.
 * @since 0.1 */
DET_API det_status det_tensorboard_add_scalar(det_tensorboard_context *tensorboard, const char *tag,
                                              int64_t step, double value,
                                              det_error *err) DET_NOEXCEPT;

/** Adds the distribution of values, such as the weights of a layer.
 *
 * It uses the buckets of TensorBoard's own writers. It reads the values once, in tens of
 * nanoseconds each. Everything else is as for det_tensorboard_add_scalar().
 * @param[in] values  `count` values, at least one, all finite. Not kept.
 * @retval DET_E_INVALID  There is no value, or one is not finite.
 * @return Else as det_tensorboard_add_scalar().
 * @since 0.1 */
DET_API det_status det_tensorboard_add_histogram(det_tensorboard_context *tensorboard,
                                                 const char *tag, int64_t step,
                                                 const double *values, size_t count,
                                                 det_error *err) DET_NOEXCEPT;

/** Adds the distribution of floats. Everything else is as for det_tensorboard_add_histogram().
 * @since 0.1 */
DET_API det_status det_tensorboard_add_histogram_float(det_tensorboard_context *tensorboard,
                                                       const char *tag, int64_t step,
                                                       const float *values, size_t count,
                                                       det_error *err) DET_NOEXCEPT;

/** A histogram that the caller has counted, on a GPU or over many batches. Bucket i counts the
 * values below `limits[i]` that are in no bucket before it. */
typedef struct det_histogram {
  size_t struct_size;   /**< sizeof(det_histogram). */
  const double *limits; /**< `count` numbers, finite, ascending. */
  const double *counts; /**< `count` numbers, 0 or more, at least one above 0. */
  size_t count;         /**< The number of buckets. */
  double min;           /**< The least value. In the first bucket that is not empty. */
  double max;           /**< The greatest value. In the last such bucket. */
  double sum;           /**< Of all values. 0 if not needed. */
  double sum_squares;   /**< Of the squares of all values. 0 if not needed. */
} det_histogram;

/** Initialiser with the defaults. */
#define DET_HISTOGRAM_INIT \
  { sizeof(det_histogram), NULL, NULL, 0, 0, 0, 0, 0 }

/** Adds a histogram in your own buckets. Everything else is as for det_tensorboard_add_scalar().
 * @param[in] histogram  Copied.
 * @retval DET_E_INVALID  No bucket counts anything, limits do not ascend, numbers are not finite,
 *                        or `min` and `max` are outside.
 * @return Else as det_tensorboard_add_scalar().
 * @since 0.1 */
DET_API det_status det_tensorboard_add_histogram_buckets(det_tensorboard_context *tensorboard,
                                                         const char *tag, int64_t step,
                                                         const det_histogram *histogram,
                                                         det_error *err) DET_NOEXCEPT;

/** Adds a text. TensorBoard shows it as Markdown. Everything else is as for
 * det_tensorboard_add_scalar().
 * @param[in] text  UTF-8, at most 64 MiB. Copied.
 * @retval DET_E_INVALID  The text is NULL, not UTF-8, or too long.
 * @return Else as det_tensorboard_add_scalar().
 * @since 0.1 */
DET_API det_status det_tensorboard_add_text(det_tensorboard_context *tensorboard, const char *tag,
                                            int64_t step, const char *text,
                                            det_error *err) DET_NOEXCEPT;

/** Adds an encoded image. Everything else is as for det_tensorboard_add_scalar().
 * @param[in] encoded  A PNG or JPEG file of `size` bytes, at most 64 MiB. The library reads width
 *                     and height from its header. Copied.
 * @retval DET_E_INVALID  The data is neither PNG nor JPEG, ends in its header, or is too large.
 * @return Else as det_tensorboard_add_scalar().
 * @since 0.1 */
DET_API det_status det_tensorboard_add_image(det_tensorboard_context *tensorboard, const char *tag,
                                             int64_t step, const void *encoded, size_t size,
                                             det_error *err) DET_NOEXCEPT;

/** Adds an image from its pixels. They become a PNG file without compression. Everything else is as
 * for det_tensorboard_add_scalar().
 * @param[in] pixels    `height` rows from the top, of `width` pixels, of `channels` bytes, without
 *                      gaps. At most 64 MiB. Not kept.
 * @param[in] channels  1 (grey), 2 (grey and alpha), 3 (RGB), 4 (RGBA).
 * @retval DET_E_INVALID  `pixels` is NULL, or a size is wrong.
 * @return Else as det_tensorboard_add_scalar().
 * @since 0.1 */
DET_API det_status det_tensorboard_add_pixels(det_tensorboard_context *tensorboard, const char *tag,
                                              int64_t step, const void *pixels, int32_t width,
                                              int32_t height, int32_t channels,
                                              det_error *err) DET_NOEXCEPT;

/** Waits until all added data is in the event file.
 *
 * Then a TensorBoard on the same file system sees it. It blocks.
 * @param[in] timeout_ms  The time limit; by default 60 seconds.
 * @retval DET_OK         All is in the file.
 * @retval DET_E_TIMEOUT  The time limit passed first.
 * @retval DET_E_FULL     The disk is full. Events since the last call are lost. Returned once.
 * @retval DET_E_ACCESS   The same: permission is missing.
 * @retval DET_E_IO       The same: writing failed.
 * @retval DET_E_STATE    The core is closed.
 * @since 0.1 */
DET_API det_status det_tensorboard_flush(det_tensorboard_context *tensorboard,
                                         det_timeout timeout_ms, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

/**
 * @file
 * @brief Saves state and tensors from memory as checkpoints, and reads them back.
 *
 * You need no other files. det_state_save() and det_state_load() keep the state of a program in one
 * call each. See docs/tensors.md.
 *
 * A file has named tensors, each with a dtype and a shape. The format is that of Python's package
 * `safetensors`. A rank may give a part of a tensor: its shape, and its place in the whole. Any
 * number of ranks can read the tensors back, in any parts.
 */
#ifndef DET_TENSORS_H
#define DET_TENSORS_H

#include <det/checkpoint.h>

DET_BEGIN_DECLS

/** Tensors opened for reading. Owned by the caller. */
typedef struct det_tensors det_tensors;

/** The type of the elements of a tensor. */
typedef int32_t det_dtype;
#define DET_DTYPE_BOOL 1         /**< A byte, 0 or 1. */
#define DET_DTYPE_F4 2           /**< Half a byte. Such tensors are written and read whole. */
#define DET_DTYPE_F6_E2M3 3      /**< Six bits; whole, as F4. */
#define DET_DTYPE_F6_E3M2 4      /**< Six bits; whole, as F4. */
#define DET_DTYPE_U8 5           /**< uint8_t */
#define DET_DTYPE_I8 6           /**< int8_t */
#define DET_DTYPE_F8_E5M2 7      /**< A byte. */
#define DET_DTYPE_F8_E4M3 8      /**< A byte. */
#define DET_DTYPE_F8_E8M0 9      /**< A byte. */
#define DET_DTYPE_F8_E4M3FNUZ 10 /**< A byte. */
#define DET_DTYPE_F8_E5M2FNUZ 11 /**< A byte. */
#define DET_DTYPE_I16 12         /**< int16_t */
#define DET_DTYPE_U16 13         /**< uint16_t */
#define DET_DTYPE_F16 14         /**< IEEE half precision. */
#define DET_DTYPE_BF16 15        /**< The upper half of a float. */
#define DET_DTYPE_I32 16         /**< int32_t */
#define DET_DTYPE_U32 17         /**< uint32_t */
#define DET_DTYPE_F32 18         /**< float */
#define DET_DTYPE_C64 19         /**< Two floats, real and imaginary. */
#define DET_DTYPE_F64 20         /**< double */
#define DET_DTYPE_I64 21         /**< int64_t */
#define DET_DTYPE_U64 22         /**< uint64_t */

/** The place of the data of a tensor. */
typedef int32_t det_device;
#define DET_DEVICE_DETECT                                                                          \
  0 /**< Asks the CUDA driver if the process has loaded it. Otherwise it is memory of the process. \
     */
#define DET_DEVICE_HOST 1 /**< Memory of the process. */
#define DET_DEVICE_CUDA 2 /**< A device pointer of CUDA. Needs the driver (libcuda.so.1). */

/** A tensor in memory, or a part of one. NULL or 0 in a member means the default named here. All
 * tensors of an array have the same `struct_size`. */
typedef struct det_tensor {
  size_t struct_size;    /**< sizeof(det_tensor). */
  const char *name;      /**< UTF-8, not empty. */
  void *data;            /**< Row-major, without gaps, little-endian. Only a read writes it. */
  det_dtype dtype;       /**< One of DET_DTYPE_*. */
  det_device device;     /**< One of DET_DEVICE_*. */
  size_t dimensions;     /**< Entries of each array below; 0: one element. */
  const int64_t *shape;  /**< Of `data`. */
  const int64_t *offset; /**< The place of `data` in the tensor. NULL: its beginning. */
  /** Of the tensor. NULL: `shape`. When you read a part, NULL accepts any shape that has room
   * for it. */
  const int64_t *global_shape;
} det_tensor;

/** Initialiser with the defaults. */
#define DET_TENSOR_INIT \
  { sizeof(det_tensor), NULL, NULL, 0, DET_DEVICE_DETECT, 0, NULL, NULL, NULL }

/** Returns the name of a dtype in files, such as "BF16".
 * @return A constant; NULL for an unknown number.
 * @since 0.1 */
DET_API const char *det_dtype_name(det_dtype dtype) DET_NOEXCEPT;

/** Returns the dtype with a name.
 * @return 0 for NULL and an unknown name.
 * @since 0.1 */
DET_API det_dtype det_dtype_from_name(const char *name) DET_NOEXCEPT;

/** Returns the bits of one element; 0 for an unknown dtype.
 * @since 0.1 */
DET_API int32_t det_dtype_bits(det_dtype dtype) DET_NOEXCEPT;

/** Options of det_tensors_write(). */
typedef struct det_tensors_write_options {
  size_t struct_size; /**< sizeof(det_tensors_write_options). */
  /** A JSON object of texts for the file, such as {"format": "pt"}. NULL: nothing. */
  const char *metadata_json;
} det_tensors_write_options;

/** Initialiser with the defaults. */
#define DET_TENSORS_WRITE_OPTIONS_INIT \
  { sizeof(det_tensors_write_options), NULL }

/** Writes tensors into a checkpoint that is being written.
 *
 * It blocks until the data is in the directory of the checkpoint. Then you may change the memory.
 * It waits for earlier work on a CUDA device. The options of `writer` receive the progress. The
 * commit does not read the files again.
 *
 * With `shard` in the options of `writer`, all ranks call it in step. Each rank gives its own
 * tensors or parts, perhaps none. If several ranks have the same part, one of them writes it. One
 * rank writes the file `name`. Several ranks write one file each, such as
 * "model-00001-of-00004.safetensors" for the name "model.safetensors". The chief also writes
 * "model.safetensors.index.json".
 *
 * After a failure there is no such file, and you may call again.
 * @param[in] writer   From det_checkpoint_writer_begin(), not committed.
 * @param[in] name     Of the file in the checkpoint, with '/' between parts. It ends in
 *                     ".safetensors".
 * @param[in] tensors  NULL only with `count` 0.
 * @param[in] options  NULL for the defaults.
 * @retval DET_OK             The data is written.
 * @retval DET_E_INVALID      A name, dtype, shape or part is impossible. The message names the
 *                            tensor.
 * @retval DET_E_CONFLICT     The file exists already. Or the parts of the ranks contradict each
 *                            other, overlap, or leave a gap.
 * @retval DET_E_UNSUPPORTED  There is no CUDA driver. Or you gave a part of a tensor whose elements
 *                            are less than a byte.
 * @retval DET_E_STATE        The checkpoint was committed or aborted before, or the core is closed.
 * @retval DET_E_FULL         The disk is full.
 * @retval DET_E_ACCESS       Permission is missing.
 * @retval DET_E_IO           Writing failed.
 * @retval DET_E_CALLBACK     The progress callback stopped the call.
 * @since 0.1 */
DET_API det_status det_tensors_write(det_checkpoint_writer *writer, const char *name,
                                     const det_tensor *tensors, size_t count,
                                     const det_tensors_write_options *options,
                                     det_error *err) DET_NOEXCEPT;

/** Opens the tensors of a checkpoint.
 *
 * It opens the file `name`, or the files that its index lists, and reads their headers. Any rank
 * that has `reader` may call it for itself.
 * @param[in]  reader  It need not outlive the handle, but its directory must. If the checkpoint is
 *                     a temporary copy, keep the reader.
 * @param[in]  name    As for det_tensors_write().
 * @param[out] out     Receives the handle. Release it with det_tensors_free(). NULL on failure.
 * @retval DET_OK           `out` has the handle.
 * @retval DET_E_INVALID    The name is wrong.
 * @retval DET_E_NOT_FOUND  There is no such file.
 * @retval DET_E_CORRUPT    A file is damaged. The message names the file and the tensor.
 * @retval DET_E_ACCESS     Permission is missing.
 * @retval DET_E_IO         Reading failed.
 * @since 0.1 */
DET_API det_status det_tensors_open(det_checkpoint_reader *reader, const char *name,
                                    det_tensors **out, det_error *err) DET_NOEXCEPT;

/** Opens the tensors of any file, such as one of another program. It needs no core.
 * @param[in]  path  Of the file. If the file is missing, the path with ".index.json" at its end is
 *                   opened.
 * @param[out] out   As for det_tensors_open().
 * @return As det_tensors_open().
 * @since 0.1 */
DET_API det_status det_tensors_open_path(const char *path, det_tensors **out,
                                         det_error *err) DET_NOEXCEPT;

/** Returns the number of tensors; 0 for NULL.
 * @since 0.1 */
DET_API size_t det_tensors_count(const det_tensors *tensors) DET_NOEXCEPT;

/** Returns the index of a tensor, in the order of the names.
 * @return -1 for an unknown name and for NULL.
 * @since 0.1 */
DET_API int64_t det_tensors_find(const det_tensors *tensors, const char *name) DET_NOEXCEPT;

/** Returns the name of a tensor.
 * @param[in] index  From 0.
 * @return Borrowed from `tensors`; NULL for NULL and beyond the end.
 * @since 0.1 */
DET_API const char *det_tensors_name(const det_tensors *tensors, size_t index) DET_NOEXCEPT;

/** Returns the dtype of a tensor; 0 for NULL and beyond the end.
 * @since 0.1 */
DET_API det_dtype det_tensors_dtype(const det_tensors *tensors, size_t index) DET_NOEXCEPT;

/** Returns the number of dimensions of a tensor; 0 for NULL and beyond the end.
 * @since 0.1 */
DET_API size_t det_tensors_dimensions(const det_tensors *tensors, size_t index) DET_NOEXCEPT;

/** Returns the shape of a whole tensor.
 * @return Borrowed from `tensors`, with one entry per dimension; NULL for NULL and beyond the end.
 * @since 0.1 */
DET_API const int64_t *det_tensors_shape(const det_tensors *tensors, size_t index) DET_NOEXCEPT;

/** Returns the bytes of a tensor; 0 for NULL and beyond the end.
 * @since 0.1 */
DET_API int64_t det_tensors_size(const det_tensors *tensors, size_t index) DET_NOEXCEPT;

/** Returns the texts that the file has beside the tensors. Of several files the first one counts.
 * @return A JSON object of texts, borrowed from `tensors`; NULL for NULL.
 * @since 0.1 */
DET_API const char *det_tensors_metadata(const det_tensors *tensors) DET_NOEXCEPT;

/** Options of det_tensors_read(). */
typedef struct det_tensors_read_options {
  size_t struct_size;             /**< sizeof(det_tensors_read_options). */
  det_progress_callback progress; /**< Receives the progress of reading, or NULL. */
  void *user_data;                /**< For `progress`. */
} det_tensors_read_options;

/** Initialiser with the defaults. */
#define DET_TENSORS_READ_OPTIONS_INIT \
  { sizeof(det_tensors_read_options), NULL, NULL }

/** Reads tensors, or parts of them, into your memory.
 *
 * Each rank reads what it needs, for itself. Several threads may read from one handle at once. It
 * checks all requests before it reads anything. It blocks.
 * @param[in] wanted   Tensors as for det_tensors_write(), to be filled. NULL only with `count` 0.
 * @param[in] options  NULL for the defaults.
 * @retval DET_OK             The memory is filled.
 * @retval DET_E_NOT_FOUND    There is no such tensor.
 * @retval DET_E_INVALID      The dtype or the shape differs. The message has both.
 * @retval DET_E_UNSUPPORTED  As for det_tensors_write().
 * @retval DET_E_CONFLICT     The file changed after it was opened.
 * @retval DET_E_CORRUPT      The file is damaged. The contents of the memory are undefined.
 * @retval DET_E_ACCESS       Permission is missing. The same holds for the memory.
 * @retval DET_E_IO           Reading failed. The same holds for the memory.
 * @retval DET_E_CALLBACK     The progress callback stopped the call.
 * @since 0.1 */
DET_API det_status det_tensors_read(const det_tensors *tensors, const det_tensor *wanted,
                                    size_t count, const det_tensors_read_options *options,
                                    det_error *err) DET_NOEXCEPT;

/** Releases the handle. NULL does nothing.
 * @since 0.1 */
DET_API void det_tensors_free(det_tensors *tensors) DET_NOEXCEPT;

/** Memory of the program that belongs to its state. */
typedef struct det_buffer {
  const char *name; /**< As of a tensor: UTF-8, not empty, unique. */
  void *data;       /**< NULL only with `size` 0. May be CUDA memory. */
  size_t size;      /**< In bytes. */
} det_buffer;

/** Saves the state of a program as a checkpoint, in one call.
 *
 * The buffers become tensors of bytes in the file "state.safetensors". `steps_completed` becomes
 * its metadata. It blocks until the checkpoint is stored.
 *
 * In a job of several ranks all ranks call it in step. Buffers with the same name must hold the
 * same bytes on all ranks. They are written once.
 * @param[in]  steps_completed  Of the training, from 0.
 * @param[in]  buffers          NULL only with `count` 0.
 * @param[out] out_storage_id   Receives the id. Release it with det_free(). NULL if not needed.
 * @return As det_checkpoint_writer_begin(), det_tensors_write() and det_checkpoint_writer_commit().
 * @since 0.1 */
DET_API det_status det_state_save(det_checkpoint_context *checkpoint, int64_t steps_completed,
                                  const det_buffer *buffers, size_t count, char **out_storage_id,
                                  det_error *err) DET_NOEXCEPT;

/** Fills buffers with the state that det_state_save() has stored.
 *
 * It checks all names and sizes before it fills anything. It blocks. In a job of several ranks all
 * ranks call it in step, each with the buffers that it needs.
 * @param[in]  storage_id           NULL: the checkpoint with which this run begins. Without one
 *                                  nothing is filled, and the steps are 0. So a program can call
 *                                  this at each start.
 * @param[in]  buffers              To be filled. NULL only with `count` 0.
 * @param[out] out_steps_completed  Receives the steps of the checkpoint. NULL if not needed.
 * @retval DET_E_INVALID  A buffer has another size.
 * @return Else as det_checkpoint_reader_open(), det_tensors_open() and det_tensors_read().
 * @since 0.1 */
DET_API det_status det_state_load(det_checkpoint_context *checkpoint, const char *storage_id,
                                  const det_buffer *buffers, size_t count,
                                  int64_t *out_steps_completed, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

/**
 * @file
 * @brief Checkpoints from memory: tensors written as safetensors files and read back, without files
 * of the caller's own (docs/tensors.md).
 *
 * A file has named tensors, each with a dtype and a shape, in the format that Python's package
 * `safetensors` reads and writes. A rank may bring a part of a tensor: its shape, and where that
 * lies in the whole. What any number of ranks wrote any other number reads, in any parts.
 */
#ifndef DET_TENSORS_H
#define DET_TENSORS_H

#include <det/checkpoint.h>

DET_BEGIN_DECLS

/** Tensors opened for reading; owned by the caller. */
typedef struct det_tensors det_tensors;

/** What the elements of a tensor are. */
typedef int32_t det_dtype;
#define DET_DTYPE_BOOL 1         /**< A byte, 0 or 1. */
#define DET_DTYPE_F4 2           /**< Half a byte; such tensors are written and read whole. */
#define DET_DTYPE_F6_E2M3 3      /**< Six bits; as F4. */
#define DET_DTYPE_F6_E3M2 4      /**< Six bits; as F4. */
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

/** Where the data of a tensor is. */
typedef int32_t det_device;
#define DET_DEVICE_DETECT \
  0                       /**< The driver is asked where the process has loaded it; else memory. */
#define DET_DEVICE_HOST 1 /**< Memory of the process. */
#define DET_DEVICE_CUDA 2 /**< A device pointer of CUDA; needs the driver (libcuda.so.1). */

/** A tensor in memory, or a part of one. What is NULL or 0 takes the default named here. All of an
 * array have the same `struct_size`. */
typedef struct det_tensor {
  size_t struct_size;    /**< sizeof(det_tensor). */
  const char *name;      /**< UTF-8, not empty. */
  void *data;            /**< Row-major, without gaps, little-endian; only written by a read. */
  det_dtype dtype;       /**< One of DET_DTYPE_*. */
  det_device device;     /**< One of DET_DEVICE_*. */
  size_t dimensions;     /**< Entries of each of the following; 0: one element. */
  const int64_t *shape;  /**< Of `data`. */
  const int64_t *offset; /**< Where it lies in the tensor. NULL: at its beginning. */
  const int64_t *global_shape; /**< Of the tensor. NULL: `shape`, or when reading a part, anything
                                    in which it lies. */
} det_tensor;

/** Initialiser with the defaults. */
#define DET_TENSOR_INIT \
  { sizeof(det_tensor), NULL, NULL, 0, DET_DEVICE_DETECT, 0, NULL, NULL, NULL }

/** The name of a dtype as files have it, such as "BF16".
 * @return A constant; NULL for a number that is none.   @since 0.1 */
DET_API const char *det_dtype_name(det_dtype dtype) DET_NOEXCEPT;

/** The dtype of a name.
 * @return 0 for NULL and a name that is none.   @since 0.1 */
DET_API det_dtype det_dtype_from_name(const char *name) DET_NOEXCEPT;

/** The bits of one element; 0 for a number that is none.   @since 0.1 */
DET_API int32_t det_dtype_bits(det_dtype dtype) DET_NOEXCEPT;

/** Options of det_tensors_write(). */
typedef struct det_tensors_write_options {
  size_t struct_size;        /**< sizeof(det_tensors_write_options). */
  const char *metadata_json; /**< A JSON object of texts that the file shall say beside the tensors,
                                  such as {"format": "pt"}. NULL: nothing. */
} det_tensors_write_options;

/** Initialiser with the defaults. */
#define DET_TENSORS_WRITE_OPTIONS_INIT \
  { sizeof(det_tensors_write_options), NULL }

/** Writes tensors into a checkpoint that is being written. With `shard` in its options all ranks in
 * step, each with its own tensors or parts, perhaps none; a part that several ranks have alike is
 * written by one of them. Blocks until the data is in the directory of the checkpoint: the memory
 * may change then. What was queued on a CUDA device before is waited for. Progress is told as
 * the options of `writer` say. The commit does not read the files again.
 *
 * One rank writes the file `name`. Several write a file each, "model-00001-of-00004.safetensors"
 * for the name "model.safetensors", and the chief "model.safetensors.index.json".
 * @param[in] writer    From det_checkpoint_writer_begin(), not committed.
 * @param[in] name     Of the file in the checkpoint, '/' between parts; ends in ".safetensors".
 * @param[in] tensors  NULL only with `count` 0.
 * @param[in] options  NULL for the defaults.
 * @return DET_OK; DET_E_INVALID (a name, dtype, shape or part that cannot be: the message names the
 * tensor); DET_E_CONFLICT (the file is there already; what ranks have of a tensor contradicts
 * each other, overlaps, or leaves something out); DET_E_UNSUPPORTED (no CUDA driver; part of a
 * tensor whose elements are less than a byte); DET_E_STATE (committed or aborted before; closed);
 * DET_E_FULL, DET_E_ACCESS, DET_E_IO; DET_E_CALLBACK. After a failure there is no such file, and
 * another call may be tried.   @since 0.1 */
DET_API det_status det_tensors_write(det_checkpoint_writer *writer, const char *name,
                                     const det_tensor *tensors, size_t count,
                                     const det_tensors_write_options *options,
                                     det_error *err) DET_NOEXCEPT;

/** Opens the tensors of a checkpoint: the file `name`, or the files that its index lists. Any rank
 * that has `reader`, no step. Reads the headers.
 * @param[in]  reader   Need not outlive the handle, but what it opened must: where the checkpoint
 *                      is a temporary copy, keep it.
 * @param[in]  name     As for det_tensors_write().
 * @param[out] out      Receives the handle; release with det_tensors_free(). NULL on failure.
 * @return DET_OK; DET_E_INVALID (name); DET_E_NOT_FOUND; DET_E_CORRUPT (names the file and the
 * tensor); DET_E_ACCESS, DET_E_IO.   @since 0.1 */
DET_API det_status det_tensors_open(det_checkpoint_reader *reader, const char *name,
                                    det_tensors **out, det_error *err) DET_NOEXCEPT;

/** As det_tensors_open(), of any file, such as one that another program wrote; needs no core.
 * @param[in] path  Of the file; where it is not there, of the file with ".index.json" behind it.
 * @return As det_tensors_open().   @since 0.1 */
DET_API det_status det_tensors_open_path(const char *path, det_tensors **out,
                                         det_error *err) DET_NOEXCEPT;

/** Number of tensors. 0 for NULL.   @since 0.1 */
DET_API size_t det_tensors_count(const det_tensors *tensors) DET_NOEXCEPT;

/** The index of a tensor, in the order of the names.
 * @return -1 where there is none of that name, and for NULL.   @since 0.1 */
DET_API int64_t det_tensors_find(const det_tensors *tensors, const char *name) DET_NOEXCEPT;

/** The name of a tensor.
 * @param[in] index  From 0.
 * @return Borrowed from `tensors`; NULL for NULL and beyond the end.   @since 0.1 */
DET_API const char *det_tensors_name(const det_tensors *tensors, size_t index) DET_NOEXCEPT;

/** The dtype of a tensor; 0 for NULL and beyond the end.   @since 0.1 */
DET_API det_dtype det_tensors_dtype(const det_tensors *tensors, size_t index) DET_NOEXCEPT;

/** The number of dimensions of a tensor; 0 for NULL and beyond the end.   @since 0.1 */
DET_API size_t det_tensors_dimensions(const det_tensors *tensors, size_t index) DET_NOEXCEPT;

/** The shape of a tensor, as a whole.
 * @return Borrowed from `tensors`, with as many entries as there are dimensions; NULL for NULL and
 * beyond the end.   @since 0.1 */
DET_API const int64_t *det_tensors_shape(const det_tensors *tensors, size_t index) DET_NOEXCEPT;

/** Bytes of a tensor; 0 for NULL and beyond the end.   @since 0.1 */
DET_API int64_t det_tensors_size(const det_tensors *tensors, size_t index) DET_NOEXCEPT;

/** What the file says beside the tensors; of several files the first.
 * @return A JSON object of texts, borrowed from `tensors`; NULL for NULL.   @since 0.1 */
DET_API const char *det_tensors_metadata(const det_tensors *tensors) DET_NOEXCEPT;

/** Options of det_tensors_read(). */
typedef struct det_tensors_read_options {
  size_t struct_size;             /**< sizeof(det_tensors_read_options). */
  det_progress_callback progress; /**< Told how far reading is. NULL: nobody. */
  void *user_data;                /**< For it. */
} det_tensors_read_options;

/** Initialiser with the defaults. */
#define DET_TENSORS_READ_OPTIONS_INIT \
  { sizeof(det_tensors_read_options), NULL, NULL }

/** Reads tensors, or parts of them, into the caller's memory. Each rank what it wants, no step; of
 * one handle several threads at once. All that is wanted is checked before anything is read.
 * Blocks.
 * @param[in] wanted  What det_tensors_write() takes, to be filled. NULL only with `count` 0.
 * @param[in] options NULL for the defaults.
 * @return DET_OK; DET_E_NOT_FOUND (no such tensor); DET_E_INVALID (another dtype or shape: the
 * message has both); DET_E_UNSUPPORTED (as det_tensors_write()); DET_E_CONFLICT (the file changed
 * since it was opened); DET_E_CORRUPT, DET_E_ACCESS, DET_E_IO (the memory has any contents then);
 * DET_E_CALLBACK.   @since 0.1 */
DET_API det_status det_tensors_read(const det_tensors *tensors, const det_tensor *wanted,
                                    size_t count, const det_tensors_read_options *options,
                                    det_error *err) DET_NOEXCEPT;

/** Releases the handle. NULL does nothing.   @since 0.1 */
DET_API void det_tensors_free(det_tensors *tensors) DET_NOEXCEPT;

/** Memory of the program that belongs to its state. */
typedef struct det_buffer {
  const char *name; /**< As of a tensor: UTF-8, not empty, each once. */
  void *data;       /**< NULL only with `size` 0. May be CUDA memory. */
  size_t size;      /**< In bytes. */
} det_buffer;

/** Saves the state of a program as a checkpoint, in one call: the buffers as tensors of bytes in
 * its file "state.safetensors", and `steps_completed` as its metadata. In a job of several ranks
 * all ranks in step: what ranks have under the same name must be the same bytes, and is written
 * once. Blocks until the checkpoint is stored.
 * @param[in]  steps_completed  Of the training, from 0.
 * @param[in]  buffers          NULL only with `count` 0.
 * @param[out] out_storage_id   Receives the id; release with det_free(). NULL if not needed.
 * @return As det_checkpoint_writer_begin(), det_tensors_write() and
 * det_checkpoint_writer_commit().   @since 0.1 */
DET_API det_status det_state_save(det_checkpoint_context *checkpoint, int64_t steps_completed,
                                  const det_buffer *buffers, size_t count, char **out_storage_id,
                                  det_error *err) DET_NOEXCEPT;

/** Fills buffers with what det_state_save() has stored. In a job of several ranks all ranks in
 * step, each with what it wants. All names and sizes are checked before anything is filled. Blocks.
 * @param[in]  storage_id           NULL: the checkpoint that this run begins with. Where there is
 *                                  none, nothing is filled and the steps are 0, so that a program
 *                                  can call this at each start.
 * @param[in]  buffers              To be filled. NULL only with `count` 0.
 * @param[out] out_steps_completed  Receives the steps of the checkpoint. NULL if not needed.
 * @return As det_checkpoint_reader_open(), det_tensors_open() and det_tensors_read(). A buffer of
 * another size is DET_E_INVALID.   @since 0.1 */
DET_API det_status det_state_load(det_checkpoint_context *checkpoint, const char *storage_id,
                                  const det_buffer *buffers, size_t count,
                                  int64_t *out_steps_completed, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

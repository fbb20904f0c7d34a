/**
 * @file
 * @brief Keeps data sets in files, so that one process makes them and all others read them.
 *
 * A data set is a file of records. A record is any bytes. The file is below a directory on a local
 * or shared file system. Machines without a shared file system share a bucket, and each has a copy.
 *
 * The first process that opens a data set writes it, and others wait. If the writer ends before
 * det_trial_cache_writer_commit(), one of the waiting processes takes over.
 *
 * An incomplete data set is never read. Every read is checked: damage is DET_E_CORRUPT, and the
 * message names the file. Follows cache_train_dataset() and cache_validation_dataset().
 */
#ifndef DET_TRIAL_CACHE_H
#define DET_TRIAL_CACHE_H

#include <det/storage.h>

DET_BEGIN_DECLS

/** A complete data set. It takes 12 bytes of memory for each record. */
typedef struct det_trial_cache det_trial_cache;

/** Writes a data set. Use it on one thread at a time. It holds a lock that ends with the process.
 */
typedef struct det_trial_cache_writer det_trial_cache_writer;

/** Reads a shard of a data set. Use it on one thread at a time. */
typedef struct det_trial_cache_reader det_trial_cache_reader;

/** Opens a data set, or begins to write it if it is missing.
 *
 * One of the two results is set, and the other is NULL. Any rank may call it. It waits while
 * another process writes the data set.
 * @param[in]  directory   Keeps the data sets. It is made if it is missing. Everyone who can write
 *                         here is trusted with the contents of the data sets.
 * @param[in]  id          The name of the data set, any text that is not empty.
 * @param[in]  version     The version of the data set, any text that is not empty.
 * @param[in]  timeout_ms  The limit of the wait. DET_TIMEOUT_DEFAULT: none.
 * @param[out] out_cache   Receives the data set. Release it with det_trial_cache_free().
 * @param[out] out_writer  Receives the writer. Add the records, commit, release it, and open the
 *                         data set.
 * @retval DET_OK             One of the two is set.
 * @retval DET_E_INVALID      A name is empty, or has more than 255 bytes as a file name.
 * @retval DET_E_TIMEOUT      Another process still writes the data set.
 * @retval DET_E_CORRUPT      The file is damaged, or is no such file. Remove it.
 * @retval DET_E_UNSUPPORTED  A newer release wrote the file.
 * @retval DET_E_ACCESS       Permission is missing.
 * @retval DET_E_IO           Reading or writing failed.
 * @retval DET_E_FULL         The disk is full.
 * @since 0.1 */
DET_API det_status det_trial_cache_open(const char *directory, const char *id, const char *version,
                                        det_timeout timeout_ms, det_trial_cache **out_cache,
                                        det_trial_cache_writer **out_writer,
                                        det_error *err) DET_NOEXCEPT;

/** Opens a data set in a bucket, with a copy in a directory of this machine.
 *
 * Everything else is as for det_trial_cache_open(). The bucket counts. If it has another file, the
 * copy is replaced. If it has none, the data set is made anew.
 *
 * It blocks while a file is downloaded. det_trial_cache_writer_commit() blocks while the file is
 * uploaded. A file in the bucket is complete or missing.
 *
 * Machines do not wait for each other. If two write the same data set, the file of the first one
 * stays. Above 32 MiB it may be that of the last one. Open the data set again to get that file.
 * @param[in] bucket     From det_storage_open(), with a prefix for data sets alone. You may free it
 *                       at once.
 * @param[in] directory  For the copies of this bucket alone, on a local file system.
 * @return As det_trial_cache_open() and det_storage_list(). Also DET_E_INVALID if `bucket` is a
 * directory.
 * @since 0.1 */
DET_API det_status det_trial_cache_open_bucket(det_storage *bucket, const char *directory,
                                               const char *id, const char *version,
                                               det_timeout timeout_ms, det_trial_cache **out_cache,
                                               det_trial_cache_writer **out_writer,
                                               det_error *err) DET_NOEXCEPT;

/** Adds records to the end. They are copied. 12 bytes of memory are kept for each.
 * @param[in] records  `count` records, one after the other.
 * @param[in] sizes    The bytes of each record. 0 is allowed.
 * @param[in] count    The number of records.
 * @retval DET_OK         Added.
 * @retval DET_E_INVALID  An argument is NULL or too large.
 * @retval DET_E_STATE    A call failed before, or the data set is committed.
 * @retval DET_E_FULL     The disk is full.
 * @retval DET_E_IO       Writing failed.
 * @retval DET_E_NOMEM    Out of memory.
 * @return After a failure, release the writer.
 * @since 0.1 */
DET_API det_status det_trial_cache_writer_add(det_trial_cache_writer *writer, const void *records,
                                              const size_t *sizes, size_t count,
                                              det_error *err) DET_NOEXCEPT;

/** Completes the data set. From then on others can read it, also after a power cut. Waits for the
 * disk.
 * @param[in] metadata  Facts about the records for their readers, as UTF-8. NULL: nothing.
 * @return As det_trial_cache_writer_add(). With a bucket also as det_storage_upload().
 * @since 0.1 */
DET_API det_status det_trial_cache_writer_commit(det_trial_cache_writer *writer,
                                                 const char *metadata, det_error *err) DET_NOEXCEPT;

/** Releases a writer. Without a commit its records are deleted, and a process that waits begins
 * anew. NULL does nothing.
 * @since 0.1 */
DET_API void det_trial_cache_writer_free(det_trial_cache_writer *writer) DET_NOEXCEPT;

/** Returns the number of records; 0 for NULL.
 * @since 0.1 */
DET_API int64_t det_trial_cache_count(const det_trial_cache *cache) DET_NOEXCEPT;

/** Returns the bytes of the largest record; 0 for NULL.
 * @since 0.1 */
DET_API size_t det_trial_cache_largest(const det_trial_cache *cache) DET_NOEXCEPT;

/** Returns the metadata that the writer committed.
 * @return A string of the cache. "" for no metadata and for NULL.
 * @since 0.1 */
DET_API const char *det_trial_cache_metadata(const det_trial_cache *cache) DET_NOEXCEPT;

/** Releases a data set. Its readers continue. NULL does nothing.
 * @since 0.1 */
DET_API void det_trial_cache_free(det_trial_cache *cache) DET_NOEXCEPT;

/** Options of det_trial_cache_reader_create(): the records of a reader, and their order. */
typedef struct det_trial_cache_reader_options {
  size_t struct_size; /**< Set by DET_TRIAL_CACHE_READER_OPTIONS_INIT. */
  /** The number of this shard, from 0. Usually the rank. It has every `shards`th record. */
  int64_t shard;
  int64_t shards; /**< The number of shards. Usually that of ranks. 0: one. */
  /** Records that this shard has read before. It may be more than an epoch has. */
  int64_t offset;
  int32_t shuffle; /**< 1: shuffles the shard as NumPy's RandomState(seed + epoch). */
  /** 1: RandomState(seed) in every epoch. Follows skip_shuffle_at_epoch_end. */
  int32_t same_order;
  /** 1: leaves out the last records, so that all shards have the same number. */
  int32_t drop_remainder;
  uint32_t seed; /**< The same for all shards. The sum wraps at 2^32. */
} det_trial_cache_reader_options;

/** Initialiser with one shard, in the order in which the records were added. */
#define DET_TRIAL_CACHE_READER_OPTIONS_INIT \
  { sizeof(det_trial_cache_reader_options), 0, 0, 0, 0, 0, 0, 0 }

/** Makes a reader. To shuffle takes 8 bytes of memory for each record of the shard.
 * @param[in]  cache    The reader keeps it open.
 * @param[in]  options  NULL: the defaults.
 * @param[out] out      Receives the reader. Release it with det_trial_cache_reader_free().
 * @retval DET_OK         `out` has the reader.
 * @retval DET_E_INVALID  There is no such shard, or there are fewer records than shards.
 * @since 0.1 */
DET_API det_status det_trial_cache_reader_create(const det_trial_cache *cache,
                                                 const det_trial_cache_reader_options *options,
                                                 det_trial_cache_reader **out,
                                                 det_error *err) DET_NOEXCEPT;

/** Returns the number of records that the shard has in an epoch; 0 for NULL.
 * @since 0.1 */
DET_API int64_t det_trial_cache_reader_length(const det_trial_cache_reader *reader) DET_NOEXCEPT;

/** Reads the next records into your memory, one after the other, until the next one does not fit.
 *
 * It may wait for the disk. There is no last epoch. After a failure the place of the reader is
 * unchanged.
 * @param[out] buffer     `capacity` bytes. det_trial_cache_largest() bytes are enough for one
 *                        record.
 * @param[out] sizes      The bytes of each record. It has room for `most`.
 * @param[out] out_count  The number of records that were read.
 * @retval DET_OK         Records were read.
 * @retval DET_DONE       The epoch is over. The next call begins another one.
 * @retval DET_E_INVALID  Not even one record fits. The message has the bytes of the largest one.
 * @retval DET_E_CORRUPT  The file is damaged.
 * @retval DET_E_IO       Reading failed.
 * @since 0.1 */
DET_API det_status det_trial_cache_reader_next(det_trial_cache_reader *reader, void *buffer,
                                               size_t capacity, size_t *sizes, size_t most,
                                               size_t *out_count, det_error *err) DET_NOEXCEPT;

/** Releases a reader. NULL does nothing.
 * @since 0.1 */
DET_API void det_trial_cache_reader_free(det_trial_cache_reader *reader) DET_NOEXCEPT;

DET_END_DECLS

#endif

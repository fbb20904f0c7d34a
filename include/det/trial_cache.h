/**
 * @file
 * @brief Data sets kept in files, for trials and ranks to read what one of them has made (seed:
 * cache_train_dataset, cache_validation_dataset).
 *
 * A data set is a file of records, bytes of any kind, below a directory on a local or shared file
 * system. The first process that opens it writes it; others wait, and one of them takes over where
 * the writer ends without det_trial_cache_writer_commit(). What is not complete is never read, and
 * what is read is checked: damage is DET_E_CORRUPT, with a message that names the file. Machines
 * without a shared file system have a bucket in common, and a copy each.
 */
#ifndef DET_TRIAL_CACHE_H
#define DET_TRIAL_CACHE_H

#include <det/storage.h>

DET_BEGIN_DECLS

/** A complete data set. It takes 12 bytes of memory a record. */
typedef struct det_trial_cache det_trial_cache;

/** Writes a data set; for one thread at a time. It holds a lock that ends with the process. */
typedef struct det_trial_cache_writer det_trial_cache_writer;

/** Goes through a shard of a data set; for one thread at a time. */
typedef struct det_trial_cache_reader det_trial_cache_reader;

/** Opens a data set, or begins to write it where it is not there: one of the two is given, and the
 * other is NULL. May be called by any rank; waits while another process writes the data set.
 * @param[in] directory   Where data sets are kept; made where it is not there. Whoever may write
 *                        in it is trusted with what the data sets contain.
 * @param[in] id          Of the data set; any text but an empty one. So is `version`.
 * @param[in] timeout_ms  How long to wait for a writer; DET_TIMEOUT_DEFAULT: without limit.
 * @param[out] out_cache  Release it with det_trial_cache_free().
 * @param[out] out_writer Add the records, commit, release it, and open the data set.
 * @return DET_OK; DET_E_INVALID (an empty name, one of more than 255 bytes as the name of a file);
 * DET_E_TIMEOUT (it is being written); DET_E_CORRUPT (damaged, or no such file: remove it);
 * DET_E_UNSUPPORTED (a newer release wrote it); DET_E_ACCESS, DET_E_IO, DET_E_FULL.   @since 0.1 */
DET_API det_status det_trial_cache_open(const char *directory, const char *id, const char *version,
                                        det_timeout timeout_ms, det_trial_cache **out_cache,
                                        det_trial_cache_writer **out_writer,
                                        det_error *err) DET_NOEXCEPT;

/** As det_trial_cache_open(), of a data set in a bucket, with a copy of it in a directory of this
 * machine. The copy is replaced where the bucket has another file, and what is only here is made
 * anew. Blocks while a file is brought; det_trial_cache_writer_commit() blocks while it is sent. A
 * file is in the bucket whole or not at all. Machines do not wait for each other: of two that write
 * the same data set, the first one's file stays (of files of more than 32 MiB, the last one's may),
 * and opening it again gives that one.
 * @param[in] bucket     From det_storage_open(), with a prefix for data sets alone; it may be freed
 *                       at once.
 * @param[in] directory  For copies of this bucket alone, on a local file system.
 * @return As det_trial_cache_open() and det_storage_list(); DET_E_INVALID where `bucket` is a
 * directory.   @since 0.1 */
DET_API det_status det_trial_cache_open_bucket(det_storage *bucket, const char *directory,
                                               const char *id, const char *version,
                                               det_timeout timeout_ms, det_trial_cache **out_cache,
                                               det_trial_cache_writer **out_writer,
                                               det_error *err) DET_NOEXCEPT;

/** Adds records to the end. They are copied; 12 bytes of memory are kept of each.
 * @param[in] records  `count` of them, one after the other.
 * @param[in] sizes    In bytes, of each; 0 is one, too.
 * @return DET_OK; DET_E_INVALID; DET_E_FULL, DET_E_IO, DET_E_NOMEM; DET_E_STATE (it failed before,
 * or is committed). After a failure release it.   @since 0.1 */
DET_API det_status det_trial_cache_writer_add(det_trial_cache_writer *writer, const void *records,
                                              const size_t *sizes, size_t count,
                                              det_error *err) DET_NOEXCEPT;

/** Completes the data set; from then on all others read it, also after a power cut. Waits for the
 * disk.
 * @param[in] metadata  What a reader must know of the records, as UTF-8; NULL: nothing.
 * @return As det_trial_cache_writer_add(), and as det_storage_upload() where it is sent to a
 * bucket.   @since 0.1 */
DET_API det_status det_trial_cache_writer_commit(det_trial_cache_writer *writer,
                                                 const char *metadata, det_error *err) DET_NOEXCEPT;

/** Releases a writer. Without a commit nothing is left of what it wrote, and another process that
 * waits begins anew. NULL does nothing.   @since 0.1 */
DET_API void det_trial_cache_writer_free(det_trial_cache_writer *writer) DET_NOEXCEPT;

/** How many records there are; 0 for NULL.   @since 0.1 */
DET_API int64_t det_trial_cache_count(const det_trial_cache *cache) DET_NOEXCEPT;

/** How many bytes the largest record has; 0 for NULL.   @since 0.1 */
DET_API size_t det_trial_cache_largest(const det_trial_cache *cache) DET_NOEXCEPT;

/** What the writer said at its commit, "" for nothing and for NULL. Lives as long as the cache.
 * @since 0.1 */
DET_API const char *det_trial_cache_metadata(const det_trial_cache *cache) DET_NOEXCEPT;

/** Releases a data set; readers go on. NULL does nothing.   @since 0.1 */
DET_API void det_trial_cache_free(det_trial_cache *cache) DET_NOEXCEPT;

/** Which records a reader gives, and in which order. */
typedef struct det_trial_cache_reader_options {
  size_t struct_size;     /**< Set by DET_TRIAL_CACHE_READER_OPTIONS_INIT. */
  int64_t shard;          /**< From 0 on; usually the rank. It has every `shards`th record. */
  int64_t shards;         /**< How many; usually the number of ranks. 0: one. */
  int64_t offset;         /**< Records of this shard that it has had before; more than an epoch has
                               means that it goes on in a later one. */
  int32_t shuffle;        /**< 1: as NumPy's RandomState(seed + epoch) shuffles the shard. */
  int32_t same_order;     /**< 1: every epoch is shuffled by RandomState(seed) (seed:
                               skip_shuffle_at_epoch_end). */
  int32_t drop_remainder; /**< 1: all shards have as many records; the last ones are left out. */
  uint32_t seed;          /**< The same for all shards; the sum wraps at 2^32. */
} det_trial_cache_reader_options;

/** One shard, in the order in which the records were added. */
#define DET_TRIAL_CACHE_READER_OPTIONS_INIT \
  { sizeof(det_trial_cache_reader_options), 0, 0, 0, 0, 0, 0, 0 }

/** Makes a reader. Shuffling takes 8 bytes of memory for each record of the shard.
 * @param[in] cache    Kept open by the reader.
 * @param[in] options  NULL: the defaults.
 * @param[out] out     Release it with det_trial_cache_reader_free().
 * @return DET_OK; DET_E_INVALID (no such shard, or fewer records than shards).   @since 0.1 */
DET_API det_status det_trial_cache_reader_create(const det_trial_cache *cache,
                                                 const det_trial_cache_reader_options *options,
                                                 det_trial_cache_reader **out,
                                                 det_error *err) DET_NOEXCEPT;

/** How many records the shard has in an epoch; 0 for NULL.   @since 0.1 */
DET_API int64_t det_trial_cache_reader_length(const det_trial_cache_reader *reader) DET_NOEXCEPT;

/** Reads the next records into the caller's memory, one after the other: as many as fit. May wait
 * for the disk. There is no last epoch.
 * @param[out] buffer    `capacity` bytes; det_trial_cache_largest() are enough for one.
 * @param[out] sizes     In bytes, of each; room for `most`.
 * @param[out] out_count How many were read.
 * @return DET_OK; DET_DONE (the epoch is over; the next call begins another one); DET_E_INVALID
 * (not even one fits: the message says what the largest needs); DET_E_CORRUPT; DET_E_IO. After a
 * failure it stands where it stood.   @since 0.1 */
DET_API det_status det_trial_cache_reader_next(det_trial_cache_reader *reader, void *buffer,
                                               size_t capacity, size_t *sizes, size_t most,
                                               size_t *out_count, det_error *err) DET_NOEXCEPT;

/** Releases a reader. NULL does nothing.   @since 0.1 */
DET_API void det_trial_cache_reader_free(det_trial_cache_reader *reader) DET_NOEXCEPT;

DET_END_DECLS

#endif

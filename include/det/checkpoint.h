/**
 * @file
 * @brief Saves and restores checkpoints.
 *
 * A `det_checkpoint_context` is a view borrowed from `det_core`. It is valid until det_core_free().
 * A checkpoint is a directory under a storage id.
 *
 * A checkpoint becomes visible complete or not at all. The library writes it in a private
 * directory, syncs it and renames it. Only then does the master get a report of it. A save that
 * returned DET_OK survives a power cut. There is one exception: the master could not get the
 * report, and the log has a warning. Until the master has the report, the save survives only the
 * end of the process.
 *
 * "All ranks in step" means that every rank makes the call, in the same order as its other such
 * calls. Such a call returns the same on all ranks:
 * - If it fails on one rank, it fails on the others too. They get the same code, and the message
 *   names the rank.
 * - If reading fails, it fails on the ranks of that machine.
 * - Arguments that are wrong in themselves are the exception. Examples are a forbidden NULL,
 *   unreadable options and an unknown mode. Other ranks do not see this failure.
 *
 * Ranks wait for the slowest rank to store or read its part. They wait for at most the job's
 * `timeout_ms` (det/distributed.h). Raise it if a checkpoint takes longer.
 */
#ifndef DET_CHECKPOINT_H
#define DET_CHECKPOINT_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the checkpoints. Borrowed from det_core_checkpoint(). Follows CheckpointContext. */
typedef struct det_checkpoint_context det_checkpoint_context;
/** The checkpoints of a trial at the time of the call. Owned by the caller. */
typedef struct det_checkpoint_entries det_checkpoint_entries;
/** A checkpoint being written. Owned by the caller. */
typedef struct det_checkpoint_writer det_checkpoint_writer;
/** A save that continues in the background. Owned by the caller. */
typedef struct det_checkpoint_ticket det_checkpoint_ticket;
/** A checkpoint opened for reading. Owned by the caller. */
typedef struct det_checkpoint_reader det_checkpoint_reader;

/** Decides which files take part. It runs on the thread that called the library.
 * @param[in] path  Relative to the checkpoint, with '/' between parts. A directory ends in '/'.
 *                  Valid during the call. It has the bytes of the file system, which are not always
 *                  UTF-8.
 * @return 1 to take the path, 0 to skip it, negative to stop with DET_E_CALLBACK. */
typedef int32_t (*det_checkpoint_selector)(const char *path, void *user_data);

/** The progress of a long call on this rank. */
typedef struct det_progress {
  size_t struct_size;  /**< sizeof(det_progress). */
  int64_t bytes;       /**< Done so far. Never decreases. */
  int64_t total_bytes; /**< All work known so far. May grow. -1: unknown. */
  int64_t files;       /**< Done so far. */
  int64_t total_files; /**< As `total_bytes`. */
} det_progress;

/** Receives progress, a few times a second and at the end.
 *
 * It runs on the thread that called the library. `progress` is valid during the call. The callback
 * must not call the library.
 * @return 0 to continue; negative to stop the call. It then fails with DET_E_CALLBACK, and leaves
 * nothing visible, as after any other failure. */
typedef int32_t (*det_progress_callback)(const det_progress *progress, void *user_data);

/** Sets how ranks share a download. Follows DownloadMode. */
typedef int32_t det_download_mode;
#define DET_DOWNLOAD_MODE_LOCAL_WORKERS_SHARE                                           \
  0                                   /**< All ranks in step; one download per machine. \
                                       */
#define DET_DOWNLOAD_MODE_NO_SHARED 1 /**< This rank alone, for itself. */

/** Options of det_checkpoint_upload() and det_checkpoint_writer_begin(). */
typedef struct det_checkpoint_options {
  size_t struct_size;               /**< sizeof(det_checkpoint_options). */
  det_checkpoint_selector selector; /**< For uploads only. NULL takes everything. */
  det_progress_callback progress;   /**< Receives the progress of the upload or commit, or NULL. */
  void *user_data;                  /**< For both. */
  int32_t shard;                    /**< 1: all ranks in step, each with its own files. */
  int32_t reserved;                 /**< 0. */
} det_checkpoint_options;

/** Initialiser with the defaults. */
#define DET_CHECKPOINT_OPTIONS_INIT \
  { sizeof(det_checkpoint_options), NULL, NULL, NULL, 0, 0 }

/** Options of det_checkpoint_download() and det_checkpoint_reader_open(). */
typedef struct det_download_options {
  size_t struct_size;               /**< sizeof(det_download_options). */
  det_checkpoint_selector selector; /**< NULL takes everything. */
  det_progress_callback progress;   /**< Receives the progress of the download, or NULL. */
  void *user_data;                  /**< For both. */
  det_download_mode mode;           /**< One of DET_DOWNLOAD_MODE_*. */
  int32_t skip_verification;        /**< 1: compare sizes only, not checksums. */
} det_download_options;

/** Initialiser with the defaults. */
#define DET_DOWNLOAD_OPTIONS_INIT \
  { sizeof(det_download_options), NULL, NULL, NULL, 0, 0 }

/** Stores the contents of a directory as a new checkpoint.
 *
 * Only the chief may call it, or all ranks in step with `shard`. It writes `metadata.json` into
 * `directory` first. It blocks until the checkpoint is durable. Then it waits some seconds at most
 * until the master has the report of it. Reports made before may go first.
 *
 * If the master does not take the report in that time, the report waits in the journal, and the log
 * has a warning. There it survives a kill. It reaches the master as soon as possible, before those
 * other reports.
 *
 * With `shard` the checkpoint has the files of all ranks:
 * - Several ranks may name the same directory of one machine without a selector. Then the lowest of
 *   them stores it for all.
 * - If several ranks bring one file with the same contents, it is stored once.
 * - The lowest rank that stores anything gets `metadata.json` into its directory.
 *
 * Follows CheckpointContext.upload().
 * @param[in]  directory       The checkpoint does not keep its name. NULL only with `shard`: this
 *                             rank has no files.
 * @param[in]  metadata_json   A JSON object with an integer "steps_completed" >= 0. With `shard`
 *                             the objects of all ranks are merged and must not contradict each
 *                             other. NULL then adds nothing.
 * @param[in]  options         NULL for the defaults.
 * @param[out] out_storage_id  Receives the id, the same on all ranks. Release it with det_free().
 *                             NULL on failure.
 * @retval DET_OK           The checkpoint is stored.
 * @retval DET_E_INVALID    The metadata is wrong.
 * @retval DET_E_STATE      This rank is not the chief, or the core is closed.
 * @retval DET_E_NOT_FOUND  The directory does not exist.
 * @retval DET_E_CONFLICT   Ranks brought different files of one name, or different metadata. The
 *                          chief's message lists the names with their ranks. Or a file changed
 *                          while it was copied.
 * @retval DET_E_FULL       The disk or a quota is full. Nothing visible remains.
 * @retval DET_E_ACCESS     Permission or credentials are missing. Nothing visible remains.
 * @retval DET_E_IO         Reading or writing failed. Nothing visible remains.
 * @retval DET_E_CALLBACK   A callback stopped the call.
 * @since 0.1 */
DET_API det_status det_checkpoint_upload(det_checkpoint_context *checkpoint, const char *directory,
                                         const char *metadata_json,
                                         const det_checkpoint_options *options,
                                         char **out_storage_id, det_error *err) DET_NOEXCEPT;

/** Opens a new checkpoint to write into.
 *
 * Only the chief may call it, or all ranks in step with `shard`. It checks the metadata before it
 * stores anything. Follows the start of a CheckpointContext.store_path() block.
 * @param[in]  metadata_json  As for det_checkpoint_upload(). NULL: you give it before the commit
 *                            with det_checkpoint_writer_set_metadata(). With `shard` this applies
 *                            to all ranks together.
 * @param[in]  options        NULL for the defaults.
 * @param[out] out            Receives the handle. Release it with det_checkpoint_writer_free().
 * @return As det_checkpoint_upload().
 * @since 0.1 */
DET_API det_status det_checkpoint_writer_begin(det_checkpoint_context *checkpoint,
                                               const char *metadata_json,
                                               const det_checkpoint_options *options,
                                               det_checkpoint_writer **out,
                                               det_error *err) DET_NOEXCEPT;

/** Returns the empty directory to write into. It stays private until the commit.
 *
 * With `shard` all ranks have the same directory. They must not write the same file.
 * @return Borrowed from `writer`; NULL for NULL.
 * @since 0.1 */
DET_API const char *det_checkpoint_writer_path(const det_checkpoint_writer *writer) DET_NOEXCEPT;

/** Returns the storage id that the checkpoint will have.
 * @return Borrowed from `writer`; NULL for NULL.
 * @since 0.1 */
DET_API const char *det_checkpoint_writer_id(const det_checkpoint_writer *writer) DET_NOEXCEPT;

/** Sets the metadata, and replaces any that this rank gave before.
 *
 * Use it for values that you know only after the files are written, such as a loss. It does not
 * block. With `shard` each rank calls it for itself. The commit checks the metadata of all ranks
 * together.
 * @param[in] metadata_json  As for det_checkpoint_upload().
 * @retval DET_OK         The metadata is set.
 * @retval DET_E_INVALID  The metadata is wrong.
 * @retval DET_E_STATE    The checkpoint was committed or aborted before, or the core is closed.
 * @since 0.1 */
DET_API det_status det_checkpoint_writer_set_metadata(det_checkpoint_writer *writer,
                                                      const char *metadata_json,
                                                      det_error *err) DET_NOEXCEPT;

/** Makes the checkpoint durable and visible, and reports it to the master.
 *
 * The report may reach the master later, as with det_checkpoint_upload(). With `shard` all ranks
 * call it in step, each after it has written its files. It blocks. Call it once, and not after an
 * abort.
 *
 * After DET_E_INVALID you may commit again. After any other failure, except of a second commit,
 * nothing is visible. You can then only free the handle. Follows the end of a
 * CheckpointContext.store_path() block.
 * @retval DET_E_INVALID  The metadata is missing. Set it, and commit again.
 * @retval DET_E_STATE    The checkpoint was committed or aborted before. Or another rank aborted or
 *                        freed its handle instead.
 * @return Else as det_checkpoint_upload().
 * @since 0.1 */
DET_API det_status det_checkpoint_writer_commit(det_checkpoint_writer *writer,
                                                det_error *err) DET_NOEXCEPT;

/** Discards the written files. A second abort does nothing.
 *
 * With `shard` it takes the place of this rank's commit. It blocks until the others commit, abort
 * or free. Their commits fail. Follows an exception in a CheckpointContext.store_path() block.
 * @retval DET_OK       The files are discarded.
 * @retval DET_E_STATE  The checkpoint was committed before.
 * @retval DET_E_IO     Deleting failed.
 * @since 0.1 */
DET_API det_status det_checkpoint_writer_abort(det_checkpoint_writer *writer,
                                               det_error *err) DET_NOEXCEPT;

/** Releases the handle. Without a commit or an abort it aborts first, as
 * det_checkpoint_writer_abort() does. NULL does nothing.
 * @since 0.1 */
DET_API void det_checkpoint_writer_free(det_checkpoint_writer *writer) DET_NOEXCEPT;

/** Limits of the asynchronous saves of this core. */
typedef struct det_save_limits {
  size_t struct_size;  /**< sizeof(det_save_limits). */
  int64_t limit_bytes; /**< Of all unfinished saves of this rank together; 0 = no limit. A single
                          larger save is DET_E_FULL. */
  int32_t in_flight;   /**< The greatest number of unfinished saves; 0 = 2. */
  /** 0: a save without room waits for it. 1: it fails with DET_E_BUSY at once. */
  int32_t refuse_when_full;
} det_save_limits;

/** Initialiser with the defaults. */
#define DET_SAVE_LIMITS_INIT \
  { sizeof(det_save_limits), 0, 0, 0 }

/** Sets the limits of the asynchronous saves that follow.
 *
 * Each rank calls it for itself. It does not block.
 * @param[in] limits  NULL for the defaults. Copied.
 * @retval DET_OK         The limits are set.
 * @retval DET_E_INVALID  A limit is negative.
 * @retval DET_E_STATE    The core is closed.
 * @since 0.1 */
DET_API det_status det_checkpoint_limit_saves(det_checkpoint_context *checkpoint,
                                              const det_save_limits *limits,
                                              det_error *err) DET_NOEXCEPT;

/** The place where saves wait on this machine until they are stored. */
typedef struct det_staging_options {
  size_t struct_size;    /**< sizeof(det_staging_options). */
  const char *directory; /**< In /dev/shm, or on a disk of the machine. NULL: no staging. */
  int64_t limit_bytes;   /**< Of unfinished saves and kept copies together: 1 or more. */
} det_staging_options;

/** Initialiser with the defaults. */
#define DET_STAGING_OPTIONS_INIT \
  { sizeof(det_staging_options), NULL, 0 }

/** Sets a directory of this machine in which saves are made first. They are stored from there.
 *
 * It is for buckets and slow file systems. From now on asynchronous saves of one rank are staged.
 * So are files written between det_checkpoint_writer_begin() and its commit. Saves of all ranks are
 * not staged.
 *
 * The library keeps copies as long as `limit_bytes` allows, and drops the oldest first. It reads a
 * checkpoint from its copy instead of its storage. Before that it compares the files and, without
 * `skip_verification`, the checksums.
 *
 * If the directory has less room than `limit_bytes`, an asynchronous upload may find none. That
 * upload is saved without staging, and the log reports it. A program that writes into a checkpoint
 * there gets the usual error of a full disk. It should then abort.
 *
 * In memory, a save is written over dropped copies. This takes one to three times as long as
 * memcpy() of its bytes. Writing to new memory takes longer, so give `limit_bytes` room for two
 * saves. A dropped copy stays in memory until the next save, or until the core is closed.
 *
 * A killed process of this trial may have left saves there. They are stored now, in the background
 * and before later saves. If the directory is in memory, they do not survive a power cut. The
 * library makes a separate directory there, for this user alone. Otherwise the call does not block.
 * @param[in] options  NULL, or no directory: later saves are not staged. Copied.
 * @retval DET_OK         The directory is in use.
 * @retval DET_E_INVALID  The limit is wrong.
 * @retval DET_E_ACCESS   The directory cannot be used: permission is missing.
 * @retval DET_E_IO       The directory cannot be used: reading or writing failed.
 * @retval DET_E_FULL     The directory cannot be used: its disk is full.
 * @retval DET_E_STATE    The core is closed.
 * @since 0.1 */
DET_API det_status det_checkpoint_stage_saves(det_checkpoint_context *checkpoint,
                                              const det_staging_options *options,
                                              det_error *err) DET_NOEXCEPT;

/** Stores the contents of a directory as a new checkpoint, in the background.
 *
 * It returns as soon as you may write to `directory` again. By then the files are copied into the
 * private directory of the new checkpoint, or cloned if the file system can do that. `progress` of
 * the options receives the progress of the copy. Everything else is as for det_checkpoint_upload().
 *
 * The rest happens on one thread of the core: checksums, sync, rename and the report to the master.
 * The thread ends when no save is left. Asynchronous saves become visible in the order in which
 * they began. A save that blocks waits for those before it.
 *
 * The ticket has any failure of the background. det_checkpoint_ticket_wait() returns it each time
 * you call it. If you do not, the next call that saves fails with it once and stores nothing. These
 * are det_checkpoint_upload(), det_checkpoint_writer_begin() and their asynchronous forms. If no
 * save follows, det_core_close() fails with it. A failed save leaves nothing visible.
 *
 * det_core_close() waits for all unfinished saves, and so does det_core_free() of a core that was
 * not closed. If that takes long, the log names the save that it waits for.
 *
 * A killed process leaves the copy, and a note that names its trial. The next start of the same
 * trial finishes that checkpoint before it looks for the latest one. A power cut leaves nothing,
 * and neither does a kill before this call has returned. The next start of any trial on the storage
 * removes the remains. After a week it also removes saves that no start of their trial has
 * finished.
 *
 * With `shard` this call settles the metadata and the names, and each rank copies its files. Each
 * rank then finishes its files in the background, and informs the chief through the storage. No
 * collective runs in the background, and the ranks need no further step for the checkpoint to
 * become visible. If a rank ends before its part is done, the save fails. The chief gets the
 * failure, and so does the rank on which it happened.
 *
 * For such a save, det_checkpoint_ticket_wait() and det_checkpoint_ticket_cancel() are calls that
 * all ranks make in step.
 * @param[in]  directory      As for det_checkpoint_upload().
 * @param[in]  metadata_json  As for det_checkpoint_upload().
 * @param[in]  options        NULL for the defaults.
 * @param[out] out            Receives the ticket. Release it with det_checkpoint_ticket_free().
 *                            NULL on failure.
 * @retval DET_E_FULL  The save exceeds `limit_bytes` of det_save_limits, or the disk is full.
 * @retval DET_E_BUSY  There is no room by det_save_limits. Call again later.
 * @return Else as det_checkpoint_upload(), or the failure of an earlier asynchronous save.
 * @since 0.1 */
DET_API det_status det_checkpoint_upload_async(det_checkpoint_context *checkpoint,
                                               const char *directory, const char *metadata_json,
                                               const det_checkpoint_options *options,
                                               det_checkpoint_ticket **out,
                                               det_error *err) DET_NOEXCEPT;

/** Commits a checkpoint in the background.
 *
 * It does not copy the files, because they are already in place. Nobody may write to them any more.
 * You may free `writer`. The background does the rest as after det_checkpoint_upload_async().
 * Everything else is as for det_checkpoint_writer_commit().
 * @param[out] out  As for det_checkpoint_upload_async().
 * @retval DET_E_FULL  The save exceeds `limit_bytes` of det_save_limits, or the disk is full.
 * @retval DET_E_BUSY  There is no room by det_save_limits. Commit again. With `shard`, begin a new
 *                     checkpoint.
 * @return Else as det_checkpoint_writer_commit().
 * @since 0.1 */
DET_API det_status det_checkpoint_writer_commit_async(det_checkpoint_writer *writer,
                                                      det_checkpoint_ticket **out,
                                                      det_error *err) DET_NOEXCEPT;

/** The state of an asynchronous save. */
typedef int32_t det_ticket_state;
#define DET_TICKET_WAITING 0 /**< It waits for earlier saves. */
/** The save is under way. On ranks except the chief it stays so after their part is done. */
#define DET_TICKET_SAVING 1
#define DET_TICKET_SAVED 2  /**< Durable and visible. The master has the report, or will get it. */
#define DET_TICKET_FAILED 3 /**< Nothing is visible. */
#define DET_TICKET_CANCELLED 4 /**< Nothing remains. */

/** Returns the storage id that the checkpoint has or will have.
 * @return Borrowed from `ticket`; NULL for NULL.
 * @since 0.1 */
DET_API const char *det_checkpoint_ticket_id(const det_checkpoint_ticket *ticket) DET_NOEXCEPT;

/** Gets the state and progress of a save, as this rank knows them.
 *
 * Any thread may call it, on any rank. It does not block.
 * @param[out] out_state     One of DET_TICKET_*. May be NULL.
 * @param[out] out_progress  Of the background work on this rank. Filled up to its `struct_size`.
 *                           May be NULL.
 * @retval DET_OK         The values are filled.
 * @retval DET_E_INVALID  `ticket` is NULL.
 * @retval DET_E_STATE    This is a forked child.
 * @since 0.1 */
DET_API det_status det_checkpoint_ticket_poll(const det_checkpoint_ticket *ticket,
                                              det_ticket_state *out_state,
                                              det_progress *out_progress,
                                              det_error *err) DET_NOEXCEPT;

/** Waits until the save has ended.
 *
 * For a save of all ranks all of them call it in step, and the chief's time limit counts. You may
 * also call it after det_core_close(). For a save of all ranks only the chief may do so. It blocks.
 * @param[in] timeout_ms  By default, and with DET_TIMEOUT_INFINITE, no limit.
 * @retval DET_OK         The checkpoint is saved.
 * @retval DET_E_TIMEOUT  The save has not ended yet.
 * @retval DET_E_STATE    The save was cancelled, or this is a forked child.
 * @return Else the failure of the save.
 * @since 0.1 */
DET_API det_status det_checkpoint_ticket_wait(det_checkpoint_ticket *ticket, det_timeout timeout_ms,
                                              det_error *err) DET_NOEXCEPT;

/** Cancels the save, and removes everything of it.
 *
 * For a save of all ranks all of them call it in step. It blocks until the current part of the work
 * is done, such as a sync of the disk.
 * @retval DET_OK       Nothing of the save remains. It may have failed or been cancelled before.
 * @retval DET_E_STATE  It was saved before; det_checkpoint_delete() removes it. Or this is a forked
 *                      child.
 * @since 0.1 */
DET_API det_status det_checkpoint_ticket_cancel(det_checkpoint_ticket *ticket,
                                                det_error *err) DET_NOEXCEPT;

/** Releases the ticket. The save continues. NULL does nothing.
 * @since 0.1 */
DET_API void det_checkpoint_ticket_free(det_checkpoint_ticket *ticket) DET_NOEXCEPT;

/** Copies a checkpoint into a directory, and verifies it against its manifest.
 *
 * It makes a missing directory. The copies belong to the caller, without setuid, setgid and sticky
 * bits. It blocks.
 *
 * In the shared mode all ranks call it in step. Local rank 0 of each machine downloads into its
 * directory all files that any rank of the machine selects. Without a selector a rank selects
 * everything. Each selector is asked about every path. Follows CheckpointContext.download().
 * @param[in] storage_id  From an earlier save. It has letters, digits, '-', '_' and '.', and does
 *                        not begin with a dot.
 * @param[in] directory   Files of the same name are replaced, and other files stay. In the shared
 *                        mode only local rank 0 writes into it. It is not made if all files are
 *                        rejected.
 * @param[in] options     NULL for the defaults.
 * @retval DET_OK           The files are in the directory.
 * @retval DET_E_INVALID    The id or the mode is wrong.
 * @retval DET_E_NOT_FOUND  There is no such checkpoint.
 * @retval DET_E_CORRUPT    A file is missing or damaged. The message names it.
 * @retval DET_E_FULL       The disk is full.
 * @retval DET_E_ACCESS     Permission or credentials are missing.
 * @retval DET_E_IO         Reading or writing failed.
 * @retval DET_E_CALLBACK   A callback stopped the call.
 * @retval DET_E_STATE      The core is closed.
 * @since 0.1 */
DET_API det_status det_checkpoint_download(det_checkpoint_context *checkpoint,
                                           const char *storage_id, const char *directory,
                                           const det_download_options *options,
                                           det_error *err) DET_NOEXCEPT;

/** Opens a checkpoint for reading, and verifies it.
 *
 * On a file system the path is the stored directory itself. Only read it, although nothing prevents
 * writing. A selector is ignored there, with a warning. In other storages the path is a temporary
 * copy. It blocks.
 *
 * In the shared mode all ranks call it in step. Local rank 0 of each machine opens and verifies the
 * checkpoint. All ranks of the machine get its path. Follows the start of a
 * CheckpointContext.restore_path() block.
 * @param[in]  storage_id  As for det_checkpoint_download().
 * @param[in]  options     NULL for the defaults.
 * @param[out] out         Receives the handle. Release it with det_checkpoint_reader_free().
 * @return As det_checkpoint_download().
 * @since 0.1 */
DET_API det_status det_checkpoint_reader_open(det_checkpoint_context *checkpoint,
                                              const char *storage_id,
                                              const det_download_options *options,
                                              det_checkpoint_reader **out,
                                              det_error *err) DET_NOEXCEPT;

/** Returns the directory to read from.
 * @return Borrowed from `reader`; NULL for NULL.
 * @since 0.1 */
DET_API const char *det_checkpoint_reader_path(const det_checkpoint_reader *reader) DET_NOEXCEPT;

/** Ends reading, and releases the handle. NULL does nothing.
 *
 * Each rank calls it for itself. It never waits for another rank. If the ranks of a machine share a
 * temporary copy, the last of their handles removes it. A stored directory stays.
 *
 * If a copy staged on this machine is read in place of a storage on a file system, local rank 0's
 * handle protects it. After that handle is freed, a later save may remove the copy to make room. So
 * let the other ranks finish reading first. Follows the end of a CheckpointContext.restore_path()
 * block.
 * @since 0.1 */
DET_API void det_checkpoint_reader_free(det_checkpoint_reader *reader) DET_NOEXCEPT;

/** Deletes a checkpoint from storage.
 *
 * Any rank may call it for itself. The master is informed first, so that no run begins with half a
 * checkpoint. If a process is killed during a deletion, the next start finishes it. It blocks.
 * Follows CheckpointContext.delete().
 * @retval DET_OK             The checkpoint is deleted, or was missing before.
 * @retval DET_E_INVALID      The id is wrong. Or the master refuses, as for a model in its
 *                            registry.
 * @retval DET_E_BUSY         An asynchronous save of it is not finished.
 * @retval DET_E_NOT_FOUND    The id names something that is not a checkpoint.
 * @retval DET_E_ACCESS       Permission or credentials are missing.
 * @retval DET_E_IO           Deleting failed.
 * @retval DET_E_UNAVAILABLE  The master does not answer.
 * @retval DET_E_STATE        The checkpoint is pinned, or the core is closed.
 * @since 0.1 */
DET_API det_status det_checkpoint_delete(det_checkpoint_context *checkpoint, const char *storage_id,
                                         det_error *err) DET_NOEXCEPT;

/** Lists the checkpoints of this trial that can be restored.
 *
 * The list has those of all runs, the one with the most steps first. Any rank that can reach the
 * master may call it for itself. It blocks for one request.
 * @param[out] out  Receives the list. Release it with det_checkpoint_entries_free(). NULL on
 *                  failure.
 * @retval DET_OK             `out` has the list.
 * @retval DET_E_UNAVAILABLE  The master does not answer. Call again.
 * @retval DET_E_BUSY         Another process holds the store. Call again.
 * @retval DET_E_UNSUPPORTED  This rank cannot reach the master.
 * @retval DET_E_STATE        The core is closed.
 * @since 0.1 */
DET_API det_status det_checkpoint_list(det_checkpoint_context *checkpoint,
                                       det_checkpoint_entries **out, det_error *err) DET_NOEXCEPT;

/** Returns the number of checkpoints in a list; 0 for NULL.
 * @since 0.1 */
DET_API size_t det_checkpoint_entries_count(const det_checkpoint_entries *entries) DET_NOEXCEPT;

/** Returns the storage id of a checkpoint in a list.
 * @param[in] index  From 0.
 * @return Borrowed from `entries`; NULL for NULL and beyond the end.
 * @since 0.1 */
DET_API const char *det_checkpoint_entries_id(const det_checkpoint_entries *entries,
                                              size_t index) DET_NOEXCEPT;

/** Returns the steps of a checkpoint in a list; -1 for NULL and beyond the end.
 * @since 0.1 */
DET_API int64_t det_checkpoint_entries_steps_completed(const det_checkpoint_entries *entries,
                                                       size_t index) DET_NOEXCEPT;

/** Returns the time at which the master got the report of a checkpoint in a list.
 * @return Microseconds since 1970 in UTC. 0 if the master does not give it, for NULL and beyond the
 * end.
 * @since 0.1 */
DET_API int64_t det_checkpoint_entries_time_us(const det_checkpoint_entries *entries,
                                               size_t index) DET_NOEXCEPT;

/** Returns the bytes of all files of a checkpoint in a list; -1 for NULL and beyond the end.
 * @since 0.1 */
DET_API int64_t det_checkpoint_entries_size(const det_checkpoint_entries *entries,
                                            size_t index) DET_NOEXCEPT;

/** Releases a list. NULL does nothing.
 * @since 0.1 */
DET_API void det_checkpoint_entries_free(det_checkpoint_entries *entries) DET_NOEXCEPT;

/** Gets the metadata of a checkpoint.
 *
 * Any rank may call it for itself. It blocks for one request. Follows
 * CheckpointContext.get_metadata().
 * @param[out] out_json  Receives a JSON object. Release it with det_free(). NULL on failure.
 * @retval DET_OK             `out_json` has the metadata.
 * @retval DET_E_INVALID      The id is wrong.
 * @retval DET_E_NOT_FOUND    There is no such checkpoint.
 * @retval DET_E_UNAVAILABLE  The master does not answer.
 * @retval DET_E_STATE        The core is closed.
 * @since 0.1 */
DET_API det_status det_checkpoint_get_metadata(det_checkpoint_context *checkpoint,
                                               const char *storage_id, char **out_json,
                                               det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

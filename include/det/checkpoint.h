/**
 * @file
 * @brief Saving and restoring (seed: CheckpointContext).
 *
 * A `det_checkpoint_context` is a view borrowed from `det_core`, valid until det_core_free(). A
 * checkpoint is a directory under a storage id. It becomes visible complete or not at all: it is
 * written aside, synced, renamed, and only then reported to the master. Once a save has returned
 * DET_OK a power cut does not take it, but for one of which the master is told later, as a warning
 * in the log then says: that is safe from the end of the process.
 *
 * Calls that all ranks make in step return the same on all of them: what fails on one rank fails
 * on the others too, with the same code and that rank in the message; what fails while reading
 * fails on the ranks of that machine. Arguments that are wrong in themselves (NULL where that is
 * not allowed, options that cannot be read, a mode that there is not) are the exception: no other
 * rank learns of those. Ranks
 * wait for the slowest to store or read its part, but not longer than the job's timeout_ms
 * (det/distributed.h): raise it where a checkpoint takes longer.
 */
#ifndef DET_CHECKPOINT_H
#define DET_CHECKPOINT_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the checkpoints; borrowed from det_core_checkpoint(). */
typedef struct det_checkpoint_context det_checkpoint_context;
/** The checkpoints of a trial, as they were when asked for; owned by the caller. */
typedef struct det_checkpoint_entries det_checkpoint_entries;
/** A checkpoint being written; owned by the caller. */
typedef struct det_checkpoint_writer det_checkpoint_writer;
/** A save that goes on in the background; owned by the caller. */
typedef struct det_checkpoint_ticket det_checkpoint_ticket;
/** A checkpoint opened for reading; owned by the caller. */
typedef struct det_checkpoint_reader det_checkpoint_reader;

/** Decides which files take part. Called on the thread that called the library.
 * @param[in] path  Relative to the checkpoint, '/' between parts; a directory ends in '/'. Lives
 *                  during the call. Bytes as the file system has them, not always UTF-8.
 * @return 1 to take the path, 0 to leave it, negative to stop with DET_E_CALLBACK. */
typedef int32_t (*det_checkpoint_selector)(const char *path, void *user_data);

/** How far a call that takes long has come on this rank. */
typedef struct det_progress {
  size_t struct_size;  /**< sizeof(det_progress). */
  int64_t bytes;       /**< Done so far; does not go back. */
  int64_t total_bytes; /**< Of all that is known to be done; may grow. -1: not known. */
  int64_t files;       /**< Done so far. */
  int64_t total_files; /**< As `total_bytes`. */
} det_progress;

/** Told about progress, on the thread that called the library, a few times a second and at the end.
 * `progress` lives during the call. Must not call the library.
 * @return 0 to go on; negative to stop the call: it fails with DET_E_CALLBACK, as with any other
 *         failure, and leaves nothing visible behind. */
typedef int32_t (*det_progress_callback)(const det_progress *progress, void *user_data);

/** How ranks share a download (seed: DownloadMode). */
typedef int32_t det_download_mode;
#define DET_DOWNLOAD_MODE_LOCAL_WORKERS_SHARE                                           \
  0                                   /**< All ranks in step; one download per machine. \
                                       */
#define DET_DOWNLOAD_MODE_NO_SHARED 1 /**< This rank alone, for itself. */

/** Options of det_checkpoint_upload() and det_checkpoint_writer_begin(). */
typedef struct det_checkpoint_options {
  size_t struct_size;               /**< sizeof(det_checkpoint_options). */
  det_checkpoint_selector selector; /**< upload only; NULL takes everything. */
  det_progress_callback progress;   /**< Told how far the upload or commit is. NULL: nobody. */
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
  det_progress_callback progress;   /**< Told how far the download is. NULL: nobody. */
  void *user_data;                  /**< For both. */
  det_download_mode mode;           /**< One of DET_DOWNLOAD_MODE_*. */
  int32_t skip_verification;        /**< 1: do not compare checksums, only sizes. */
} det_download_options;

/** Initialiser with the defaults. */
#define DET_DOWNLOAD_OPTIONS_INIT \
  { sizeof(det_download_options), NULL, NULL, NULL, 0, 0 }

/** Stores the contents of a directory as a new checkpoint (seed: upload). Writes `metadata.json`
 * into `directory` first. Chief only, or all ranks in step with `shard`. Blocks until the
 * checkpoint is durable, and for some seconds at most until the master knows of it, after the
 * reports made before where they are on their way. A master that cannot be told by then is told as
 * soon as it can, before those reports: until then the checkpoint's own report is in the journal,
 * safe from a kill, and a warning in the log says so.
 *
 * With `shard` the checkpoint has what any rank brings. Of ranks that name the same directory of
 * one machine and select nothing, the lowest stores it for all; a file that several ranks bring
 * with the same contents is stored once. The lowest rank that stores anything gets `metadata.json`
 * into its directory.
 * @param[in]  directory      Its name is not kept. NULL only with `shard`: nothing from this rank.
 * @param[in]  metadata_json  A JSON object with an integer "steps_completed" >= 0. With `shard` the
 *                            objects of all ranks are merged and must not contradict each other;
 *                            NULL adds nothing.
 * @param[in]  options        NULL for the defaults.
 * @param[out] out_storage_id Receives the id, the same on all ranks, to release with det_free();
 *                            NULL on failure.
 * @return DET_OK; DET_E_INVALID (metadata); DET_E_STATE (not the chief, closed); DET_E_NOT_FOUND
 * (directory); DET_E_CONFLICT (ranks brought different files of one name or different metadata:
 * the chief's message lists the names with their ranks; or a file changed while it was copied);
 * DET_E_FULL, DET_E_ACCESS, DET_E_IO (nothing visible is left behind); DET_E_CALLBACK.   @since 0.1
 */
DET_API det_status det_checkpoint_upload(det_checkpoint_context *checkpoint, const char *directory,
                                         const char *metadata_json,
                                         const det_checkpoint_options *options,
                                         char **out_storage_id, det_error *err) DET_NOEXCEPT;

/** Opens a new checkpoint to write into (seed: entering store_path). Chief only, or all ranks in
 * step with `shard`. The metadata is checked here, before anything is stored.
 * @param[in]  metadata_json  As for det_checkpoint_upload(). NULL: it comes before the commit, with
 *                            det_checkpoint_writer_set_metadata(); with `shard` that goes for all
 *                            ranks together.
 * @param[out] out            Receives the handle; release with det_checkpoint_writer_free().
 * @return As det_checkpoint_upload().   @since 0.1 */
DET_API det_status det_checkpoint_writer_begin(det_checkpoint_context *checkpoint,
                                               const char *metadata_json,
                                               const det_checkpoint_options *options,
                                               det_checkpoint_writer **out,
                                               det_error *err) DET_NOEXCEPT;

/** The empty directory to write into. It stays private until the commit. With `shard` it is the
 * same for all ranks, which take care not to write the same file.
 * @return Borrowed from `writer`; NULL for NULL.   @since 0.1 */
DET_API const char *det_checkpoint_writer_path(const det_checkpoint_writer *writer) DET_NOEXCEPT;

/** The storage id the checkpoint will have.
 * @return Borrowed from `writer`; NULL for NULL.   @since 0.1 */
DET_API const char *det_checkpoint_writer_id(const det_checkpoint_writer *writer) DET_NOEXCEPT;

/** Gives the metadata, in place of what this rank gave before: what is known only once the files
 * are written, such as a loss. Does not block; with `shard` each rank for itself, and what they say
 * together is checked at the commit.
 * @param[in] metadata_json  As for det_checkpoint_upload().
 * @return DET_OK; DET_E_INVALID (metadata); DET_E_STATE (committed or aborted before; closed).
 * @since 0.1 */
DET_API det_status det_checkpoint_writer_set_metadata(det_checkpoint_writer *writer,
                                                      const char *metadata_json,
                                                      det_error *err) DET_NOEXCEPT;

/** Makes the checkpoint durable, visible and known to the master (seed: leaving store_path), which
 * may be told later, as with det_checkpoint_upload(). With `shard` all ranks in step, each once it
 * has written its files. Blocks. Once, and not after an abort.
 * @return As det_checkpoint_upload(); DET_E_INVALID (no metadata: give it, and commit again);
 * DET_E_STATE (committed or aborted before; another rank
 * aborted or freed its handle instead). After any other failure nothing is visible, and the
 * handle can only be freed.   @since 0.1 */
DET_API det_status det_checkpoint_writer_commit(det_checkpoint_writer *writer,
                                                det_error *err) DET_NOEXCEPT;

/** Drops what was written (seed: an exception inside store_path). Does nothing when aborted
 * before. With `shard` it takes the place of this rank's commit: it blocks until the others commit,
 * abort or free, and their commits fail.
 * @return DET_OK; DET_E_STATE (committed before); DET_E_IO.   @since 0.1 */
DET_API det_status det_checkpoint_writer_abort(det_checkpoint_writer *writer,
                                               det_error *err) DET_NOEXCEPT;

/** Releases the handle; aborts, as det_checkpoint_writer_abort() does, when neither committed nor
 * aborted. NULL does nothing.
 * @since 0.1 */
DET_API void det_checkpoint_writer_free(det_checkpoint_writer *writer) DET_NOEXCEPT;

/** What asynchronous saves of this core may hold back at once. */
typedef struct det_save_limits {
  size_t struct_size;  /**< sizeof(det_save_limits). */
  int64_t limit_bytes; /**< Of saves that are under way, together, on this rank; 0 = no limit. One
                        * that is larger by itself is DET_E_FULL. */
  int32_t in_flight;   /**< How many may be under way; 0 = 2. */
  /** What a save does that finds no room: 0 waits for it, 1 is DET_E_BUSY at once. */
  int32_t refuse_when_full;
} det_save_limits;

/** Initialiser with the defaults. */
#define DET_SAVE_LIMITS_INIT \
  { sizeof(det_save_limits), 0, 0, 0 }

/** Sets the limits of the asynchronous saves that follow. Each rank its own, no step. Does not
 * block.
 * @param[in] limits  NULL for the defaults. Copied.
 * @return DET_OK; DET_E_INVALID (negative); DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_checkpoint_limit_saves(det_checkpoint_context *checkpoint,
                                              const det_save_limits *limits,
                                              det_error *err) DET_NOEXCEPT;

/** Where saves wait on this machine until they are stored. */
typedef struct det_staging_options {
  size_t struct_size;    /**< sizeof(det_staging_options). */
  const char *directory; /**< In memory (/dev/shm), or on a disk of the machine. NULL: nowhere. */
  int64_t limit_bytes;   /**< Of what is under way and what is kept there, together: 1 or more. */
} det_staging_options;

/** Initialiser with the defaults. */
#define DET_STAGING_OPTIONS_INIT \
  { sizeof(det_staging_options), NULL, 0 }

/** From now on asynchronous saves of one rank, and what is written between
 * det_checkpoint_writer_begin() and its commit, are made in a directory of this machine and stored
 * from there: for buckets, and for file systems that are slow. Their copies are kept as long as
 * `limit_bytes` allows, the oldest dropped first, and a checkpoint is then read from its copy
 * instead of its storage: after its files and, but for `skip_verification`, its checksums were
 * found right. Saves of all ranks are not staged. Where there is less room than `limit_bytes`, an
 * asynchronous upload that finds none is saved without being staged, which the log tells; who
 * writes into a checkpoint there sees it as any program does, and aborts.
 *
 * In memory, a save is written over the copies that were dropped before, which takes one to three
 * times as long as memcpy() of its bytes; to new memory it takes longer. So give `limit_bytes` room
 * for two. What is dropped stays in memory until the next save, or until the core is closed.
 *
 * What a killed process of this trial left there is stored now, in the background and before what
 * is saved from here on; where the directory is memory, a power cut takes it. The library makes a
 * directory of its own there, for this user alone. Does not block otherwise.
 * @param[in] options  NULL, or no directory: saves that follow are not staged. Copied.
 * @return DET_OK; DET_E_INVALID (the limit); DET_E_ACCESS, DET_E_IO, DET_E_FULL (the directory);
 * DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_checkpoint_stage_saves(det_checkpoint_context *checkpoint,
                                              const det_staging_options *options,
                                              det_error *err) DET_NOEXCEPT;

/** As det_checkpoint_upload(), but returns as soon as the caller may write to `directory` again:
 * once its files are copied, or cloned where the file system can do that, into the private
 * directory of the new checkpoint. The rest (reading them once more for their checksums, the disk,
 * becoming visible, telling the master) goes on in the background, on one thread of the core that
 * is there while it has something to do. `progress` of the options is told about the copy.
 *
 * Asynchronous saves become visible and known in the order in which they were begun, and a save
 * that blocks waits for those before it.
 *
 * What fails in the background is told by the ticket: det_checkpoint_ticket_wait() gives it as
 * often as it is called. Unless it has, the next call that saves (det_checkpoint_upload(),
 * det_checkpoint_writer_begin() and their asynchronous forms) fails with it once, having stored
 * nothing, or else det_core_close() does: no failure is lost, and one that was heard is not told
 * again. Nothing is visible of a save that failed.
 *
 * det_core_close() waits for all that is under way, and says in the log what it waits for when that
 * takes long; so does det_core_free() of a core that was not closed. A process that is killed
 * leaves the copy and a note whose it is: the next start of the same trial finishes that checkpoint
 * before it looks for the latest one. A power cut, or a kill before this call has returned, leaves
 * nothing: the next start of any trial on the storage removes it, and after a week also what no
 * start of its trial came for.
 *
 * With `shard` the metadata and the names of the files are settled in this call, and each rank
 * copies what it stores; afterwards each rank finishes its own in the background, and what the
 * chief must know of that goes through the storage: no collective runs in the background, and the
 * ranks need not be in step for the checkpoint to become visible. A rank that ends before its part
 * is done makes the save fail. det_checkpoint_ticket_wait() and _cancel() are steps of all ranks
 * for such a save. Failures are told on the chief, and on the rank where they happened.
 * @param[out] out  Receives the ticket; release with det_checkpoint_ticket_free(). NULL on failure.
 * @return As det_checkpoint_upload(); DET_E_FULL, DET_E_BUSY (det_save_limits); what an earlier
 * asynchronous save failed with.   @since 0.1 */
DET_API det_status det_checkpoint_upload_async(det_checkpoint_context *checkpoint,
                                               const char *directory, const char *metadata_json,
                                               const det_checkpoint_options *options,
                                               det_checkpoint_ticket **out,
                                               det_error *err) DET_NOEXCEPT;

/** As det_checkpoint_writer_commit(), but leaves the rest to the background, as
 * det_checkpoint_upload_async() does: nothing is copied, since the files are where they belong, and
 * nobody may write to them any more. `writer` may be freed.
 * @param[out] out  As for det_checkpoint_upload_async().
 * @return As det_checkpoint_writer_commit(); DET_E_FULL, DET_E_BUSY (det_save_limits; commit again,
 * or, with `shard`, begin anew).   @since 0.1 */
DET_API det_status det_checkpoint_writer_commit_async(det_checkpoint_writer *writer,
                                                      det_checkpoint_ticket **out,
                                                      det_error *err) DET_NOEXCEPT;

/** How far an asynchronous save is. */
typedef int32_t det_ticket_state;
#define DET_TICKET_WAITING 0   /**< For earlier ones. */
#define DET_TICKET_SAVING 1    /**< On a rank that is not the chief, also once its part is done. */
#define DET_TICKET_SAVED 2     /**< Durable, visible, and the master knows of it or will. */
#define DET_TICKET_FAILED 3    /**< Nothing is visible. */
#define DET_TICKET_CANCELLED 4 /**< Nothing is left. */

/** The storage id that the checkpoint has or will have.
 * @return Borrowed from `ticket`; NULL for NULL.   @since 0.1 */
DET_API const char *det_checkpoint_ticket_id(const det_checkpoint_ticket *ticket) DET_NOEXCEPT;

/** How far it is, as this rank knows. Any thread, no step; does not block.
 * @param[out] out_state     One of DET_TICKET_*. May be NULL.
 * @param[out] out_progress  Of the work in the background, on this rank; as far as its
 *                           `struct_size` goes. May be NULL.
 * @return DET_OK; DET_E_INVALID (NULL ticket); DET_E_STATE (in a forked child).   @since 0.1 */
DET_API det_status det_checkpoint_ticket_poll(const det_checkpoint_ticket *ticket,
                                              det_ticket_state *out_state,
                                              det_progress *out_progress,
                                              det_error *err) DET_NOEXCEPT;

/** Waits until it has ended. For a save of all ranks all of them in step, where the chief's limit
 * counts. Also after det_core_close(), but for ranks of such a save other than the chief. Blocks.
 * @param[in] timeout_ms  By default, and with DET_TIMEOUT_INFINITE, without limit.
 * @return DET_OK (saved); DET_E_TIMEOUT (not yet); DET_E_STATE (cancelled; in a forked child); else
 * what it failed with.   @since 0.1 */
DET_API det_status det_checkpoint_ticket_wait(det_checkpoint_ticket *ticket, det_timeout timeout_ms,
                                              det_error *err) DET_NOEXCEPT;

/** Ends the save, and leaves nothing of it. For a save of all ranks all of them in step. Blocks for
 * as long as the step takes that it is in, such as a sync of the disk.
 * @return DET_OK (nothing is left of it; it had failed or been cancelled before, perhaps);
 * DET_E_STATE (it was saved before: det_checkpoint_delete() removes it; in a forked child).
 * @since 0.1 */
DET_API det_status det_checkpoint_ticket_cancel(det_checkpoint_ticket *ticket,
                                                det_error *err) DET_NOEXCEPT;

/** Releases the ticket; the save goes on. NULL does nothing.   @since 0.1 */
DET_API void det_checkpoint_ticket_free(det_checkpoint_ticket *ticket) DET_NOEXCEPT;

/** Copies a checkpoint into a directory, made if absent (seed: download), and verifies it against
 * its manifest. The copies are the caller's, without setuid, setgid and sticky bits. In the shared
 * mode all ranks in step: local rank 0 of each machine downloads into its directory what any rank
 * of the machine selects, a rank without selector everything; each selector is asked about every
 * path. Blocks.
 * @param[in] storage_id  From an earlier save; letters, digits, '-', '_' and '.', not beginning
 *                        with a dot.
 * @param[in] directory   Files of the same name are replaced; others are left. Not written on
 *                        other ranks than local rank 0 in the shared mode. Not made when everything
 *                        is rejected.
 * @return DET_OK; DET_E_INVALID (id, mode); DET_E_NOT_FOUND; DET_E_CORRUPT (names the file);
 * DET_E_FULL, DET_E_ACCESS, DET_E_IO; DET_E_CALLBACK; DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_checkpoint_download(det_checkpoint_context *checkpoint,
                                           const char *storage_id, const char *directory,
                                           const det_download_options *options,
                                           det_error *err) DET_NOEXCEPT;

/** Opens a checkpoint for reading (seed: entering restore_path). On a file system the path is the
 * stored directory itself (read only by agreement; a selector is ignored with a warning);
 * elsewhere it is a temporary copy. In the shared mode all ranks in step: local rank 0 of each
 * machine opens and verifies it, and all ranks of the machine get its path. Blocks.
 * @param[out] out  Receives the handle; release with det_checkpoint_reader_free().
 * @return As det_checkpoint_download().   @since 0.1 */
DET_API det_status det_checkpoint_reader_open(det_checkpoint_context *checkpoint,
                                              const char *storage_id,
                                              const det_download_options *options,
                                              det_checkpoint_reader **out,
                                              det_error *err) DET_NOEXCEPT;

/** The directory to read from.
 * @return Borrowed from `reader`; NULL for NULL.   @since 0.1 */
DET_API const char *det_checkpoint_reader_path(const det_checkpoint_reader *reader) DET_NOEXCEPT;

/** Ends reading (seed: leaving restore_path). Not a step of all ranks and never waits for one: the
 * temporary copy that the ranks of a machine share goes with the last of their handles, and a
 * stored directory is nobody's to remove. Only what was staged on this machine and is read in place
 * of a storage on a file system may go from local rank 0's handle on, when a later save needs its
 * room: let the others read first. NULL does nothing.
 * @since 0.1 */
DET_API void det_checkpoint_reader_free(det_checkpoint_reader *reader) DET_NOEXCEPT;

/** Deletes a checkpoint from storage (seed: delete). The master is told first, so that no run
 * begins with what is half gone; what a killed process did not finish, the next start finishes. Any
 * rank, no step. One that is not there counts as deleted. Blocks.
 * @return DET_OK; DET_E_INVALID (id; or the master refuses, as for a model in its registry);
 * DET_E_BUSY (it is still being saved, asynchronously); DET_E_NOT_FOUND (the id names something
 * that is no checkpoint); DET_E_ACCESS, DET_E_IO; DET_E_UNAVAILABLE; DET_E_STATE (closed; or
 * it is pinned).   @since 0.1 */
DET_API det_status det_checkpoint_delete(det_checkpoint_context *checkpoint, const char *storage_id,
                                         det_error *err) DET_NOEXCEPT;

/** The checkpoints of this trial, of all its runs, that can be restored: the one of the most steps
 * first. Any rank that can reach the master, no step. Blocks for a request.
 * @param[out] out  Receives the list; release with det_checkpoint_entries_free(). NULL on failure.
 * @return DET_OK; DET_E_UNAVAILABLE, DET_E_BUSY; DET_E_UNSUPPORTED (a rank that cannot reach the
 * master); DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_checkpoint_list(det_checkpoint_context *checkpoint,
                                       det_checkpoint_entries **out, det_error *err) DET_NOEXCEPT;

/** Number of checkpoints in a list. 0 for NULL.   @since 0.1 */
DET_API size_t det_checkpoint_entries_count(const det_checkpoint_entries *entries) DET_NOEXCEPT;

/** The storage id of a checkpoint in a list.
 * @param[in] index  From 0.
 * @return Borrowed from `entries`; NULL for NULL and beyond the end.   @since 0.1 */
DET_API const char *det_checkpoint_entries_id(const det_checkpoint_entries *entries,
                                              size_t index) DET_NOEXCEPT;

/** The steps of a checkpoint in a list; -1 for NULL and beyond the end.   @since 0.1 */
DET_API int64_t det_checkpoint_entries_steps_completed(const det_checkpoint_entries *entries,
                                                       size_t index) DET_NOEXCEPT;

/** When the master was told of a checkpoint in a list, in microseconds since 1970 (UTC); 0 where it
 * does not say, for NULL and beyond the end.   @since 0.1 */
DET_API int64_t det_checkpoint_entries_time_us(const det_checkpoint_entries *entries,
                                               size_t index) DET_NOEXCEPT;

/** Bytes of all files of a checkpoint in a list; -1 for NULL and beyond the end.   @since 0.1 */
DET_API int64_t det_checkpoint_entries_size(const det_checkpoint_entries *entries,
                                            size_t index) DET_NOEXCEPT;

/** Releases a list. NULL does nothing.   @since 0.1 */
DET_API void det_checkpoint_entries_free(det_checkpoint_entries *entries) DET_NOEXCEPT;

/** The metadata of a checkpoint (seed: get_metadata). Any rank, no step. Blocks for one request.
 * @param[out] out_json  Receives a JSON object to release with det_free(); NULL on failure.
 * @return DET_OK; DET_E_INVALID (id); DET_E_NOT_FOUND; DET_E_UNAVAILABLE; DET_E_STATE (closed).
 * @since 0.1 */
DET_API det_status det_checkpoint_get_metadata(det_checkpoint_context *checkpoint,
                                               const char *storage_id, char **out_json,
                                               det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

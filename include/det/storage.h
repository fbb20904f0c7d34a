/**
 * @file
 * @brief Stores, reads, copies and deletes checkpoints without a run.
 *
 * It needs no trial and no master. Use it to serve a model, or to move and check checkpoints. A
 * program that trains uses det/checkpoint.h.
 *
 * No master gets a report of these calls. To delete a checkpoint that a master knows, use
 * det_client_delete_checkpoint().
 */
#ifndef DET_STORAGE_H
#define DET_STORAGE_H

#include <det/checkpoint.h>

DET_BEGIN_DECLS

/** A place of checkpoints. Owned by the caller. Any thread may use it. */
typedef struct det_storage det_storage;

/** Opens a storage.
 *
 * It makes nothing until something is stored. A bucket needs `libdetcore-cloud`, and is contacted
 * at the first call. Follows storage.build().
 * @param[in]  location  A directory, a URI, or a `checkpoint_storage` object in JSON. URIs are
 *                       file:///path, s3://bucket/prefix, gs://bucket/prefix and
 *                       azure://container/prefix.
 * @param[out] out       Receives the handle. Release it with det_storage_free().
 * @retval DET_OK             `out` has the handle.
 * @retval DET_E_INVALID      The location is wrong. The message has the reason.
 * @retval DET_E_UNSUPPORTED  A library is missing.
 * @since 0.1 */
DET_API det_status det_storage_open(const char *location, det_storage **out,
                                    det_error *err) DET_NOEXCEPT;

/** Releases the handle. NULL does nothing.
 * @since 0.1 */
DET_API void det_storage_free(det_storage *storage) DET_NOEXCEPT;

/** Gets the `checkpoint_storage` object that opens this storage again, without credentials.
 * @param[out] out_json  Receives the object. Release it with det_free(). NULL on failure.
 * @since 0.1 */
DET_API det_status det_storage_get_config(det_storage *storage, char **out_json,
                                          det_error *err) DET_NOEXCEPT;

/** Stores the contents of a directory as a new checkpoint.
 *
 * It blocks until the checkpoint is durable and visible. It writes nothing into `directory`.
 * @param[in]  directory       Its contents are stored.
 * @param[in]  metadata_json   A JSON object. It is stored as `metadata.json`, in place of a file of
 *                             that name. NULL: only the files of `directory`.
 * @param[in]  options         NULL for the defaults. `shard` must be 0.
 * @param[out] out_storage_id  Receives the id. Release it with det_free(). NULL on failure.
 * @return As det_checkpoint_upload().
 * @since 0.1 */
DET_API det_status det_storage_upload(det_storage *storage, const char *directory,
                                      const char *metadata_json,
                                      const det_checkpoint_options *options, char **out_storage_id,
                                      det_error *err) DET_NOEXCEPT;

/** Copies a checkpoint into a directory, and verifies it. It makes a missing directory. It blocks.
 * @param[in] options  NULL for the defaults. The mode is ignored.
 * @return As det_checkpoint_download().
 * @since 0.1 */
DET_API det_status det_storage_download(det_storage *storage, const char *storage_id,
                                        const char *directory, const det_download_options *options,
                                        det_error *err) DET_NOEXCEPT;

/** Lists the files of a checkpoint: {"resources": {path: bytes}, "size": bytes of all}.
 *
 * A directory ends in '/' and has 0. It blocks.
 * @param[out] out_json  Receives the answer. Release it with det_free(). NULL on failure.
 * @retval DET_OK             `out_json` has the answer.
 * @retval DET_E_INVALID      The id is wrong.
 * @retval DET_E_NOT_FOUND    There is no such checkpoint.
 * @retval DET_E_CORRUPT      The checkpoint is damaged.
 * @retval DET_E_ACCESS       Permission or credentials are missing.
 * @retval DET_E_IO           Reading failed.
 * @retval DET_E_UNAVAILABLE  The storage does not answer.
 * @since 0.1 */
DET_API det_status det_storage_list(det_storage *storage, const char *storage_id, char **out_json,
                                    det_error *err) DET_NOEXCEPT;

/** Reads all files of a checkpoint, and compares them with the stored checksums. It keeps nothing.
 * It blocks.
 * @param[in] options  NULL for the defaults. Only the progress counts.
 * @retval DET_E_CORRUPT      A file is missing or damaged. The message names the first one.
 * @retval DET_E_UNSUPPORTED  Another program stored it, without checksums.
 * @return Else as det_storage_list().
 * @since 0.1 */
DET_API det_status det_storage_verify(det_storage *storage, const char *storage_id,
                                      const det_download_options *options,
                                      det_error *err) DET_NOEXCEPT;

/** Copies a checkpoint to another storage, under the same id.
 *
 * If both are in one bucket of a service that can copy, the bytes do not pass through this machine.
 * Otherwise it verifies them on the way. It blocks until the copy is durable and visible.
 * @param[in] to       The other storage.
 * @param[in] options  NULL for the defaults. Only the progress counts.
 * @retval DET_E_CONFLICT  The other storage already has this id.
 * @return Else as det_storage_download().
 * @since 0.1 */
DET_API det_status det_storage_copy(det_storage *storage, const char *storage_id, det_storage *to,
                                    const det_download_options *options,
                                    det_error *err) DET_NOEXCEPT;

/** Deletes a checkpoint. It blocks.
 * @retval DET_OK             The checkpoint is deleted, or was missing before.
 * @retval DET_E_INVALID      The id is wrong.
 * @retval DET_E_NOT_FOUND    The id names something that is not a checkpoint.
 * @retval DET_E_ACCESS       Permission or credentials are missing.
 * @retval DET_E_IO           Deleting failed.
 * @retval DET_E_UNAVAILABLE  The storage does not answer.
 * @since 0.1 */
DET_API det_status det_storage_delete(det_storage *storage, const char *storage_id,
                                      det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

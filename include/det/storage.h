/**
 * @file
 * @brief Checkpoints in storage without a run: what serves a model, moves checkpoints or looks
 * after them needs no trial and no master. A program that trains uses det/checkpoint.h.
 *
 * No master is told of what happens here. To delete a checkpoint that a master knows, use
 * det_client_delete_checkpoint().
 */
#ifndef DET_STORAGE_H
#define DET_STORAGE_H

#include <det/checkpoint.h>

DET_BEGIN_DECLS

/** Where checkpoints are; owned by the caller. Any thread. */
typedef struct det_storage det_storage;

/** Opens a storage; nothing is made there before something is stored (seed: storage.build). A
 * bucket needs `libdetcore-cloud`, and is asked for at the first call.
 * @param[in]  location  A directory, a URI (file:///path, s3://bucket/prefix, gs://bucket/prefix,
 *                       azure://container/prefix) or a `checkpoint_storage` object in JSON.
 * @param[out] out       Receives the handle; release with det_storage_free().
 * @return DET_OK; DET_E_INVALID (the location; the message says what is wrong with it);
 * DET_E_UNSUPPORTED (a library is missing).   @since 0.1 */
DET_API det_status det_storage_open(const char *location, det_storage **out,
                                    det_error *err) DET_NOEXCEPT;

/** Releases the handle. NULL does nothing.   @since 0.1 */
DET_API void det_storage_free(det_storage *storage) DET_NOEXCEPT;

/** The `checkpoint_storage` object that opens this storage again, without credentials.
 * @param[out] out_json  To release with det_free(); NULL on failure.   @since 0.1 */
DET_API det_status det_storage_get_config(det_storage *storage, char **out_json,
                                          det_error *err) DET_NOEXCEPT;

/** Stores the contents of a directory as a new checkpoint. Blocks until it is durable and visible.
 * Nothing is written into `directory`.
 * @param[in]  metadata_json   A JSON object, kept as the checkpoint's `metadata.json` in place of a
 *                             file of that name. NULL: the files as they are.
 * @param[in]  options         NULL for the defaults; `shard` must be 0.
 * @param[out] out_storage_id  Receives the id, to release with det_free(); NULL on failure.
 * @return As det_checkpoint_upload().   @since 0.1 */
DET_API det_status det_storage_upload(det_storage *storage, const char *directory,
                                      const char *metadata_json,
                                      const det_checkpoint_options *options, char **out_storage_id,
                                      det_error *err) DET_NOEXCEPT;

/** Copies a checkpoint into a directory, made if absent, and verifies it. Blocks.
 * @param[in] options  NULL for the defaults; the mode has no meaning here.
 * @return As det_checkpoint_download().   @since 0.1 */
DET_API det_status det_storage_download(det_storage *storage, const char *storage_id,
                                        const char *directory, const det_download_options *options,
                                        det_error *err) DET_NOEXCEPT;

/** The files of a checkpoint: {"resources": {path: bytes}, "size": bytes of all}; a directory ends
 * in
 * '/' and has 0. Blocks.
 * @param[out] out_json  To release with det_free(); NULL on failure.
 * @return DET_OK; DET_E_INVALID (id); DET_E_NOT_FOUND; DET_E_CORRUPT; DET_E_ACCESS, DET_E_IO,
 * DET_E_UNAVAILABLE.   @since 0.1 */
DET_API det_status det_storage_list(det_storage *storage, const char *storage_id, char **out_json,
                                    det_error *err) DET_NOEXCEPT;

/** Reads all files of a checkpoint and compares them with what was stored. Keeps nothing. Blocks.
 * @param[in] options  NULL for the defaults; only the progress has a meaning here.
 * @return As det_storage_list(); DET_E_CORRUPT names the first file that is missing or damaged, and
 * DET_E_UNSUPPORTED says that another program stored it, without checksums.   @since 0.1 */
DET_API det_status det_storage_verify(det_storage *storage, const char *storage_id,
                                      const det_download_options *options,
                                      det_error *err) DET_NOEXCEPT;

/** Stores a checkpoint a second time, under its id, in another storage: without the bytes coming
 * here where both are in one bucket of a service that can do so; else it is verified on its way.
 * Blocks until it is durable and visible there.
 * @param[in] options  NULL for the defaults; only the progress has a meaning here.
 * @return As det_storage_download(); DET_E_CONFLICT (the id is taken there).   @since 0.1 */
DET_API det_status det_storage_copy(det_storage *storage, const char *storage_id, det_storage *to,
                                    const det_download_options *options,
                                    det_error *err) DET_NOEXCEPT;

/** Deletes a checkpoint. One that is not there counts as deleted. Blocks.
 * @return DET_OK; DET_E_INVALID (id); DET_E_NOT_FOUND (the id names something that is no
 * checkpoint); DET_E_ACCESS, DET_E_IO, DET_E_UNAVAILABLE.   @since 0.1 */
DET_API det_status det_storage_delete(det_storage *storage, const char *storage_id,
                                      det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif

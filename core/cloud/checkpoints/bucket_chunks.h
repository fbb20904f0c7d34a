// The chunks of the checkpoints in a bucket, the notes of their sweeps, and which checkpoint is
// made of which, told twice:
//   <prefix>/.detcore/chunks/data/<sha256>-<generation>
//   <prefix>/.detcore/chunks/notes/<name>
//   <prefix>/<id>/.detcore-chunks/list               for who reads the checkpoint
//   <prefix>/.detcore/chunks/lists/<id>/<writer>     for sweeps: what a writer of it brought
//
// A generation is the number of who saves, so that no name is given twice: a request that removes
// an object may come late, and neither can be taken back nor made to depend on anything. The lists
// for sweeps are written once their chunks are there, never move, and go with the checkpoint, so
// that a listing cannot miss one that counts.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/cloud/checkpoints/bucket.h"
#include "core/storage/chunks/chunk_saver.h"
#include "core/storage/storage.h"

namespace det::cloud {

// For one writer of the checkpoint `id`.
storage::ChunkSaver::Begin send_chunks(std::shared_ptr<const Bucket> bucket, std::string id,
                                       std::string writer);

// What a writer brought. Code::conflict where its list is not there: somebody has removed the
// checkpoint.
storage::ChunkedFiles chunks_of_writer(const Bucket &bucket, const std::string &id,
                                       const std::string &writer);

// The list for who reads the checkpoint; Code::corrupt.
storage::ChunkedFiles read_chunk_list(const Bucket &bucket, const std::string &id);

// For who fetches it himself.
std::string key_of_chunk(const Keys &keys, const storage::ChunkName &name);

// Takes from the lists for sweeps what is not among `remaining`.
void narrow_chunk_lists(const Bucket &bucket, const std::string &id,
                        const storage::Resources &remaining);
// All of them, after the manifest is gone: what they name is garbage.
void remove_chunk_lists(const Bucket &bucket, const std::string &id);

// Removes the chunks that nothing names any more; one or two requests where nothing was removed.
// From any number of processes at once.
void reclaim_chunks(const Bucket &bucket);

}  // namespace det::cloud

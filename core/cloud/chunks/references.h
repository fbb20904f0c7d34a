// Which chunks the checkpoints of a bucket are made of, told twice:
//   <prefix>/<id>/.detcore-chunks/list               for who reads the checkpoint
//   <prefix>/.detcore/chunks/lists/<id>/<writer>     for sweeps: what a writer of it brought
//
// The second are written once their chunks are there, never move, and go with the checkpoint, so
// that a listing cannot miss one that counts.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/cloud/bucket.h"
#include "core/storage/chunks/chunk_list.h"
#include "core/storage/chunks/chunk_sweep.h"

namespace det::cloud {

// Written or replaced as one step.
void write_reference(const Bucket &bucket, const std::string &id, const std::string &writer,
                     const storage::ChunkedFiles &files);
// Code::conflict where it is not there: somebody has removed the checkpoint.
storage::ChunkedFiles read_reference(const Bucket &bucket, const std::string &id,
                                     const std::string &writer);

// Takes from all of the checkpoint what is not among `remaining`.
void narrow_references(const Bucket &bucket, const std::string &id,
                       const storage::Resources &remaining);
// After the manifest is gone: what they name is garbage.
void remove_references(const Bucket &bucket, const std::string &id);

// Nothing where it is not there; Code::corrupt.
std::optional<storage::ChunkedFiles> read_chunk_list_of(const Bucket &bucket,
                                                        const std::string &id);

class BucketReferences : public storage::ChunkReferences {
 public:
  explicit BucketReferences(const Bucket &bucket) : bucket_(bucket) {}  // outlives this
  std::set<storage::ChunkName> named() override;
  std::set<std::string> savers() override;

 private:
  const Bucket &bucket_;
};

// Removes the chunks that nothing names any more; one or two requests where nothing was removed.
// From any number of processes at once.
void reclaim_chunks(const Bucket &bucket);

}  // namespace det::cloud

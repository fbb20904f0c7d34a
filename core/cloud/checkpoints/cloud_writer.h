// A checkpoint on its way into a bucket.
#pragma once

#include <memory>
#include <string>

#include "core/cloud/checkpoints/bucket.h"
#include "core/storage/chunks/chunk_saver.h"
#include "core/storage/storage.h"

namespace det::cloud {

enum class WriterRole {
  owner,     // its intent stands
  joined,    // leaves that, and the commit, to the owner
  resuming,  // an owner that continues what another process left
};

// With `memory`, large files are stored in chunks.
std::unique_ptr<storage::CheckpointWriter> write_to_bucket(
    std::shared_ptr<const Bucket> bucket, const std::string &id, WriterRole role,
    std::shared_ptr<storage::ChunkMemory> memory);

}  // namespace det::cloud

// Checkpoints on their way into a directory.
#pragma once

#include <memory>
#include <string>

#include "core/base/log/log.h"
#include "core/storage/chunks/chunk_saver.h"
#include "core/storage/spare_files.h"
#include "core/storage/staging_sweep.h"
#include "core/storage/storage.h"

namespace det::storage {

struct DirectoryWriterOptions {
  bool durable = true;                  // false leaves syncing to the kernel: for measurements
  std::shared_ptr<ChunkMemory> memory;  // with it, large files are stored in chunks
  std::shared_ptr<SpareFiles> spares;   // that copy() writes over; null: none
  std::shared_ptr<Logger> logger;
};

std::unique_ptr<CheckpointWriter> begin_in_directory(Staging staging, const std::string &id,
                                                     const DirectoryWriterOptions &options);

// Works in the directory which its owner made, and leaves it to the owner.
std::unique_ptr<CheckpointWriter> join_in_directory(Staging staging, const std::string &id,
                                                    const DirectoryWriterOptions &options);

// Continues where a process that is gone sealed it, or had committed it. Throws where what is there
// cannot be relied on any more.
std::unique_ptr<CheckpointWriter> reopen_in_directory(Staging staging, SealedTree sealed,
                                                      const DirectoryWriterOptions &options);

}  // namespace det::storage

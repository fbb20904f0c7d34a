// What one writer of a checkpoint brings to a bucket in chunks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cloud/bucket.h"
#include "core/storage/chunks/chunk_list.h"
#include "core/storage/chunks/chunk_memory.h"

namespace det::cloud {

class SentChunks {
 public:
  SentChunks(std::shared_ptr<const Bucket> bucket, std::string id,
             std::shared_ptr<storage::ChunkMemory> memory);

  // In the bucket, and in a list that sweeps find, when this returns.
  storage::ChunkedFiles add(const storage::Tree &source, const std::vector<std::string> &paths,
                            bool confined);

  // Stands for its list among the files that a rank has finished.
  std::string name() const;
  // Whose list a name among them stands for; nothing: it is a file.
  static std::optional<std::string> writer_of(const std::string &name);

 private:
  const std::shared_ptr<const Bucket> bucket_;
  const std::string id_, writer_;
  const std::shared_ptr<storage::ChunkMemory> memory_;
  storage::ChunkedFiles files_;
};

}  // namespace det::cloud

#include "core/cloud/chunks/sent_chunks.h"

#include <utility>

#include "core/base/uuid.h"
#include "core/cloud/chunks/bucket_chunks.h"
#include "core/cloud/chunks/references.h"
#include "core/cloud/chunks/saver.h"
#include "core/storage/chunks/chunk_saver.h"
#include "core/storage/tree.h"

namespace det::cloud {

using storage::ChunkedFiles;

namespace {

constexpr const char *owner = "bucket";  // of all chunks here
const std::string directory = std::string(storage::chunks_directory) + "/";

}  // namespace

SentChunks::SentChunks(std::shared_ptr<const Bucket> bucket, std::string id,
                       std::shared_ptr<storage::ChunkMemory> memory)
    : bucket_(std::move(bucket)),
      id_(std::move(id)),
      writer_(make_uuid()),
      memory_(std::move(memory)) {}

std::string SentChunks::name() const { return directory + writer_; }

std::optional<std::string> SentChunks::writer_of(const std::string &name) {
  return name.starts_with(directory) ? std::optional(name.substr(directory.size())) : std::nullopt;
}

// In the order that core/storage/chunks/chunk_sweep.h asks for.
ChunkedFiles SentChunks::add(const storage::Tree &source, const std::vector<std::string> &paths,
                             bool confined) {
  Saver saver(*bucket_);
  BucketChunks chunks(*bucket_, saver.generation());
  const std::set<storage::ChunkName> condemned = storage::condemned_chunks(chunks);
  chunks.look();
  storage::ChunkSaver cutter(chunks, owner, condemned, *memory_, bucket_->progress());
  ChunkedFiles stored = cutter.save(source, paths, confined);
  chunks.flush();
  for (const auto &[path, file] : stored) files_.insert_or_assign(path, file);
  write_reference(*bucket_, id_, writer_, files_);
  saver.finished();
  uint64_t bytes = 0;
  for (const auto &[path, file] : stored) bytes += file.size;
  bucket_->logger->debug("stored " + std::to_string(bytes) + " bytes in chunks, " +
                         std::to_string(cutter.new_bytes()) + " of them new");
  return stored;
}

}  // namespace det::cloud

// From a bucket into a directory.
#include <fcntl.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/cloud/chunks/bucket_chunks.h"
#include "core/cloud/chunks/references.h"
#include "core/cloud/cloud_storage.h"
#include "core/cloud/fetch_files.h"
#include "core/cloud/local_directory.h"
#include "core/storage/file_transfer.h"
#include "core/storage/manifest.h"
#include "core/storage/tree_transfer.h"

namespace det::cloud {

namespace fs = std::filesystem;

namespace {

void set_mode(const storage::Tree &tree, const std::string &path, unsigned mode) {
  const Fd directory(storage::open_beneath(tree.fd.get(), path, O_RDONLY | O_DIRECTORY));
  if (!directory) OsFailure{errno}.raise("opening " + tree.name_of(path));
  storage::set_mode(directory.get(), mode, tree.name_of(path));
}

// A copy that goes with the last who holds it.
class DownloadedCheckpoint : public storage::CheckpointReader {
 public:
  DownloadedCheckpoint(const fs::path &base, const std::string &name) : local_(base, name) {}
  const fs::path &path() const override { return local_.path(); }

 private:
  const LocalDirectory local_;
};

}  // namespace

storage::ChunkedFiles CloudStorage::chunks_of(const std::string &id) const {
  if (auto files = read_chunk_list_of(*bucket_, id)) return *std::move(files);
  storage::throw_damaged("'" + bucket_->store->name_of(bucket_->keys.chunk_list(id)) + "'",
                         "the object is missing");
}

void CloudStorage::download(const std::string &id, const fs::path &target,
                            const storage::Selector &selector, bool checksums,
                            const storage::HadManifest &had_manifest) {
  storage::check_storage_id(id);
  // Before all of it is listed.
  const bool is_damaged = had_manifest && !has_manifest(*bucket_, id) && had_manifest();
  const StoredCheckpoint found = is_damaged ? StoredCheckpoint() : stored(id);
  if (is_damaged || (!found.has_manifest && found.is_chunked))
    throw Error(Code::corrupt, "verifying " + name_of(id) +
                                   ": its manifest is missing, so that its files cannot be "
                                   "checked; the checkpoint is damaged or somebody has put "
                                   "another in its place, restore another one");
  const storage::ChunkedFiles in_chunks =
      found.is_chunked ? chunks_of(id) : storage::ChunkedFiles();
  std::vector<FileToFetch> files;
  std::set<std::string> directories;
  bool is_empty = true;
  for (const auto &[path, size] : found.resources()) {
    if (selector && !selector(path)) continue;
    is_empty = false;
    storage::add_directories_of(path, directories);
    if (path.ends_with('/')) continue;
    const StoredFile &file = found.files.at(path);
    files.push_back({path,
                     bucket_->keys.checkpoint(id) + path,
                     file.size,
                     checksums ? file.checksum : std::nullopt,
                     file.version,
                     {},
                     file.attributes});
    const auto chunked = in_chunks.find(path);
    if (chunked == in_chunks.end()) continue;
    if (chunked->second.size != file.size)
      storage::throw_damaged("'" + bucket_->store->name_of(files.back().key) + "'",
                             "its chunks have " + std::to_string(chunked->second.size) +
                                 " bytes instead of " + std::to_string(file.size));
    for (const storage::Chunk &chunk : chunked->second.chunks)
      files.back().pieces.push_back({BucketChunks::key_of(bucket_->keys, chunk.name), chunk.size});
  }
  if (selector && is_empty) return;
  make_directories(target);
  const storage::Tree into(target);
  for (const std::string &path : directories)
    storage::make_directory_beneath(into, path, default_directory_mode);
  fetch_files(*bucket_->store, files, into, bucket_->requests, bucket_->progress());
  // Last, since filling a directory may need a mode that it will not have.
  for (auto path = directories.rbegin(); path != directories.rend(); ++path)
    if (const std::optional<unsigned> mode = found.directories.at(*path))
      set_mode(into, *path, *mode);
}

std::unique_ptr<storage::CheckpointReader> CloudStorage::make_copy(const std::string &id) {
  storage::check_storage_id(id);
  return std::make_unique<DownloadedCheckpoint>(bucket_->temporary, id + "-" + make_uuid());
}

// Perhaps made below another temporary directory than this process has.
std::unique_ptr<storage::CheckpointReader> CloudStorage::hold_copy(const fs::path &copy) {
  return std::make_unique<DownloadedCheckpoint>(copy.parent_path(), copy.filename().string());
}

std::unique_ptr<storage::CheckpointReader> CloudStorage::restore(
    const std::string &id, const storage::Selector &selector, bool checksums,
    const storage::HadManifest &had_manifest) {
  auto reader = make_copy(id);
  download(id, reader->path(), selector, checksums, had_manifest);
  return reader;
}

}  // namespace det::cloud

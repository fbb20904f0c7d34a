#include "core/cloud/checkpoints/cloud_storage.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/cloud/checkpoints/bucket_chunks.h"
#include "core/cloud/checkpoints/cloud_writer.h"
#include "core/cloud/checkpoints/local_directory.h"
#include "core/cloud/checkpoints/object_transfer.h"
#include "core/cloud/request_pool.h"
#include "core/cloud/request_scope.h"
#include "core/storage/file_transfer.h"
#include "core/storage/manifest.h"
#include "core/storage/progress.h"

namespace det::cloud {

namespace fs = std::filesystem;
using storage::check_storage_id;

namespace {

// What a request holds in memory: a small file, or libcurl's buffers.
constexpr uint64_t memory_of_request = uint64_t{4} << 20;
constexpr uint64_t most_requests = 64;

std::shared_ptr<const Bucket> bucket_of(CloudOptions options, std::shared_ptr<Logger> logger) {
  const Keys keys(options.prefix, options.store->limits().key_max);
  return std::make_shared<const Bucket>(
      Bucket{options.store, keys, Intents(options.store, keys),
             options.temporary.empty() ? system_temporary_directory() : options.temporary,
             std::clamp<uint64_t>(options.memory / memory_of_request, 1, most_requests),
             std::move(logger)});
}

// Where the objects are, whatever their keys begin with.
Json service_of(Json config) {
  for (const char *own : {"prefix", "temp_dir", "deduplicate", "transfer_memory"})
    config.erase(own);
  return config;
}

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

// False where the store cannot copy one of them.
bool copy_objects(const Bucket &bucket, const StoredCheckpoint &found, const std::string &id,
                  const Bucket &to, storage::Progress *progress) {
  std::vector<std::pair<std::string, uint64_t>> paths;
  uint64_t bytes = 0;
  for (const auto &[path, size] : found.resources()) {
    // Only one that is empty has an object.
    if (path.ends_with('/')) {
      const auto inside = found.files.upper_bound(path);
      const bool is_empty = inside == found.files.end() || !inside->first.starts_with(path);
      if (is_empty && to.store->keeps_directories())
        to.store->put(to.keys.of(id, path), std::make_shared<TextRange>("a directory", ""));
      continue;
    }
    paths.emplace_back(path, size);
    bytes += size;
  }
  if (progress != nullptr) progress->expect(bytes, found.files.size());
  std::atomic<bool> can{true};
  RequestPool pool(*bucket.store, bucket.requests, progress);
  auto next = paths.begin();
  pool.run([&]() -> RequestPool::Task {
    if (next == paths.end() || !can) return nullptr;
    return [&, one = *next++] {
      const std::string from = bucket.keys.checkpoint(id) + one.first;
      if (!pool.store().copy(from, to.keys.of(id, one.first))) can = false;
      *pool.moved() += one.second;
      pool.count_file();
    };
  });
  return can;
}

void discard_unfinished(const Bucket &bucket, const std::string &id) {
  try {
    discard_checkpoint(bucket, id);
    bucket.intents.remove(id);
  } catch (const Error &error) {
    bucket.logger->warning("removing the unfinished copy " + name_of(bucket, id) + ": " +
                           error.what() + "; the next sweep removes it");
  }
}

}  // namespace

CloudStorage::CloudStorage(CloudOptions options, std::shared_ptr<Logger> logger)
    : config_(options.config),
      memory_(options.deduplicate ? std::make_shared<storage::ChunkMemory>() : nullptr),
      bucket_(bucket_of(std::move(options), std::move(logger))),
      removals_(bucket_),
      files_(bucket_) {}

std::unique_ptr<storage::CheckpointWriter> CloudStorage::begin(const std::string &id) {
  check_storage_id(id);
  const auto refuse = [&](const std::string &why) {
    throw Error(Code::conflict, "starting checkpoint " + name_of(*bucket_, id) + ": " + why);
  };
  if (bucket_->store->find(bucket_->keys.manifest(id))) refuse("the id is taken; use a new id");
  try {
    bucket_->intents.put(id, Purpose::writing, removals_.cluster_id(), {}, true);
  } catch (const Error &error) {
    if (error.code != Code::conflict) throw;
    refuse("it is being written already; use a new id");
  }
  return write_to_bucket(bucket_, id, WriterRole::owner, memory_);
}

std::unique_ptr<storage::CheckpointWriter> CloudStorage::join(const std::string &id) {
  check_storage_id(id);
  return write_to_bucket(bucket_, id, WriterRole::joined, memory_);
}

std::unique_ptr<storage::CheckpointWriter> CloudStorage::resume(
    const std::string &id, const std::filesystem::path &source) {
  check_storage_id(id);
  const std::optional<Intent> intent = bucket_->intents.find(id);
  if (intent && !intent->is_abandoned())
    throw Error(Code::busy, "resuming checkpoint " + name_of(*bucket_, id) + ": process " +
                                std::to_string(intent->owner.pid) + " on '" + intent->owner.host +
                                "' writes it; wait for its end");
  bucket_->intents.put(id, Purpose::writing, removals_.cluster_id(), source.string());
  return write_to_bucket(bucket_, id, WriterRole::resuming, memory_);
}

StoredCheckpoint CloudStorage::stored(const std::string &id) const {
  check_storage_id(id);
  if (auto found = find_checkpoint(*bucket_, id)) return *std::move(found);
  throw_absent(*bucket_, id);
}

// What stays if this process dies now, a sweep removes.
void CloudStorage::probe() {
  const std::string id = make_uuid();
  bucket_->intents.put(id, Purpose::removing, removals_.cluster_id(), {}, true);
  const bool is_there = bucket_->intents.find(id).has_value();
  bucket_->intents.remove(id);
  if (!is_there)
    throw Error(Code::corrupt, "reading " + name_of(*bucket_, id) +
                                   " in the bucket: an object that was just stored is missing; "
                                   "check proxies between this machine and the store");
}

void CloudStorage::download(const std::string &id, const fs::path &target,
                            const storage::ReadOptions &options) {
  const storage::Selector &selector = options.selector;
  storage::check_storage_id(id);
  // Before all of it is listed.
  const bool is_damaged =
      options.had_manifest && !has_manifest(*bucket_, id) && options.had_manifest();
  const StoredCheckpoint found = is_damaged ? StoredCheckpoint() : stored(id);
  if (is_damaged || (!found.has_manifest && found.is_chunked))
    throw Error(Code::corrupt, "verifying " + name_of(*bucket_, id) +
                                   ": its manifest is missing, so that its files cannot be "
                                   "checked; the checkpoint is damaged or somebody has put "
                                   "another in its place, restore another one");
  const storage::ChunkedFiles in_chunks =
      found.is_chunked ? read_chunk_list(*bucket_, id) : storage::ChunkedFiles();
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
                     options.checksums ? file.checksum : std::nullopt,
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
      files.back().pieces.push_back({key_of_chunk(bucket_->keys, chunk.name), chunk.size});
  }
  if (selector && is_empty) return;
  make_directories(target);
  const storage::Tree into(target);
  for (const std::string &path : directories)
    storage::make_directory_beneath(into, path, default_directory_mode);
  fetch_files(*bucket_->store, files, into, bucket_->requests, options.progress);
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
    const std::string &id, const storage::ReadOptions &options) {
  auto reader = make_copy(id);
  download(id, reader->path(), options);
  return reader;
}

bool CloudStorage::copy_to(storage::Storage &other, const std::string &id,
                           storage::Progress *progress) {
  const auto *to = dynamic_cast<CloudStorage *>(&other);
  if (to == nullptr || service_of(to->config_) != service_of(config_)) return false;
  const Bucket &target = *to->bucket_;
  const StoredCheckpoint found = stored(id);
  if (!found.has_manifest || found.is_chunked) return false;
  if (is_stored(target, id))
    throw Error(Code::conflict, "copying to " + name_of(target, id) + ": the id is taken there");
  target.intents.put(id, Purpose::writing, to->removals_.cluster_id(), {}, true);
  try {
    if (!copy_objects(*bucket_, found, id, target, progress)) {
      discard_unfinished(target, id);
      return false;
    }
    // Last, as always: from here on it is visible.
    const auto text = read_object(*bucket_->store, bucket_->keys.manifest(id));
    if (!text)
      throw Error(Code::not_found,
                  "copying checkpoint " + name_of(*bucket_, id) + ": it was removed meanwhile");
    write_object(*target.store, target.keys.manifest(id), *text, true);
  } catch (const Error &) {
    discard_unfinished(target, id);
    throw;
  }
  target.intents.remove(id);
  return true;
}

void CloudStorage::reclaim() try {
  RequestScope scope(nullptr, attempts_of_upkeep);
  reclaim_chunks(bucket_->within(scope));
} catch (const Error &error) {
  // Who may only read leaves it to the others.
  const LogLevel level = error.code == Code::access ? LogLevel::debug : LogLevel::warning;
  bucket_->logger->write(level, "removing chunks that no checkpoint has any more: ", error.what());
}

}  // namespace det::cloud

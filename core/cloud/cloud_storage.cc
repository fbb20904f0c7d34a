#include "core/cloud/cloud_storage.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/cloud/chunks/references.h"
#include "core/cloud/local_directory.h"
#include "core/cloud/object_text.h"
#include "core/storage/glob.h"
#include "core/storage/manifest.h"

namespace det::cloud {

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
             std::move(options.progress), std::move(logger)});
}

}  // namespace

CloudStorage::CloudStorage(CloudOptions options, std::shared_ptr<Logger> logger)
    : config_(options.config),
      memory_(options.deduplicate ? std::make_shared<storage::ChunkMemory>() : nullptr),
      bucket_(bucket_of(std::move(options), std::move(logger))) {}

std::unique_ptr<storage::CheckpointWriter> CloudStorage::writer(const std::string &id,
                                                                CloudWriter::Role role) const {
  return std::make_unique<CloudWriter>(bucket_, id, role, memory_);
}

std::string CloudStorage::name_of(const std::string &id) const {
  return "'" + bucket_->store->name_of(bucket_->keys.checkpoint(id)) + "'";
}

std::unique_ptr<storage::CheckpointWriter> CloudStorage::begin(const std::string &id) {
  check_storage_id(id);
  const auto refuse = [&](const std::string &why) {
    throw Error(Code::conflict, "starting checkpoint " + name_of(id) + ": " + why);
  };
  if (bucket_->store->find(bucket_->keys.manifest(id))) refuse("the id is taken; use a new id");
  try {
    bucket_->intents.put(id, Purpose::writing, cluster_id_, {}, true);
  } catch (const Error &error) {
    if (error.code != Code::conflict) throw;
    refuse("it is being written already; use a new id");
  }
  return writer(id, CloudWriter::Role::owner);
}

std::unique_ptr<storage::CheckpointWriter> CloudStorage::join(const std::string &id) {
  check_storage_id(id);
  return writer(id, CloudWriter::Role::joined);
}

std::unique_ptr<storage::CheckpointWriter> CloudStorage::resume(
    const std::string &id, const std::filesystem::path &source) {
  check_storage_id(id);
  const std::optional<Intent> intent = bucket_->intents.find(id);
  if (intent && !intent->is_abandoned())
    throw Error(Code::busy, "resuming checkpoint " + name_of(id) + ": process " +
                                std::to_string(intent->owner.pid) + " on '" + intent->owner.host +
                                "' writes it; wait for its end");
  bucket_->intents.put(id, Purpose::writing, cluster_id_, source.string());
  return writer(id, CloudWriter::Role::resuming);
}

StoredCheckpoint CloudStorage::stored(const std::string &id) const {
  check_storage_id(id);
  if (auto found = find_checkpoint(*bucket_, id)) return *std::move(found);
  throw_absent(*bucket_, id);
}

// What stays if this process dies now, a sweep removes.
void CloudStorage::probe() {
  const std::string id = make_uuid();
  bucket_->intents.put(id, Purpose::removing, cluster_id_, {}, true);
  const bool is_there = bucket_->intents.find(id).has_value();
  bucket_->intents.remove(id);
  if (!is_there)
    throw Error(Code::corrupt, "reading " + name_of(id) +
                                   " in the bucket: an object that was just stored is missing; "
                                   "check what stands between this machine and the store");
}

storage::Resources CloudStorage::list(const std::string &id) { return stored(id).resources(); }

void CloudStorage::withdraw(const std::string &id) {
  check_storage_id(id);
  const std::lock_guard guard(mutex_);
  if (unsettled_.contains(id) || !is_stored(*bucket_, id)) return;
  bucket_->intents.put(id, Purpose::withdrawn, cluster_id_);
  unsettled_.insert(id);
}

void CloudStorage::remove(const std::string &id) {
  check_storage_id(id);
  const std::lock_guard guard(mutex_);
  const bool is_held = unsettled_.contains(id);
  if (!is_held) {
    if (!is_stored(*bucket_, id)) return;
    bucket_->intents.put(id, Purpose::removing, cluster_id_);
  }
  unfinished_.insert(id);
  discard_checkpoint(*bucket_, id);
  unfinished_.erase(id);
  if (!is_held) bucket_->intents.remove(id);
}

storage::Resources CloudStorage::remove_matching(const std::string &id,
                                                 const std::vector<std::string> &globs) {
  check_storage_id(id);
  const std::optional<StoredCheckpoint> found = find_checkpoint(*bucket_, id);
  if (!found) {
    bucket_->logger->info("removing from checkpoint '" + id + "': nothing is stored under that id");
    return {};
  }
  storage::Matches matches;
  if (std::ranges::count(globs, "**/*") == 0)
    matches = storage::match_globs(found->resources(), globs, *bucket_->logger);
  if (matches.remaining.empty()) {
    remove(id);
    return {};
  }
  storage::ManifestText manifest;
  std::vector<std::string> keys;
  for (const auto &[path, file] : found->files)
    if (matches.remaining.contains(path))
      manifest.files[path] = {file.size, file.checksum.value_or(0), file.attributes};
    else keys.push_back(bucket_->keys.checkpoint(id) + path);
  for (const auto &[path, mode] : found->directories)
    if (matches.remaining.contains(path + "/")) manifest.directories[path] = mode;
    else keys.push_back(bucket_->keys.checkpoint(id) + path + "/");
  // The manifest first: a file too many does no harm, one that is missed makes a checkpoint
  // unusable.
  manifest.chunked = found->is_chunked;
  if (found->has_manifest)
    write_object(*bucket_->store, bucket_->keys.manifest(id), storage::to_text(manifest));
  remove_objects(*bucket_, keys);
  if (found->is_chunked) narrow_references(*bucket_, id, matches.remaining);
  return matches.remaining;
}

}  // namespace det::cloud

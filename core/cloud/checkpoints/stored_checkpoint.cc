#include "core/cloud/checkpoints/stored_checkpoint.h"

#include <set>

#include "core/storage/file_transfer.h"
#include "core/storage/manifest.h"

namespace det::cloud {

namespace {

void add_directories_of(const std::string &path, StoredCheckpoint &stored) {
  std::set<std::string> directories;
  storage::add_directories_of(path, directories);
  for (const std::string &directory : directories) stored.directories.try_emplace(directory);
}

StoredCheckpoint from_manifest(const storage::ManifestText &manifest) {
  StoredCheckpoint stored{{}, {}, true, manifest.chunked};
  for (const auto &[path, entry] : manifest.files) {
    stored.files[path] = {entry.size, entry.checksum, {}, entry.attributes};
    add_directories_of(path, stored);
  }
  for (const auto &[path, mode] : manifest.directories) {
    add_directories_of(path, stored);
    stored.directories[path] = mode;
  }
  return stored;
}

std::optional<StoredCheckpoint> find_with_manifest(const Bucket &bucket, const std::string &id) {
  const std::string key = bucket.keys.manifest(id);
  const std::optional<std::string> text = read_object(*bucket.store, key);
  if (!text) return std::nullopt;
  return from_manifest(
      storage::parse_manifest(*text, "'" + bucket.store->name_of(key) + "'", true));
}

// Without a marker of the checkpoint's own directory. One page of a listing tells.
bool has_objects(const Bucket &bucket, const std::string &id) {
  struct Found {};
  const std::string root = bucket.keys.checkpoint(id);
  try {
    bucket.store->list(root, [&root](const ObjectInfo &info) {
      if (info.key != root) throw Found();
    });
  } catch (const Found &) {
    return true;
  }
  return false;
}

}  // namespace

bool has_manifest(const Bucket &bucket, const std::string &id) {
  if (bucket.store->find(bucket.keys.manifest(id))) return true;
  if (!has_objects(bucket, id)) throw_absent(bucket, id);
  return false;
}

bool is_stored(const Bucket &bucket, const std::string &id) {
  // What is being written, or removed, has no manifest.
  return bucket.store->find(bucket.keys.manifest(id)) ||
         (has_objects(bucket, id) &&
          (!bucket.intents.has(id) || bucket.store->find(bucket.keys.manifest(id))));
}

void throw_absent(const Bucket &bucket, const std::string &id) {
  throw Error(Code::not_found,
              "opening checkpoint '" + bucket.store->name_of(bucket.keys.checkpoint(id)) +
                  "': nothing is stored under that id; check the id and the storage");
}

storage::Resources StoredCheckpoint::resources() const {
  storage::Resources resources;
  for (const auto &[path, file] : files) resources[path] = file.size;
  for (const auto &[path, mode] : directories) resources[path + "/"] = 0;
  return resources;
}

std::optional<StoredCheckpoint> find_checkpoint(const Bucket &bucket, const std::string &id) {
  if (auto whole = find_with_manifest(bucket, id)) return whole;
  StoredCheckpoint stored;
  const std::string root = bucket.keys.checkpoint(id);
  bucket.store->list(root, [&](const ObjectInfo &info) {
    if (info.key == root) return;  // a marker of the checkpoint's own directory
    if (info.key == bucket.keys.chunk_list(id)) {
      stored.is_chunked = true;
      return;
    }
    const std::string path = bucket.keys.path_of(id, info.key);
    if (!path.ends_with('/')) stored.files[path] = {info.size, std::nullopt, info.version};
    add_directories_of(path, stored);
  });
  if (stored.files.empty() && stored.directories.empty() && !stored.is_chunked) return std::nullopt;
  // What is being written, or removed, has no manifest either.
  if (bucket.intents.has(id)) return std::nullopt;
  // And what has just been written has one now.
  auto whole = find_with_manifest(bucket, id);
  return whole ? whole : stored;
}

}  // namespace det::cloud

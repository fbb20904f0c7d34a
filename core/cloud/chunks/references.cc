#include "core/cloud/chunks/references.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/cloud/chunks/bucket_chunks.h"
#include "core/cloud/chunks/saver.h"
#include "core/cloud/object_text.h"
#include "core/cloud/request_pool.h"
#include "core/storage/manifest.h"

namespace det::cloud {

using storage::ChunkedFiles;
using storage::ChunkName;

namespace {

std::string lists_of(const Bucket &bucket) { return bucket.keys.chunks() + "lists/"; }

std::string lists_of(const Bucket &bucket, const std::string &id) {
  return lists_of(bucket) + id + "/";
}

std::vector<std::string> keys_below(const Bucket &bucket, const std::string &prefix) {
  std::vector<std::string> keys;
  bucket.store->list(prefix, [&](const ObjectInfo &info) { keys.push_back(info.key); });
  return keys;
}

std::optional<ChunkedFiles> read_list(const Bucket &bucket, const std::string &key) {
  const std::optional<std::string> text = read_object(*bucket.store, key);
  if (!text) return std::nullopt;
  const std::string name = "'" + bucket.store->name_of(key) + "'";
  try {
    return storage::unpack_chunk_list(*text);
  } catch (const Error &error) {
    if (error.code == Code::unsupported)
      throw Error(Code::unsupported,
                  "reading " + name + ": " + error.what() + "; update this library");
    storage::throw_damaged(name, error.what());
  }
}

void remove_lists(const Bucket &bucket, const std::vector<std::string> &keys) {
  if (keys.empty()) return;
  BucketChunks chunks(bucket);
  storage::note_garbage(chunks);
  remove_objects(bucket, keys);
  storage::note_garbage(chunks);  // again: a sweep may have been in between
}

// Of checkpoints that nobody is writing any more and nobody can read: by who went on storing after
// the checkpoint was given up, or by who removed objects with other tools.
void remove_orphaned_lists(const Bucket &bucket) {
  std::map<std::string, std::vector<std::string>> lists;
  const std::string root = lists_of(bucket);
  for (std::string &key : keys_below(bucket, root)) {
    const std::string id = key.substr(root.size(), key.find('/', root.size()) - root.size());
    if (storage::is_storage_id(id)) lists[id].push_back(std::move(key));
  }
  for (const auto &[id, keys] : lists)
    // In this order: the intent is there before a list, and goes after the manifest has come.
    if (!bucket.intents.has(id) && !bucket.store->find(bucket.keys.manifest(id)))
      remove_lists(bucket, keys);
}

}  // namespace

void write_reference(const Bucket &bucket, const std::string &id, const std::string &writer,
                     const ChunkedFiles &files) {
  write_object(*bucket.store, lists_of(bucket, id) + writer, storage::pack_chunk_list(files));
}

ChunkedFiles read_reference(const Bucket &bucket, const std::string &id,
                            const std::string &writer) {
  if (auto files = read_list(bucket, lists_of(bucket, id) + writer)) return *std::move(files);
  throw Error(Code::conflict, "committing checkpoint '" + id +
                                  "': somebody has removed what a rank stored; save again");
}

void narrow_references(const Bucket &bucket, const std::string &id,
                       const storage::Resources &remaining) {
  BucketChunks chunks(bucket);
  for (const std::string &key : keys_below(bucket, lists_of(bucket, id))) {
    std::optional<ChunkedFiles> files = read_list(bucket, key);
    if (!files || std::erase_if(*files, [&](const auto &file) {
                    return !remaining.contains(file.first);
                  }) == 0)
      continue;
    storage::note_garbage(chunks);
    write_object(*bucket.store, key, storage::pack_chunk_list(*files));
    storage::note_garbage(chunks);  // again: a sweep may have been in between
  }
}

void remove_references(const Bucket &bucket, const std::string &id) {
  remove_lists(bucket, keys_below(bucket, lists_of(bucket, id)));
}

std::optional<ChunkedFiles> read_chunk_list_of(const Bucket &bucket, const std::string &id) {
  return read_list(bucket, bucket.keys.chunk_list(id));
}

std::set<ChunkName> BucketReferences::named() {
  const std::vector<std::string> keys = keys_below(bucket_, lists_of(bucket_));
  std::set<ChunkName> all;
  std::mutex mutex;
  RequestPool pool(bucket_.requests, nullptr);
  auto next = keys.begin();
  pool.run([&]() -> RequestPool::Task {
    if (next == keys.end()) return nullptr;
    return [&, &key = *next++] {
      const std::optional<ChunkedFiles> files = read_list(bucket_, key);
      if (!files) return;  // removed meanwhile, with its checkpoint
      const std::lock_guard lock(mutex);
      for (const auto &[path, file] : *files)
        for (const storage::Chunk &chunk : file.chunks) all.insert(chunk.name);
    };
  });
  return all;
}

std::set<std::string> BucketReferences::savers() {
  std::set<std::string> savers;
  for (std::string &note : BucketChunks(bucket_).notes())
    if (generation_of_saver(note)) savers.insert(std::move(note));
  return savers;
}

void reclaim_chunks(const Bucket &bucket) {
  BucketChunks chunks(bucket);
  if (chunks.notes().empty()) return;
  give_up_dead_savers(bucket);
  if (!storage::has_garbage(chunks)) return;
  remove_orphaned_lists(bucket);
  BucketReferences references(bucket);
  storage::sweep_chunks(chunks, references, *bucket.logger);
}

}  // namespace det::cloud

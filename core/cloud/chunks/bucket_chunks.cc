#include "core/cloud/chunks/bucket_chunks.h"

#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/cloud/chunks/saver.h"
#include "core/cloud/object_text.h"
#include "core/cloud/request_pool.h"

namespace det::cloud {

using storage::ChunkName;

namespace {

// Of chunks on their way, for each request: the size of the largest.
constexpr uint64_t room_of_request = uint64_t{1} << 20;

constexpr std::string_view first_digits = "0123456789abcdef";

std::string data_of(const Keys &keys) { return keys.chunks() + "data/"; }
std::string notes_of(const Keys &keys) { return keys.chunks() + "notes/"; }

}  // namespace

std::string BucketChunks::key_of(const Keys &keys, const ChunkName &name) {
  return data_of(keys) + to_text(name);
}

std::string BucketChunks::key_of_note(const std::string &name) const {
  return notes_of(bucket_.keys) + name;
}

// In as many listings at a time as there are first digits.
std::set<ChunkName> BucketChunks::all() const {
  const std::string root = data_of(bucket_.keys);
  std::set<ChunkName> all;
  std::mutex mutex;
  RequestPool pool(bucket_.requests, nullptr);
  auto digit = first_digits.begin();
  pool.run([&]() -> RequestPool::Task {
    if (digit == first_digits.end()) return nullptr;
    return [&, prefix = root + *digit++] {
      std::set<ChunkName> some;
      bucket_.store->list(prefix, [&](const ObjectInfo &info) {
        if (const auto name = storage::chunk_name_from(info.key.substr(root.size())))
          some.insert(*name);
      });
      const std::lock_guard lock(mutex);
      all.merge(some);
    };
  });
  return all;
}

void BucketChunks::look() { there_ = all(); }

ChunkName BucketChunks::usable(ChunkName name, const std::set<ChunkName> &condemned) {
  name.generation = 0;
  const std::lock_guard lock(mutex_);
  for (auto found = there_.lower_bound(name); found != there_.end() && found->digest == name.digest;
       ++found)
    if (!condemned.contains(*found)) return *found;
  name.generation = generation_;
  return name;
}

bool BucketChunks::has(const ChunkName &name, unsigned /*mode*/) {
  const std::lock_guard lock(mutex_);
  return there_.contains(name);
}

void BucketChunks::put(const ChunkName &name, std::string_view bytes, unsigned /*mode*/) {
  if (is_failed_) flush();
  const std::string key = key_of(bucket_.keys, name);
  const auto range = std::make_shared<TextRange>("a chunk", std::string(bytes));
  storage::Buffer none;
  {
    const std::lock_guard lock(mutex_);
    if (!there_.insert(name).second) return;
    if (!pool_) pool_.emplace(bucket_.requests);
  }
  if (on_the_way_ > bucket_.requests * room_of_request) return send(key, range);
  on_the_way_ += range->size();
  pool_->submit(
      [this, key, range](storage::Buffer &) {
        send(key, range);
        on_the_way_ -= range->size();
      },
      none);
}

void BucketChunks::send(const std::string &key, const std::shared_ptr<ByteRange> &bytes) try {
  const InRequestScope in_scope(scope_);
  bucket_.store->put(key, bytes);
} catch (...) {
  is_failed_ = true;
  throw;
}

void BucketChunks::flush() {
  storage::Buffer none;
  if (pool_) pool_->wait(none);
}

void BucketChunks::get(const ChunkName &name, char *into, size_t size) {
  const std::optional<std::string> bytes = read_object(*bucket_.store, key_of(bucket_.keys, name));
  if (!bytes) throw Error(Code::not_found, "it is missing");
  if (bytes->size() != size)
    throw Error(Code::corrupt, "it has " + std::to_string(bytes->size()) + " bytes instead of " +
                                   std::to_string(size));
  std::memcpy(into, bytes->data(), size);
}

std::optional<uint64_t> BucketChunks::find(const ChunkName &name) {
  const std::optional<ObjectInfo> info = bucket_.store->find(key_of(bucket_.keys, name));
  return info ? std::optional(info->size) : std::nullopt;
}

void BucketChunks::list(const std::function<void(const ChunkName &)> &each) {
  const std::set<ChunkName> stored = all();
  // Afterwards: who is not among them any more has left a list that is read later.
  std::set<uint64_t> saving;
  for (const std::string &name : notes())
    if (const std::optional<uint64_t> generation = generation_of_saver(name))
      saving.insert(*generation);
  for (const ChunkName &name : stored)
    if (!saving.contains(name.generation)) each(name);
}

void BucketChunks::remove(const std::vector<ChunkName> &names) {
  std::vector<std::string> keys;
  for (const ChunkName &name : names) keys.push_back(key_of(bucket_.keys, name));
  remove_objects(bucket_, keys);
}

std::vector<ObjectInfo> BucketChunks::objects_of_notes() const {
  std::vector<ObjectInfo> found;
  bucket_.store->list(notes_of(bucket_.keys),
                      [&](const ObjectInfo &info) { found.push_back(info); });
  return found;
}

std::vector<std::string> BucketChunks::notes() {
  std::vector<std::string> names;
  for (const ObjectInfo &info : objects_of_notes())
    names.push_back(info.key.substr(notes_of(bucket_.keys).size()));
  return names;
}

std::optional<std::string> BucketChunks::note(const std::string &name) {
  return read_object(*bucket_.store, key_of_note(name));
}

void BucketChunks::write_note(const std::string &name, std::string_view text) {
  write_object(*bucket_.store, key_of_note(name), std::string(text));
}

void BucketChunks::remove_note(const std::string &name) {
  bucket_.store->remove({key_of_note(name)});
}

}  // namespace det::cloud

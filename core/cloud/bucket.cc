#include "core/cloud/bucket.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/cloud/chunks/references.h"
#include "core/cloud/request_pool.h"

namespace det::cloud {

namespace {

// Stores that remove one object a request are asked for several batches at a time.
constexpr size_t batch = 250;

// Keys in memory.
constexpr size_t most_held = 10'000;

}  // namespace

void remove_objects(const Bucket &bucket, const std::vector<std::string> &keys) {
  if (keys.size() <= batch) return keys.empty() ? void() : bucket.store->remove(keys);
  RequestPool pool(bucket.requests, nullptr);
  size_t begin = 0;
  pool.run([&]() -> RequestPool::Task {
    if (begin >= keys.size()) return nullptr;
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin);
    const size_t count = std::min(batch, keys.size() - begin);
    begin += count;
    return [&bucket,
            some = std::vector<std::string>(first, first + static_cast<std::ptrdiff_t>(count))] {
      bucket.store->remove(some);
    };
  });
}

void discard_checkpoint(const Bucket &bucket, const std::string &id) {
  const std::string manifest = bucket.keys.manifest(id);
  if (bucket.store->find(manifest)) bucket.store->remove({manifest});
  // As they are listed: there may be any number.
  std::vector<std::string> keys;
  bucket.store->list(bucket.keys.checkpoint(id), [&](const ObjectInfo &info) {
    keys.push_back(info.key);
    if (keys.size() < most_held) return;
    remove_objects(bucket, keys);
    keys.clear();
  });
  remove_objects(bucket, keys);
  try {
    for (const PendingUpload &pending : bucket.store->list_uploads(bucket.keys.checkpoint(id)))
      bucket.store->abort_parts(pending.key, pending.upload);
  } catch (const Error &error) {
    // Who may not list them leaves them to the bucket's rules.
    if (error.code != Code::access) throw;
    bucket.logger->debug("looking for unfinished uploads: ", error.what());
  }
  remove_references(bucket, id);
}

}  // namespace det::cloud

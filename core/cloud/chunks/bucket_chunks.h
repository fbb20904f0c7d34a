// Chunks as objects of a bucket, and the notes of its sweeps:
//   <prefix>/.detcore/chunks/data/<sha256>-<generation>
//   <prefix>/.detcore/chunks/notes/<name>
//
// A generation is the number of who saves, so that no name is given twice: a request that removes
// an object may come late, and neither can be taken back nor made to depend on anything.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/wake.h"
#include "core/cloud/bucket.h"
#include "core/cloud/request_scope.h"
#include "core/storage/chunks/chunk_store.h"
#include "core/storage/pool.h"

namespace det::cloud {

class BucketChunks : public storage::ChunkStore {
 public:
  // To put chunks, under names of that generation; 0: to read or to sweep. `bucket` outlives this.
  explicit BucketChunks(const Bucket &bucket, uint64_t generation = 0)
      : bucket_(bucket), generation_(generation) {}
  ~BucketChunks() override { stop_.set(); }  // what is still sent is given up

  // Of a chunk, for who fetches it himself.
  static std::string key_of(const Keys &keys, const storage::ChunkName &name);

  // Asks the store which chunks it has: before the first usable() and has(), which go by that.
  void look();

  storage::ChunkName usable(storage::ChunkName name,
                            const std::set<storage::ChunkName> &condemned) override;
  bool has(const storage::ChunkName &name, unsigned mode) override;
  // Sent while the caller goes on; waits where much is on its way.
  void put(const storage::ChunkName &name, std::string_view bytes, unsigned mode) override;
  void flush() override;
  void get(const storage::ChunkName &name, char *into, size_t size) override;
  std::optional<uint64_t> find(const storage::ChunkName &name) override;
  // But for those of who is saving: no list can name them yet.
  void list(const std::function<void(const storage::ChunkName &)> &each) override;
  void remove(const std::vector<storage::ChunkName> &names) override;
  bool is_swept_alone() const override { return false; }
  std::vector<std::string> notes() override;
  std::optional<std::string> note(const std::string &name) override;
  void write_note(const std::string &name, std::string_view text) override;
  void remove_note(const std::string &name) override;

  std::vector<ObjectInfo> objects_of_notes() const;
  std::string key_of_note(const std::string &name) const;

 private:
  void send(const std::string &key, const std::shared_ptr<ByteRange> &bytes);
  std::set<storage::ChunkName> all() const;

  const Bucket &bucket_;
  const uint64_t generation_;
  std::mutex mutex_;
  std::set<storage::ChunkName> there_;   // or on its way
  std::atomic<uint64_t> on_the_way_{0};  // bytes
  std::atomic<bool> is_failed_{false};
  const Wake stop_;
  RequestScope scope_{&stop_};
  std::optional<storage::Pool> pool_;  // last: its threads use what stands above
};

}  // namespace det::cloud

#include "core/cloud/checkpoints/bucket_chunks.h"

#include <atomic>
#include <charconv>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/process/process.h"
#include "core/base/uuid.h"
#include "core/base/wake.h"
#include "core/cloud/request_pool.h"
#include "core/cloud/request_scope.h"
#include "core/storage/chunks/chunk_sweep.h"
#include "core/storage/manifest.h"
#include "core/storage/pool.h"

namespace det::cloud {

using storage::ChunkedFiles;
using storage::ChunkName;

namespace {

// Of chunks on their way, for each request: the size of the largest.
constexpr uint64_t room_of_request = uint64_t{1} << 20;

constexpr std::string_view first_digits = "0123456789abcdef";

std::string data_of(const Keys &keys) { return keys.chunks() + "data/"; }
std::string notes_of(const Keys &keys) { return keys.chunks() + "notes/"; }

class BucketChunks : public storage::Chunks {
 public:
  // To put chunks, under names of that generation; 0: to read or to sweep. `bucket` outlives this.
  explicit BucketChunks(const Bucket &bucket, uint64_t generation = 0)
      : bucket_(bucket), generation_(generation) {}
  ~BucketChunks() override { stop_.set(); }  // what is still sent is given up

  std::string owner() const override { return "bucket"; }  // of all chunks here
  ChunkName usable(ChunkName name, const std::set<ChunkName> &condemned) override;
  bool has(const ChunkName &name, unsigned mode) override;
  // Sent while the caller goes on; waits where much is on its way.
  void put(const ChunkName &name, std::string_view bytes, unsigned mode) override;
  void flush() override;
  // But for those of who is saving: no list can name them yet.
  void list(const std::function<void(const ChunkName &)> &each) override;
  void remove(const std::vector<ChunkName> &names) override;
  bool is_swept_alone() const override { return false; }
  std::vector<std::string> notes() override;
  std::optional<std::string> note(const std::string &name) override;
  void write_note(const std::string &name, std::string_view text) override;
  void remove_note(const std::string &name) override;

  std::vector<ObjectInfo> objects_of_notes() const;
  std::string key_of_note(const std::string &name) const;

 private:
  void look();
  void send(const std::string &key, const std::shared_ptr<ByteRange> &bytes);
  std::set<ChunkName> all() const;

  const Bucket &bucket_;
  const uint64_t generation_;
  std::mutex mutex_;
  bool has_looked_ = false;
  std::set<ChunkName> there_;            // or on its way
  std::atomic<uint64_t> on_the_way_{0};  // bytes
  std::atomic<bool> is_failed_{false};
  const Wake stop_;
  RequestScope scope_{&stop_};
  const std::shared_ptr<ObjectStore> into_ = bucket_.store->within(scope_);  // of put()
  std::optional<storage::Pool> pool_;  // last: its threads use what stands above
};

constexpr std::string_view saver = "saver-";
constexpr int64_t given_up_after_ms = int64_t{7} * 24 * 3600 * 1000;

std::string note_of(uint64_t generation) { return std::string(saver) + std::to_string(generation); }

uint64_t random_number() {
  const std::string random = make_uuid();
  return checksum64(random.data(), random.size());
}

Liveness liveness_of(const std::string &note) try {
  return liveness(ProcessIdentity::from_json(parse_json_object(note, "a note")));
} catch (const std::exception &) {
  return Liveness::unknown;
}

// Of a note; nothing: it is another.
std::optional<uint64_t> generation_of_saver(const std::string &note) {
  uint64_t generation = 0;
  const char *const end = note.data() + note.size();
  if (!note.starts_with(saver)) return std::nullopt;
  const auto [last, failure] = std::from_chars(note.data() + saver.size(), end, generation);
  return failure == std::errc() && last == end ? std::optional(generation) : std::nullopt;
}

std::string BucketChunks::key_of_note(const std::string &name) const {
  return notes_of(bucket_.keys) + name;
}

// In as many listings at a time as there are first digits.
std::set<ChunkName> BucketChunks::all() const {
  const std::string root = data_of(bucket_.keys);
  std::set<ChunkName> all;
  std::mutex mutex;
  RequestPool pool(*bucket_.store, bucket_.requests, nullptr);
  auto digit = first_digits.begin();
  pool.run([&]() -> RequestPool::Task {
    if (digit == first_digits.end()) return nullptr;
    return [&, prefix = root + *digit++] {
      std::set<ChunkName> some;
      pool.store().list(prefix, [&](const ObjectInfo &info) {
        if (const auto name = storage::chunk_name_from(info.key.substr(root.size())))
          some.insert(*name);
      });
      const std::lock_guard lock(mutex);
      all.merge(some);
    };
  });
  return all;
}

// Under the lock. Asks the store once which chunks it has: after the condemned names were read.
void BucketChunks::look() {
  if (has_looked_) return;
  there_ = all();
  has_looked_ = true;
}

ChunkName BucketChunks::usable(ChunkName name, const std::set<ChunkName> &condemned) {
  name.generation = 0;
  const std::lock_guard lock(mutex_);
  look();
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
  const std::string key = key_of_chunk(bucket_.keys, name);
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
  into_->put(key, bytes);
} catch (...) {
  is_failed_ = true;
  throw;
}

void BucketChunks::flush() {
  storage::Buffer none;
  if (pool_) pool_->wait(none);
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
  for (const ChunkName &name : names) keys.push_back(key_of_chunk(bucket_.keys, name));
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

// Who is putting chunks into a bucket and has no list yet that a sweep could find: a note,
// "saver-<generation>", that says which process it is.
// Shows itself to sweeps as long as it is there.
class Saver {
 public:
  explicit Saver(const Bucket &bucket);  // outlives this
  Saver(const Saver &) = delete;
  Saver &operator=(const Saver &) = delete;
  // Where what it stored has no list that was finished(), a sweep is told that it is garbage.
  ~Saver();

  uint64_t generation() const { return generation_; }  // of nobody else

  // Once its list is stored. Code::conflict where a sweep has given it up: what it counts on may be
  // gone. Whoever is given up notices here, however late it comes, since no sweep removes anything
  // before the note is gone, and reads the lists after that.
  void finished();

 private:
  const Bucket &bucket_;
  const uint64_t generation_;
  bool is_finished_ = false;
};

Saver::Saver(const Bucket &bucket) : bucket_(bucket), generation_(random_number()) {
  write_object(*bucket.store, BucketChunks(bucket).key_of_note(note_of(generation_)),
               to_wire(ProcessIdentity::current().to_json()) + "\n");
}

Saver::~Saver() {
  RequestScope scope(nullptr, 2);
  try {
    const Bucket bucket = bucket_.within(scope);
    BucketChunks chunks(bucket);
    if (!is_finished_) storage::note_garbage(chunks);
    chunks.remove_note(note_of(generation_));
  } catch (const std::exception &) {
    // A sweep does it once this process is gone.
  }
}

void Saver::finished() {
  if (!bucket_.store->find(BucketChunks(bucket_).key_of_note(note_of(generation_))))
    throw Error(Code::conflict,
                "storing chunks in '" + bucket_.store->name_of(bucket_.keys.chunks()) +
                    "': this took so long that another machine has taken it for abandoned; "
                    "save again");
  is_finished_ = true;
}

// By its own clock.
int64_t now_ms_of(const Bucket &bucket, BucketChunks &chunks) {
  chunks.write_note("clock", "");
  const std::optional<ObjectInfo> info = bucket.store->find(chunks.key_of_note("clock"));
  chunks.remove_note("clock");
  return info ? info->modified_ms : 0;
}

// Removes the notes of those who are gone: of this machine at once, of others when they are a week
// old by the clock of the store. What they stored is garbage.
void give_up_dead_savers(const Bucket &bucket) {
  BucketChunks chunks(bucket);
  std::optional<int64_t> now_ms;
  for (const ObjectInfo &info : chunks.objects_of_notes()) {
    const std::string name = info.key.substr(chunks.key_of_note("").size());
    if (!generation_of_saver(name)) continue;
    const std::optional<std::string> text = chunks.note(name);
    if (!text) continue;
    const Liveness now = liveness_of(*text);
    if (now == Liveness::alive) continue;
    if (now == Liveness::unknown) {
      if (!now_ms) now_ms = now_ms_of(bucket, chunks);
      if (*now_ms - info.modified_ms <= given_up_after_ms) continue;
    }
    storage::note_garbage(chunks);
    chunks.remove_note(name);
  }
}

std::string lists_of(const Bucket &bucket) { return bucket.keys.chunks() + "lists/"; }

std::string lists_of(const Bucket &bucket, const std::string &id) {
  return lists_of(bucket) + id + "/";
}

std::vector<std::string> keys_below(const Bucket &bucket, const std::string &prefix) {
  std::vector<std::string> keys;
  bucket.store->list(prefix, [&](const ObjectInfo &info) { keys.push_back(info.key); });
  return keys;
}

std::optional<ChunkedFiles> read_list(ObjectStore &store, const std::string &key) {
  const std::optional<std::string> text = read_object(store, key);
  if (!text) return std::nullopt;
  return storage::unpack_chunk_list(*text, "'" + store.name_of(key) + "'");
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

class BucketReferences : public storage::ChunkReferences {
 public:
  explicit BucketReferences(const Bucket &bucket) : bucket_(bucket) {}  // outlives this
  std::set<ChunkName> named() override;
  std::set<std::string> savers() override;

 private:
  const Bucket &bucket_;
};

std::set<ChunkName> BucketReferences::named() {
  const std::vector<std::string> keys = keys_below(bucket_, lists_of(bucket_));
  std::set<ChunkName> all;
  std::mutex mutex;
  RequestPool pool(*bucket_.store, bucket_.requests, nullptr);
  auto next = keys.begin();
  pool.run([&]() -> RequestPool::Task {
    if (next == keys.end()) return nullptr;
    return [&, &key = *next++] {
      const std::optional<ChunkedFiles> files = read_list(pool.store(), key);
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

class SentTurn : public storage::ChunkTurn {
 public:
  SentTurn(std::shared_ptr<const Bucket> bucket, std::string key)
      : bucket_(std::move(bucket)), key_(std::move(key)) {}

  storage::Chunks &chunks() override { return chunks_; }
  void publish(const ChunkedFiles &files) override {
    write_object(*bucket_->store, key_, storage::pack_chunk_list(files));
    saver_.finished();
  }

 private:
  const std::shared_ptr<const Bucket> bucket_;
  const std::string key_;
  Saver saver_{*bucket_};
  BucketChunks chunks_{*bucket_, saver_.generation()};
};

}  // namespace

storage::ChunkSaver::Begin send_chunks(std::shared_ptr<const Bucket> bucket, std::string id,
                                       std::string writer) {
  std::string key = lists_of(*bucket, id) + writer;
  return [bucket = std::move(bucket), key = std::move(key)] {
    return std::make_shared<SentTurn>(bucket, key);
  };
}

ChunkedFiles chunks_of_writer(const Bucket &bucket, const std::string &id,
                              const std::string &writer) {
  if (auto files = read_list(*bucket.store, lists_of(bucket, id) + writer))
    return *std::move(files);
  throw Error(Code::conflict, "committing checkpoint '" + id +
                                  "': somebody has removed what a rank stored; save again");
}

ChunkedFiles read_chunk_list(const Bucket &bucket, const std::string &id) {
  const std::string key = bucket.keys.chunk_list(id);
  if (auto files = read_list(*bucket.store, key)) return *std::move(files);
  storage::throw_damaged("'" + bucket.store->name_of(key) + "'", "the object is missing");
}

std::string key_of_chunk(const Keys &keys, const ChunkName &name) {
  return data_of(keys) + to_text(name);
}

void narrow_chunk_lists(const Bucket &bucket, const std::string &id,
                        const storage::Resources &remaining) {
  BucketChunks chunks(bucket);
  for (const std::string &key : keys_below(bucket, lists_of(bucket, id))) {
    std::optional<ChunkedFiles> files = read_list(*bucket.store, key);
    if (!files || std::erase_if(*files, [&](const auto &file) {
                    return !remaining.contains(file.first);
                  }) == 0)
      continue;
    storage::note_garbage(chunks);
    write_object(*bucket.store, key, storage::pack_chunk_list(*files));
    storage::note_garbage(chunks);  // again: a sweep may have been in between
  }
}

void remove_chunk_lists(const Bucket &bucket, const std::string &id) {
  remove_lists(bucket, keys_below(bucket, lists_of(bucket, id)));
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

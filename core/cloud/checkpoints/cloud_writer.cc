#include "core/cloud/checkpoints/cloud_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/process/process.h"
#include "core/base/thread.h"
#include "core/base/uuid.h"
#include "core/base/wake.h"
#include "core/cloud/checkpoints/bucket_chunks.h"
#include "core/cloud/checkpoints/local_directory.h"
#include "core/cloud/checkpoints/object_transfer.h"
#include "core/cloud/request_pool.h"
#include "core/cloud/request_scope.h"
#include "core/storage/file_transfer.h"
#include "core/storage/manifest.h"
#include "core/storage/writer.h"

namespace det::cloud {

namespace fs = std::filesystem;
using std::chrono::steady_clock;
using storage::FileStamp;
using storage::HashedFile;
using storage::TreeEntry;

namespace {

constexpr std::chrono::seconds renewed_every{30};
constexpr std::chrono::seconds looked_at_every{1};
// Longer than a store is out of reach without the saves of the others failing too.
constexpr std::chrono::minutes broken_after{10};

std::string promise_text(uint64_t number) {
  return to_wire(Json{{"owner", ProcessIdentity::current().to_json()}, {"number", number}}) + "\n";
}

// What cannot be understood is not a process that could be asked.
Liveness liveness_in(const std::string &promise) try {
  const Json json = parse_json_object(promise, "a promise");
  return liveness(ProcessIdentity::from_json(json.at("owner")));
} catch (const std::exception &) {
  return Liveness::unknown;
}

// What ranks finished, on its way to the one that commits, where no collective carries it: objects
// beside those of the checkpoint, which are no part of it and go with what is left of it. As
// storage::CheckpointWriter has them; by one thread.
class ShareObjects {
 public:
  ShareObjects(std::shared_ptr<const Bucket> bucket, const std::string &id);
  ~ShareObjects();

  // As long as this process lives and has not left it, the promise is renewed now and then, for an
  // owner on another machine, who sees nothing else of this process.
  void promise(int rank);
  void leave(int rank, const std::string &share);
  // Where it was promised and not left: nobody waits for it any more.
  void withdraw(const Bucket &bucket);
  std::optional<std::string> take(int rank);

  // Whether some promised theirs who may still leave it.
  bool are_awaited(const Bucket &bucket) const;
  void remove() const;

 private:
  std::string key_of(int rank) const { return root_ + std::to_string(rank); }
  std::string promise_of(int rank) const { return key_of(rank) + promise_ending; }
  void renew(int rank);
  void end_renewal();
  bool is_broken(int rank);

  static constexpr const char *promise_ending = ".promise";

  struct Seen {
    std::string promise;
    std::chrono::steady_clock::time_point since;
  };

  const std::shared_ptr<const Bucket> bucket_;
  const std::string root_;
  std::optional<int> promised_;  // and not left
  std::map<int, Seen> seen_;
  std::chrono::steady_clock::time_point looked_{};
  Wake end_;
  std::thread renewal_;
};

ShareObjects::ShareObjects(std::shared_ptr<const Bucket> bucket, const std::string &id)
    : bucket_(std::move(bucket)),
      root_(bucket_->keys.checkpoint(id) + storage::shares_name + "/") {}

ShareObjects::~ShareObjects() { end_renewal(); }

void ShareObjects::promise(int rank) {
  write_object(*bucket_->store, promise_of(rank), promise_text(0));
  promised_ = rank;
  renewal_ = start_thread("det-share", [this, rank] { renew(rank); });
}

void ShareObjects::renew(int rank) {
  RequestScope scope(&end_);
  const auto store = bucket_->store->within(scope);
  for (uint64_t number = 1; scope.wait(renewed_every); ++number) try {
      write_object(*store, promise_of(rank), promise_text(number));
    } catch (const std::exception &) {
      // The next one may come through.
    }
}

void ShareObjects::end_renewal() {
  if (!renewal_.joinable()) return;
  end_.set();
  renewal_.join();
}

void ShareObjects::leave(int rank, const std::string &share) {
  end_renewal();
  write_object(*bucket_->store, key_of(rank), share);
  promised_.reset();
}

void ShareObjects::withdraw(const Bucket &bucket) {
  end_renewal();
  if (promised_) bucket.store->remove({promise_of(*promised_)});
  promised_.reset();
}

std::optional<std::string> ShareObjects::take(int rank) {
  std::optional<std::string> share = read_object(*bucket_->store, key_of(rank));
  if (share || steady_clock::now() - looked_ < looked_at_every) return share;
  looked_ = steady_clock::now();
  if (!is_broken(rank)) return std::nullopt;
  share = read_object(*bucket_->store, key_of(rank));  // it may have left it and ended in between
  if (!share)
    throw Error(Code::unavailable, "saving '" + bucket_->store->name_of(root_) + "': rank " +
                                       std::to_string(rank) +
                                       " ended before it had finished its part");
  return share;
}

// Of a process on another machine, by how long nothing was heard of it, on the clock of this one.
bool ShareObjects::is_broken(int rank) {
  const std::optional<std::string> promise = read_object(*bucket_->store, promise_of(rank));
  if (!promise) return true;  // withdrawn
  const Liveness alive = liveness_in(*promise);
  if (alive != Liveness::unknown) return alive == Liveness::dead;
  const auto now = steady_clock::now();
  Seen &seen = seen_.try_emplace(rank, Seen{*promise, now}).first->second;
  if (seen.promise != *promise) seen = {*promise, now};
  return now - seen.since > broken_after;
}

bool ShareObjects::are_awaited(const Bucket &bucket) const {
  std::set<std::string> keys;
  bucket.store->list(root_, [&](const ObjectInfo &info) { keys.insert(info.key); });
  for (const std::string &key : keys) {
    const std::string share = key.substr(0, key.size() - std::string(promise_ending).size());
    if (!key.ends_with(promise_ending) || keys.contains(share)) continue;
    const std::string promise = read_object(*bucket.store, key).value_or("");
    if (liveness_in(promise) != Liveness::dead) return true;
  }
  return false;
}

void ShareObjects::remove() const {
  std::vector<std::string> keys;
  bucket_->store->list(root_, [&](const ObjectInfo &info) { keys.push_back(info.key); });
  remove_objects(*bucket_, keys);
}

// Whoever took this long may have been given up by a sweep of another machine, which goes by age.
constexpr int64_t still_ours_us = int64_t{24} * 3600 * 1'000'000;

// What all ranks sent. Several machines may send one file, if it has the same bytes.
class Sent {
 public:
  explicit Sent(std::string id) : id_(std::move(id)) {}

  void add(const storage::HashedFiles &files) {
    for (const auto &[path, file] : files) {
      const auto [found, is_new] = files_.try_emplace(path, file);
      if (!is_new &&
          (found->second.stamp.size != file.stamp.size || found->second.checksum != file.checksum))
        throw Error(Code::conflict, "committing checkpoint '" + id_ + "': '" + path +
                                        "' differs between ranks, or was changed after a rank "
                                        "finished it; give each rank's file its own name");
      stamps_.emplace(path, file.stamp);
    }
  }

  bool has(const TreeEntry &entry) const {
    const auto [begin, end] = stamps_.equal_range(entry.path);
    return entry.is_directory()
               ? begin != end
               : std::any_of(begin, end, [stamp = FileStamp::of(entry.about)](const auto &known) {
                   return known.second == stamp;
                 });
  }

  const storage::HashedFiles &files() const { return files_; }

 private:
  const std::string id_;
  storage::HashedFiles files_;
  std::multimap<std::string, FileStamp> stamps_;
};

// The lists of the chunks that the writers of a checkpoint bring stand for themselves among the
// files that a rank has finished.
const std::string chunk_lists = std::string(storage::chunks_directory) + "/";

class BucketBackend : public storage::WriterBackend {
 public:
  BucketBackend(std::shared_ptr<const Bucket> bucket, std::string id, WriterRole role,
                std::shared_ptr<storage::ChunkMemory> memory)
      : bucket_(std::move(bucket)),
        id_(std::move(id)),
        is_owner_(role != WriterRole::joined),
        begun_us_(now_us()) {
    if (memory)
      chunks_.emplace(send_chunks(bucket_, id_, chunk_writer_), std::move(memory), bucket_->logger);
    if (role != WriterRole::resuming) return;
    standing_.emplace();
    bucket_->store->list(bucket_->keys.checkpoint(id_),
                         [&](const ObjectInfo &info) { (*standing_)[info.key] = info; });
  }

  const fs::path &path() const override;
  void add(const fs::path &source, const std::optional<std::vector<std::string>> &paths,
           storage::Progress *progress) override;
  void copy(const fs::path &source, const std::optional<std::vector<std::string>> &paths,
            storage::Progress *progress) override;
  void put(const std::string &name, std::string_view bytes) override;
  void know(const HashedFile &file) override { known_[file.path] = file; }
  storage::Resources list(bool) const override { return storage::resources_of(written()); }
  std::string finish(const std::vector<std::string> &paths, storage::Progress *progress) override;
  void promise_share(int rank) override;
  void leave_share(int rank, const std::string &share) override;
  std::optional<std::string> take_share(int rank) override { return shares_->take(rank); }
  storage::Resources publish(const std::vector<std::string> &finished,
                             storage::Progress *progress) override;
  void announced() override;
  void discard() override;

 private:
  const storage::Tree &local() const;
  std::vector<TreeEntry> written() const;
  void send(const storage::Tree &tree, const std::vector<TreeEntry> &entries, bool confined,
            storage::Progress *progress);
  void send_large(const storage::Tree &tree, const std::vector<TreeEntry> &entries, bool confined,
                  storage::Progress *progress);
  void mark_empty_directories(const std::vector<TreeEntry> &entries);
  storage::ManifestText complete(const std::vector<std::string> &finished,
                                 storage::Progress *progress);
  void write_chunk_list(const std::vector<std::string> &writers, storage::ManifestText &manifest);
  void write_manifest(const storage::ManifestText &manifest);
  bool is_given_up(const Bucket &bucket) const;
  void give_up(const Bucket &bucket);

  const std::shared_ptr<const Bucket> bucket_;
  const std::string id_;
  const bool is_owner_;
  bool is_taken_ = false;  // the id is another's now
  const int64_t begun_us_;
  mutable std::optional<LocalDirectory> local_;  // made when somebody writes there
  mutable fs::path path_;
  bool is_unreachable_ = false;  // the store was, at last
  storage::HashedFiles sent_;    // with directories, which end in '/'
  storage::HashedFiles known_;
  OpenUploads open_;
  std::optional<ShareObjects> shares_;  // of ranks that go on without collectives
  const std::string chunk_writer_ = make_uuid();
  std::optional<storage::ChunkSaver> chunks_;  // nothing: all files are stored whole
  std::optional<std::map<std::string, ObjectInfo>> standing_;  // of an earlier attempt
};

const storage::Tree &BucketBackend::local() const {
  if (!local_) path_ = local_.emplace(bucket_->temporary, id_).path();
  return local_->tree();
}

const fs::path &BucketBackend::path() const {
  if (path_.empty()) local();
  return path_;
}

void BucketBackend::add(const fs::path &source,
                        const std::optional<std::vector<std::string>> &paths,
                        storage::Progress *progress) {
  const storage::Tree from(source);
  const std::vector<TreeEntry> entries = storage::scan_source(from, paths, true);
  storage::check_copyable(from, entries);
  send(from, entries, false, progress);
}

// Into path(), from where publish() sends it.
void BucketBackend::copy(const fs::path &source,
                         const std::optional<std::vector<std::string>> &paths,
                         storage::Progress *progress) {
  const storage::Tree from(source);
  storage::copy_tree(from, storage::scan_source(from, paths, false), local(),
                     {.checksums = false, .progress = progress});
}

void BucketBackend::put(const std::string &name, std::string_view bytes) {
  const Fd file = storage::make_file_beneath(local(), name, default_file_mode);
  write_all(file.get(), bytes, (path_ / name).string());
}

// What is behind a link to a directory has no object yet.
std::vector<TreeEntry> BucketBackend::written() const {
  storage::check_source(local());
  return storage::scan_written(local(), true);
}

// After a throw it cannot be told what of it is there.
void BucketBackend::send(const storage::Tree &tree, const std::vector<TreeEntry> &entries,
                         bool confined, storage::Progress *progress) try {
  std::vector<FileToUpload> files;
  std::vector<TreeEntry> large;
  for (const TreeEntry &entry : entries) {
    std::string key = bucket_->keys.of(id_, entry.path);
    if (entry.is_directory()) sent_[entry.path] = {entry.path, {}, 0};
    else if (chunks_ && storage::is_cut(entry)) large.push_back(entry);
    else files.push_back({entry.path, std::move(key), static_cast<uint64_t>(entry.about.st_size)});
  }
  const UploadOptions options{bucket_->requests, confined, standing_ ? &*standing_ : nullptr,
                              &known_, &open_};
  for (auto &[path, file] : upload_files(*bucket_->store, tree, files, options, progress))
    sent_[path] = std::move(file);
  send_large(tree, large, confined, progress);
  mark_empty_directories(entries);
  for (const TreeEntry &entry : entries)
    sent_[entry.path].attributes = storage::FileAttributes::of(entry.about);
} catch (const Error &error) {
  is_unreachable_ = is_passing(error.code);
  throw;
}

void BucketBackend::send_large(const storage::Tree &tree, const std::vector<TreeEntry> &entries,
                               bool confined, storage::Progress *progress) {
  if (entries.empty()) return;
  std::vector<std::string> paths;
  for (const TreeEntry &entry : entries) paths.push_back(entry.path);
  const storage::ChunkedFiles stored = chunks_->add(tree, paths, confined, progress);
  for (const TreeEntry &entry : entries) {
    const storage::ChunkedFile &file = stored.at(entry.path);
    const uint64_t inode = storage::FileStamp::of(entry.about).inode;
    sent_[entry.path] = {entry.path, {file.size, file.mtime_ns, inode}, file.checksum};
  }
  const std::string list = chunk_lists + chunk_writer_;
  sent_[list] = {list, {}, 0};
}

// What the others hold tells of them, also to programs that know no manifest.
void BucketBackend::mark_empty_directories(const std::vector<TreeEntry> &entries) {
  std::set<std::string> filled;
  std::vector<std::string> keys;
  for (const TreeEntry &entry : entries)
    storage::add_directories_of(
        entry.is_directory() ? entry.path.substr(0, entry.path.size() - 1) : entry.path, filled);
  for (const TreeEntry &entry : entries)
    if (entry.is_directory() && !filled.contains(entry.path.substr(0, entry.path.size() - 1)))
      keys.push_back(bucket_->keys.of(id_, entry.path));
  if (keys.empty() || !bucket_->store->keeps_directories()) return;
  RequestPool pool(*bucket_->store, bucket_->requests, nullptr);
  auto next = keys.begin();
  pool.run([&]() -> RequestPool::Task {
    if (next == keys.end()) return nullptr;
    return [&pool, &key = *next++] { write_object(pool.store(), key, {}); };
  });
}

std::string BucketBackend::finish(const std::vector<std::string> &paths,
                                  storage::Progress *progress) {
  std::vector<TreeEntry> entries;
  if (!paths.empty()) {
    entries = written();
    const std::set<std::string> wanted(paths.begin(), paths.end());
    // All directories: nobody's share names them.
    std::erase_if(entries, [&](const TreeEntry &entry) {
      return !entry.is_directory() && !wanted.contains(entry.path);
    });
    send(local(), entries, true, progress);
  }
  return storage::pack_share(sent_);
}

// The owner waits for those of others alone.
void BucketBackend::promise_share(int rank) {
  shares_.emplace(bucket_, id_);
  if (!is_owner_) shares_->promise(rank);
}

// Who then finds that the owner has given up, or is gone and was swept, clears up: what it sent
// last may have come after that.
void BucketBackend::leave_share(int rank, const std::string &share) {
  shares_->leave(rank, share);
  const bool is_given_up = this->is_given_up(*bucket_);
  shares_.reset();
  if (!is_given_up) return;
  discard_checkpoint(*bucket_, id_);
  throw Error(Code::unavailable, "saving checkpoint '" + id_ +
                                     "': the rank that began it has given it up, or has ended");
}

// The manifest stands before the intent goes, and goes before the other files do.
bool BucketBackend::is_given_up(const Bucket &bucket) const {
  const std::optional<Intent> intent = bucket.intents.find(id_);
  return !(intent && intent->purpose == Purpose::writing) &&
         !bucket.store->find(bucket.keys.manifest(id_));
}

// The intent changes first: a rank that sends something after the others' was removed sees that.
// While one may, the intent stays, so that nothing is left should that rank be killed.
void BucketBackend::give_up(const Bucket &bucket) {
  bool is_awaited = false;
  if (shares_) {
    bucket.intents.put(id_, Purpose::removing, {});
    is_awaited = shares_->are_awaited(bucket);
  }
  discard_checkpoint(bucket, id_);
  if (!is_awaited) bucket.intents.remove(id_);
}

// All files there, the manifest, visible.
storage::Resources BucketBackend::publish(const std::vector<std::string> &finished,
                                          storage::Progress *progress) try {
  const storage::ManifestText manifest = complete(finished, progress);
  if (shares_) shares_->remove();
  shares_.reset();  // all are taken: nobody sends anything any more
  write_manifest(manifest);
  local_.reset();
  storage::Resources resources;
  for (const auto &[path, entry] : manifest.files) resources[path] = entry.size;
  for (const auto &[path, mode] : manifest.directories) resources[path + "/"] = 0;
  return resources;
} catch (const std::exception &failure) {
  is_unreachable_ = is_passing(as_error(failure).code);
  throw;
}

// Sends what nobody has finished, and lists everything.
storage::ManifestText BucketBackend::complete(const std::vector<std::string> &finished,
                                              storage::Progress *progress) {
  Sent shares(id_);
  for (const std::string &share : finished) shares.add(storage::unpack_shares({share}));
  if (local_) {
    Sent sent = shares;
    sent.add(sent_);
    std::vector<TreeEntry> entries = written();
    std::erase_if(entries, [&](const TreeEntry &entry) { return sent.has(entry); });
    send(local(), entries, true, progress);
  }
  shares.add(sent_);
  storage::ManifestText manifest;
  std::set<std::string> directories;
  std::vector<std::string> writers;
  for (const auto &[path, file] : shares.files()) {
    if (path.starts_with(chunk_lists)) {
      writers.push_back(path.substr(chunk_lists.size()));
      continue;
    }
    storage::add_directories_of(path, directories);
    if (!path.ends_with('/'))
      manifest.files[path] = {file.stamp.size, file.checksum, file.attributes};
    else if (file.attributes)
      manifest.directories[path.substr(0, path.size() - 1)] = file.attributes->mode;
  }
  for (const std::string &path : directories)
    if (manifest.files.contains(path))
      throw Error(Code::conflict, "committing checkpoint '" + id_ + "': '" + path +
                                      "' is a file of one rank and a directory of another; give "
                                      "them different names");
  for (const std::string &path : directories) manifest.directories.try_emplace(path);
  write_chunk_list(writers, manifest);
  return manifest;
}

// Of what the writers brought, as far as it is what the manifest says.
void BucketBackend::write_chunk_list(const std::vector<std::string> &writers,
                                     storage::ManifestText &manifest) {
  storage::ChunkedFiles all;
  for (const std::string &writer : writers)
    for (auto &[path, file] : chunks_of_writer(*bucket_, id_, writer)) {
      const auto found = manifest.files.find(path);
      if (found != manifest.files.end() && found->second.size == file.size &&
          found->second.checksum == file.checksum)
        all.insert_or_assign(path, std::move(file));
    }
  manifest.chunked = !all.empty();
  if (manifest.chunked)
    write_object(*bucket_->store, bucket_->keys.chunk_list(id_), storage::pack_chunk_list(all));
}

// From here on it is visible.
void BucketBackend::write_manifest(const storage::ManifestText &manifest) {
  is_taken_ = now_us() - begun_us_ > still_ours_us && !bucket_->intents.has(id_);
  if (is_taken_)
    throw Error(Code::conflict, "committing checkpoint '" + id_ +
                                    "': another machine has taken it for abandoned and removed "
                                    "its files; save again");
  const std::string text = storage::to_text(manifest);
  const std::string key = bucket_->keys.manifest(id_);
  try {
    write_object(*bucket_->store, key, text, true);
  } catch (const Error &error) {
    // The answer to an earlier attempt may have been lost, or its process.
    if (error.code != Code::conflict) throw;
    is_taken_ = read_object(*bucket_->store, key) != text;
    if (is_taken_) throw;
  }
}

void BucketBackend::announced() {
  RequestScope scope(nullptr, 2);
  bucket_->within(scope).intents.remove(id_);
}

// Who failed because the store does not answer must not wait for it again: what is left, the sweep
// of a later process removes.
void BucketBackend::discard() {
  local_.reset();
  RequestScope scope(nullptr, is_unreachable_ ? 1 : 0);
  const Bucket bucket = bucket_->within(scope);
  for (const auto &[key, upload] : open_.take()) bucket.store->abort_parts(key, upload);
  if (!is_owner_ && shares_) shares_->withdraw(bucket);
  if (!is_owner_ && shares_ && is_given_up(bucket)) discard_checkpoint(bucket, id_);
  if (!is_owner_ || is_taken_) return;
  give_up(bucket);
}

}  // namespace

std::unique_ptr<storage::CheckpointWriter> write_to_bucket(
    std::shared_ptr<const Bucket> bucket, const std::string &id, WriterRole role,
    std::shared_ptr<storage::ChunkMemory> memory) {
  using storage::Writer;
  return std::make_unique<Writer>(
      id, role == WriterRole::joined ? Writer::Role::joined : Writer::Role::owner,
      std::make_unique<BucketBackend>(std::move(bucket), id, role, std::move(memory)));
}

}  // namespace det::cloud

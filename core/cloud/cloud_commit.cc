// The last steps of a checkpoint in a bucket: all files there, the manifest, known.
#include <algorithm>
#include <set>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/cloud/chunks/references.h"
#include "core/cloud/cloud_writer.h"
#include "core/cloud/object_text.h"
#include "core/cloud/request_scope.h"
#include "core/storage/tree_transfer.h"

namespace det::cloud {

using storage::FileStamp;
using storage::HashedFile;
using storage::TreeEntry;

namespace {

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

}  // namespace

std::string CloudWriter::finish(const std::vector<std::string> &paths) {
  require_writing("finishing checkpoint");
  std::vector<TreeEntry> entries;
  if (!paths.empty()) {
    entries = written();
    const std::set<std::string> wanted(paths.begin(), paths.end());
    // All directories: nobody's share names them.
    std::erase_if(entries, [&](const TreeEntry &entry) {
      return !entry.is_directory() && !wanted.contains(entry.path);
    });
    send(local(), entries, true);
  }
  return storage::pack_share(sent_);
}

// The owner waits for those of others alone.
void CloudWriter::promise_share(int rank) {
  require_writing("sharing checkpoint");
  shares_.emplace(bucket_, id_);
  if (!is_owner_) shares_->promise(rank);
}

// Also what adding or finishing failed with. Who then finds that the owner has given up, or is gone
// and was swept, clears up: what it sent last may have come after that.
void CloudWriter::leave_share(int rank, const std::string &share) {
  require_own_process();
  shares_->leave(rank, share);
  const bool is_given_up = this->is_given_up();
  shares_.reset();
  if (!is_given_up) return;
  discard_checkpoint(*bucket_, id_);
  throw Error(Code::unavailable, "saving checkpoint '" + id_ +
                                     "': the rank that began it has given it up, or has ended");
}

std::optional<std::string> CloudWriter::take_share(int rank) {
  require_writing("sharing checkpoint");
  return shares_->take(rank);
}

// The manifest stands before the intent goes, and goes before the other files do.
bool CloudWriter::is_given_up() const {
  const std::optional<Intent> intent = bucket_->intents.find(id_);
  return !(intent && intent->purpose == Purpose::writing) &&
         !bucket_->store->find(bucket_->keys.manifest(id_));
}

// The intent changes first: a rank that sends something after the others' was removed sees that.
// While one may, the intent stays, so that nothing is left should that rank be killed.
void CloudWriter::give_up() {
  bool is_awaited = false;
  if (shares_) {
    bucket_->intents.put(id_, Purpose::removing, {});
    is_awaited = shares_->are_awaited();
  }
  discard_checkpoint(*bucket_, id_);
  if (!is_awaited) bucket_->intents.remove(id_);
}

storage::Resources CloudWriter::commit(const std::vector<std::string> &finished) {
  require_writing("committing checkpoint");
  if (!is_owner_)
    throw Error(Code::state, "committing checkpoint '" + id_ +
                                 "': this rank joined it; the rank that began it commits");
  try {
    const storage::ManifestText manifest = complete(finished);
    if (shares_) shares_->remove();
    shares_.reset();  // all are taken: nobody sends anything any more
    publish(manifest);
    state_ = State::committed;
    local_.reset();
    storage::Resources resources;
    for (const auto &[path, entry] : manifest.files) resources[path] = entry.size;
    for (const auto &[path, mode] : manifest.directories) resources[path + "/"] = 0;
    return resources;
  } catch (const std::exception &failure) {
    is_unreachable_ = is_passing(as_error(failure).code);
    try {
      abort();
    } catch (const Error &) {
      // What went wrong first is what the caller should know.
    }
    throw;
  }
}

// Sends what nobody has finished, and lists everything.
storage::ManifestText CloudWriter::complete(const std::vector<std::string> &finished) {
  Sent shares(id_);
  for (const std::string &share : finished) shares.add(storage::unpack_shares({share}));
  if (local_) {
    Sent sent = shares;
    sent.add(sent_);
    std::vector<TreeEntry> entries = written();
    std::erase_if(entries, [&](const TreeEntry &entry) { return sent.has(entry); });
    send(local(), entries, true);
  }
  shares.add(sent_);
  storage::ManifestText manifest;
  std::set<std::string> directories;
  std::vector<std::string> writers;
  for (const auto &[path, file] : shares.files()) {
    if (const auto writer = SentChunks::writer_of(path)) {
      writers.push_back(*writer);
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
                                      "them names of their own");
  for (const std::string &path : directories) manifest.directories.try_emplace(path);
  write_chunk_list(writers, manifest);
  return manifest;
}

// Of what the writers brought, as far as it is what the manifest says.
void CloudWriter::write_chunk_list(const std::vector<std::string> &writers,
                                   storage::ManifestText &manifest) {
  storage::ChunkedFiles all;
  for (const std::string &writer : writers)
    for (auto &[path, file] : read_reference(*bucket_, id_, writer)) {
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
void CloudWriter::publish(const storage::ManifestText &manifest) {
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

void CloudWriter::announced() {
  require_own_process();
  if (state_ == State::announced) return;
  if (state_ != State::committed)
    throw Error(Code::state, "announcing checkpoint '" + id_ + "': it is not committed");
  state_ = State::announced;
  RequestScope scope(nullptr);
  scope.attempts = 2;
  const InRequestScope in_scope(scope);
  try {
    bucket_->intents.remove(id_);
  } catch (const std::exception &) {
    // The next sweep finds it without an owner, asks the master, and removes it.
  }
}

}  // namespace det::cloud

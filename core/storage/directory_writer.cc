#include "core/storage/directory_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/storage/chunks/directory_chunks.h"
#include "core/storage/manifest.h"
#include "core/storage/writer.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

// Shares as CheckpointWriter has them, in a directory of the tree that the ranks write, which is no
// part of the checkpoint. What the owner has removed with the tree, nobody leaves any more.
class ShareFiles {
 public:
  explicit ShareFiles(const Tree &tree) : tree_(tree) {}

  void promise(int rank);
  void leave(int rank, const std::string &share) const;
  std::optional<std::string> take(int rank) const;

  // The directory; absent is fine.
  void remove() const;

 private:
  std::filesystem::path directory() const { return tree_.name / shares_name; }
  std::filesystem::path promise_of(int rank) const;
  std::optional<std::string> read(int rank) const;

  const Tree &tree_;
  std::optional<OwnerLock> promise_;  // held while this process may still leave it
};

std::string leaf_of(int rank) { return std::string(shares_name) + "/" + std::to_string(rank); }

fs::path ShareFiles::promise_of(int rank) const {
  return directory() / (std::to_string(rank) + ".lock");
}

void ShareFiles::promise(int rank) {
  if (mkdirat(tree_.fd.get(), shares_name, default_directory_mode) != 0 && errno != EEXIST)
    OsFailure{errno}.raise("making directory " + tree_.name_of(shares_name));
  promise_ = OwnerLock::acquire(promise_of(rank));
}

void ShareFiles::leave(int rank, const std::string &share) const {
  const std::string leaf = leaf_of(rank), aside = leaf + ".new";
  const int root = tree_.fd.get();
  const Fd file(openat(root, aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) OsFailure{errno}.raise("making " + tree_.name_of(aside));
  write_all(file.get(), share, (tree_.name / aside).string());
  if (renameat(root, aside.c_str(), root, leaf.c_str()) != 0)
    OsFailure{errno}.raise("renaming to " + tree_.name_of(leaf));
}

std::optional<std::string> ShareFiles::read(int rank) const {
  const std::string leaf = leaf_of(rank);
  const Fd file(openat(tree_.fd.get(), leaf.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) OsFailure{errno}.raise("opening " + tree_.name_of(leaf));
  return read_all(file.get(), (tree_.name / leaf).string());
}

std::optional<std::string> ShareFiles::take(int rank) const {
  std::optional<std::string> share = read(rank);
  if (share || owner_liveness(promise_of(rank)) != Liveness::dead) return share;
  share = read(rank);  // it may have left it and ended in between
  if (!share)
    throw Error(Code::unavailable, "saving in '" + tree_.name.string() + "': rank " +
                                       std::to_string(rank) +
                                       " ended before it had finished its part");
  return share;
}

void ShareFiles::remove() const {
  struct stat about {};
  if (fstatat(tree_.fd.get(), shares_name, &about, AT_SYMLINK_NOFOLLOW) == 0)
    remove_beneath(tree_.fd.get(), shares_name, directory());
}

// Its tree, and who may show or remove it.
struct Opened {
  Tree tree;
  std::optional<OwnerLock> lock;  // nothing: another process is its owner
  bool was_begun = false;         // by a process that is gone
  bool is_visible = false;        // and committed by it
};

class DirectoryBackend : public WriterBackend {
 public:
  DirectoryBackend(Staging staging, std::string id, Opened opened, DirectoryWriterOptions options)
      : id_(std::move(id)),
        options_(std::move(options)),
        staging_(std::move(staging)),
        was_begun_(opened.was_begun),
        is_visible_(opened.is_visible),
        lock_(std::move(opened.lock)),
        tree_(std::move(opened.tree)) {
    if (options_.memory)
      chunks_.emplace(stage_chunks(staging_.visible(), tree_, options_.durable), options_.memory,
                      options_.logger);
  }

  void rely_on(bool is_of_this_boot) const;

  const fs::path &path() const override { return tree_.name; }
  void add(const fs::path &source, const std::optional<std::vector<std::string>> &paths,
           Progress *progress) override;
  void copy(const fs::path &source, const std::optional<std::vector<std::string>> &paths,
            Progress *progress) override;
  void put(const std::string &name, std::string_view bytes) override;
  void know(const HashedFile &file) override { hashed_[file.path] = file; }
  Resources list(bool is_written) const override;
  std::string finish(const std::vector<std::string> &paths, Progress *progress) override;
  void promise_share(int rank) override { shares_.promise(rank); }
  void leave_share(int rank, const std::string &share) override { shares_.leave(rank, share); }
  std::optional<std::string> take_share(int rank) override { return shares_.take(rank); }
  void seal(const std::string &owner) override { staging_.seal(id_, owner); }
  Resources publish(const std::vector<std::string> &finished, Progress *progress) override;
  void announced() override;
  void discard() override;

 private:
  std::vector<HashedFile> bring(const fs::path &source,
                                const std::optional<std::vector<std::string>> &paths,
                                const TransferOptions &options);
  Resources complete(const HashedFiles &finished, Progress *progress);
  std::vector<TreeEntry> cut(const Tree &from, std::vector<TreeEntry> entries, Progress *progress);
  void cut_staged(const std::vector<TreeEntry> &entries, Progress *progress);
  std::set<std::string> finish_in_chunks(const std::vector<std::string> &paths, Progress *progress);
  ChunkedFiles finish_chunks(std::vector<TreeEntry> &entries, Progress *progress);
  void drop_chunks(const ChunkedFiles &brought, const ChunkedFiles &chunked) const;

  const std::string id_;
  const DirectoryWriterOptions options_;
  const Staging staging_;  // open as long as this is, like the tree
  const bool was_begun_;
  bool is_visible_;
  std::optional<OwnerLock> lock_;
  const Tree tree_;
  ShareFiles shares_{tree_};
  std::optional<ChunkSaver> chunks_;  // nothing: all files are stored whole
  HashedFiles hashed_;                // while copying, so as not to read again
};

const HashedFile *unchanged(const HashedFiles &files, const TreeEntry &entry) {
  const auto found = files.find(entry.path);
  if (found == files.end() || found->second.stamp != FileStamp::of(entry.about)) return nullptr;
  return &found->second;
}

// Of a tree that was complete on the disk before the power went, the manifest tells.
void DirectoryBackend::rely_on(bool is_of_this_boot) const {
  shares_.remove();
  if (!is_of_this_boot) {
    const std::optional<Manifest> manifest = read_manifest(tree_);
    if (!manifest)
      throw Error(Code::corrupt, "finishing checkpoint '" + id_ +
                                     "': the machine has been started again since, and what was "
                                     "not on the disk is lost");
    verify(tree_, *manifest, nullptr);
  }
  if (unlinkat(tree_.fd.get(), manifest_name, 0) != 0 && errno != ENOENT)
    OsFailure{errno}.raise("removing " + tree_.name_of(manifest_name));
}

void DirectoryBackend::add(const fs::path &source,
                           const std::optional<std::vector<std::string>> &paths,
                           Progress *progress) {
  for (HashedFile &file :
       bring(source, paths, {.start_writing = options_.durable, .progress = progress}))
    hashed_[file.path] = std::move(file);
}

void DirectoryBackend::copy(const fs::path &source,
                            const std::optional<std::vector<std::string>> &paths,
                            Progress *progress) {
  bring(source, paths, {.checksums = false, .spares = options_.spares.get(), .progress = progress});
}

std::vector<HashedFile> DirectoryBackend::bring(
    const fs::path &source, const std::optional<std::vector<std::string>> &paths,
    const TransferOptions &options) {
  const Tree from(source);
  std::vector<TreeEntry> entries = scan_source(from, paths, chunks_.has_value(), &tree_);
  // What is only copied, in a hurry, is cut by finish() and publish().
  if (chunks_ && options.checksums) entries = cut(from, std::move(entries), options.progress);
  return copy_tree(from, entries, tree_, options);
}

void DirectoryBackend::put(const std::string &name, std::string_view bytes) {
  const int root = tree_.fd.get();
  // Made anew, so that neither a link nor another name of the old file is written through.
  if (unlinkat(root, name.c_str(), 0) != 0 && errno != ENOENT)
    OsFailure{errno}.raise("replacing " + tree_.name_of(name));
  if (chunks_) chunks_->forget(name);
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const Fd file(openat(root, name.c_str(), flags, default_file_mode));
  if (!file) OsFailure{errno}.raise("making " + tree_.name_of(name));
  write_all(file.get(), bytes, (tree_.name / name).string());
}

Resources DirectoryBackend::list(bool is_written) const {
  Resources resources = resources_of(is_written ? scan_written(tree_, false)
                                                : scan_tree(tree_, {.outside = Code::invalid}));
  for (const auto &[path, file] : gather_chunk_lists(tree_)) resources.try_emplace(path, file.size);
  return resources;
}

std::string DirectoryBackend::finish(const std::vector<std::string> &paths, Progress *progress) {
  std::vector<std::string> unknown;
  const std::set<std::string> in_chunks = finish_in_chunks(paths, progress);
  for (const std::string &path : paths)
    if (!hashed_.contains(path) && !in_chunks.contains(path)) unknown.push_back(path);
  for (HashedFile &file : hash_files(tree_, unknown, progress))
    hashed_[file.path] = std::move(file);
  if (options_.durable) {
    std::vector<TreeEntry> entries;
    for (const auto &[path, file] : hashed_) entries.push_back({path, {}});
    sync_entries(tree_, entries);
  }
  return pack_share(hashed_);
}

// On the disk, with its manifest, visible.
Resources DirectoryBackend::publish(const std::vector<std::string> &finished, Progress *progress) {
  shares_.remove();
  Resources resources = complete(unpack_shares(finished), progress);
  staging_.publish(tree_, id_);
  is_visible_ = true;
  if (options_.durable) staging_.sync_base();
  return resources;
}

// Writes the manifest and brings to the disk what is not there yet.
Resources DirectoryBackend::complete(const HashedFiles &finished, Progress *progress) {
  std::vector<TreeEntry> entries = scan_written(tree_, false);
  std::vector<std::string> unknown;
  const ChunkedFiles chunked = finish_chunks(entries, progress);
  Resources resources = resources_of(entries);
  Manifest manifest;
  for (const auto &[path, file] : chunked) {
    resources[path] = file.size;
    manifest[path] = {file.size, file.checksum};
  }
  for (const TreeEntry &entry : entries) {
    if (entry.is_directory()) continue;
    const HashedFile *known = unchanged(finished, entry);
    if (known == nullptr) known = unchanged(hashed_, entry);
    if (known != nullptr) manifest[entry.path] = {known->stamp.size, known->checksum};
    else unknown.push_back(entry.path);
  }
  for (const auto &[path, file] : finished)
    if (!resources.contains(path))
      throw Error(Code::conflict, "committing " + tree_.name_of(path) +
                                      ": a rank finished it, but it is missing; leave the "
                                      "directory alone while it is committed");
  for (const HashedFile &file : hash_files(tree_, unknown, progress))
    manifest[file.path] = {file.stamp.size, file.checksum};
  write_manifest(tree_, manifest, !chunked.empty());
  if (options_.durable) {
    std::erase_if(entries, [&](const TreeEntry &e) { return unchanged(finished, e) != nullptr; });
    sync_tree(tree_, std::move(entries));
    // The lock too: after a power cut it tells that the master may not know the checkpoint.
    staging_.sync_locks();
  }
  return resources;
}

void DirectoryBackend::announced() {
  const std::optional<OwnerLock> held = std::exchange(lock_, std::nullopt);
  staging_.release(id_);
}

void DirectoryBackend::discard() {
  if (!lock_) return;  // it goes when the owner aborts
  if (is_visible_) staging_.discard_visible(id_);
  else staging_.discard_staged(id_);
  staging_.release(id_);
  lock_.reset();
}

// Whether the file in chunks is the one that stands there whole.
bool is_same(const ChunkedFile &file, const TreeEntry &entry) {
  const FileStamp stamp = FileStamp::of(entry.about);
  return file.size == stamp.size && file.mtime_ns == stamp.mtime_ns;
}

// Brings the large files among the entries, and gives back the rest, with the directories of all.
std::vector<TreeEntry> DirectoryBackend::cut(const Tree &from, std::vector<TreeEntry> entries,
                                             Progress *progress) {
  std::vector<std::string> large;
  std::vector<TreeEntry> rest;
  std::set<std::string> directories;
  for (TreeEntry &entry : entries) {
    if (is_cut(entry)) {
      add_directories_of(entry.path, directories);
      large.push_back(std::move(entry.path));
    } else {
      if (!entry.is_directory()) chunks_->forget(entry.path);
      rest.push_back(std::move(entry));
    }
  }
  for (const std::string &path : directories) rest.push_back({path + "/", {}});
  chunks_->add(from, large, false, progress);
  for (const std::string &path : large)
    if (hashed_.erase(path) > 0) remove_file_beneath(tree_, path);
  return rest;
}

// Of what lies in the tree; there it stays until the commit, since links may lead to it.
void DirectoryBackend::cut_staged(const std::vector<TreeEntry> &entries, Progress *progress) {
  std::vector<std::string> large;
  for (const TreeEntry &entry : entries)
    if (is_cut(entry)) large.push_back(entry.path);
  chunks_->add(tree_, large, true, progress);
  for (const std::string &path : large) hashed_.erase(path);
}

// The large ones of these files, and of those that this writer knows; gives back what is in chunks.
std::set<std::string> DirectoryBackend::finish_in_chunks(const std::vector<std::string> &paths,
                                                         Progress *progress) {
  std::set<std::string> in_chunks;
  for (const auto &[path, file] : gather_chunk_lists(tree_)) in_chunks.insert(path);
  if (!chunks_) return in_chunks;
  std::vector<TreeEntry> entries;
  std::set<std::string> looked_at;
  const auto look_at = [&](const std::string &path) {
    if (!looked_at.insert(path).second) return;
    TreeEntry entry{path, {}};
    const Fd file(open_beneath(tree_.fd.get(), path, O_PATH));
    if (!file || fstat(file.get(), &entry.about) != 0 || !is_cut(entry)) return;
    entries.push_back(std::move(entry));
    in_chunks.insert(path);
  };
  for (const std::string &path : paths) look_at(path);
  for (const auto &[path, file] : hashed_) look_at(path);
  cut_staged(entries, progress);
  return in_chunks;
}

// What all brought in chunks, which then is no entry any more.
ChunkedFiles DirectoryBackend::finish_chunks(std::vector<TreeEntry> &entries, Progress *progress) {
  ChunkedFiles chunked = gather_chunk_lists(tree_);
  const ChunkedFiles brought = chunked;
  if (chunks_) {
    // What lies behind a link to a directory is gone from there, too, where it is cut.
    const bool has_links = std::any_of(entries.begin(), entries.end(), [](const TreeEntry &entry) {
      return entry.link && entry.is_directory();
    });
    const ScanOptions behind_links{.enter_links = true, .outside = Code::invalid};
    std::vector<TreeEntry> missing;
    for (const TreeEntry &entry : has_links ? scan_tree(tree_, behind_links) : entries)
      if (const auto found = chunked.find(entry.path);
          found == chunked.end() || !is_same(found->second, entry))
        missing.push_back(entry);
    cut_staged(missing, progress);
    for (auto &[path, file] : chunks_->files()) chunked.insert_or_assign(path, file);
  }
  std::vector<TreeEntry> whole;
  for (TreeEntry &entry : entries) {
    const auto found = chunked.find(entry.path);
    if (found != chunked.end() && is_same(found->second, entry)) {
      remove_file_beneath(tree_, entry.path);
      continue;
    }
    if (found != chunked.end()) chunked.erase(found);  // something else has taken its place
    whole.push_back(std::move(entry));
  }
  entries = std::move(whole);
  drop_chunks(brought, chunked);
  return chunked;
}

// Makes the list of all of what the writers brought. A process that is gone may have stored chunks
// that no list has.
void DirectoryBackend::drop_chunks(const ChunkedFiles &brought, const ChunkedFiles &chunked) const {
  const bool is_all_named =
      !was_begun_ && std::all_of(brought.begin(), brought.end(), [&](const auto &file) {
        const auto found = chunked.find(file.first);
        return found != chunked.end() && found->second.checksum == file.second.checksum;
      });
  const std::optional<uid_t> owner = is_all_named ? std::nullopt : chunk_owner_of(tree_);
  note_garbage_of(staging_.visible(), owner);
  if (!chunked.empty()) finish_chunk_lists(tree_, chunked);
  else remove_beneath(tree_.fd.get(), chunks_directory, tree_.name / chunks_directory);
  note_garbage_of(staging_.visible(), owner);  // again: a sweep may have been in between
}

// Seen in the place where it was published, else where it was written.
Opened open_sealed(const Staging &staging, SealedTree &sealed) {
  const fs::path visible = staging.base() / sealed.id;
  Fd tree(open(visible.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const bool is_visible = static_cast<bool>(tree);
  return {is_visible ? Tree(visible, std::move(tree)) : staging.join(sealed.id),
          std::move(sealed.lock), true, is_visible};
}

}  // namespace

std::unique_ptr<CheckpointWriter> begin_in_directory(Staging staging, const std::string &id,
                                                     const DirectoryWriterOptions &options) {
  std::optional<OwnerLock> lock;
  Tree tree = staging.claim(id, lock);
  return std::make_unique<Writer>(
      id, Writer::Role::owner,
      std::make_unique<DirectoryBackend>(std::move(staging), id,
                                         Opened{std::move(tree), std::move(lock)}, options));
}

std::unique_ptr<CheckpointWriter> join_in_directory(Staging staging, const std::string &id,
                                                    const DirectoryWriterOptions &options) {
  Tree tree = staging.join(id);
  return std::make_unique<Writer>(
      id, Writer::Role::joined,
      std::make_unique<DirectoryBackend>(std::move(staging), id, Opened{std::move(tree), {}},
                                         options));
}

std::unique_ptr<CheckpointWriter> reopen_in_directory(Staging staging, SealedTree sealed,
                                                      const DirectoryWriterOptions &options) {
  Opened opened = open_sealed(staging, sealed);
  const bool is_visible = opened.is_visible;
  auto backend =
      std::make_unique<DirectoryBackend>(std::move(staging), sealed.id, std::move(opened), options);
  if (!is_visible) backend->rely_on(sealed.is_of_this_boot);
  return std::make_unique<Writer>(
      sealed.id, is_visible ? Writer::Role::reopened : Writer::Role::owner, std::move(backend));
}

}  // namespace det::storage

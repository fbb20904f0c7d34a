#include "core/cloud/cloud_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/cloud/object_text.h"
#include "core/cloud/request_pool.h"
#include "core/storage/chunks/chunk_saver.h"
#include "core/storage/tree_transfer.h"

namespace det::cloud {

namespace fs = std::filesystem;
using storage::TreeEntry;

CloudWriter::CloudWriter(std::shared_ptr<const Bucket> bucket, std::string id, Role role,
                         std::shared_ptr<storage::ChunkMemory> memory)
    : bucket_(std::move(bucket)),
      id_(std::move(id)),
      is_owner_(role != Role::joined),
      begun_us_(now_us()) {
  if (memory) chunks_.emplace(bucket_, id_, std::move(memory));
  if (role != Role::resuming) return;
  standing_.emplace();
  bucket_->store->list(bucket_->keys.checkpoint(id_),
                       [&](const ObjectInfo &info) { (*standing_)[info.key] = info; });
}

CloudWriter::~CloudWriter() {
  if (guard_.in_child() || (state_ != State::writing && state_ != State::damaged)) return;
  try {
    CloudWriter::abort();
  } catch (const std::exception &) {
    // A sweep tries again once this process is gone.
  }
}

const storage::Tree &CloudWriter::local() const {
  if (!local_) path_ = local_.emplace(bucket_->temporary, id_).path();
  return local_->tree();
}

const fs::path &CloudWriter::path() const {
  if (path_.empty()) local();
  return path_;
}

void CloudWriter::require_own_process() const {
  if (guard_.in_child())
    throw Error(Code::state, "writing checkpoint '" + id_ +
                                 "': this is a forked child of the process that began it; leave it "
                                 "to the parent");
}

void CloudWriter::require_writing(const char *tried) const {
  require_own_process();
  if (state_ == State::damaged)
    throw Error(Code::state, std::string(tried) + " '" + id_ +
                                 "': adding to it failed before; abort it and begin a new one");
  if (state_ != State::writing)
    throw Error(Code::state, std::string(tried) + " '" + id_ +
                                 "': it is committed or aborted already; begin a new one");
}

void CloudWriter::add(const fs::path &source,
                      const std::optional<std::vector<std::string>> &paths) {
  require_writing("adding to checkpoint");
  const storage::Tree from(source);
  storage::check_source(from);
  std::vector<TreeEntry> entries = storage::scan_tree(from, {.enter_links = !paths});
  if (paths) entries = storage::only(std::move(entries), *paths, from);
  storage::check_copyable(from, entries);
  send(from, entries, false);
}

void CloudWriter::copy(const fs::path &source,
                       const std::optional<std::vector<std::string>> &paths) {
  require_writing("adding to checkpoint");
  const storage::Tree from(source);
  storage::check_source(from);
  std::vector<TreeEntry> entries =
      storage::scan_tree(from, {.enter_links = !paths, .sizes = false});
  if (paths) entries = storage::only(std::move(entries), *paths, from);
  state_ = State::damaged;
  storage::copy_tree(from, entries, local(), {.checksums = false});
  state_ = State::writing;
}

void CloudWriter::put(const std::string &name, std::string_view bytes) {
  require_writing("adding to checkpoint");
  const Fd file = storage::make_file_beneath(local(), name, default_file_mode);
  write_all(file.get(), bytes, (path_ / name).string());
}

// What is behind a link to a directory has no object yet.
std::vector<TreeEntry> CloudWriter::written() const {
  storage::check_source(local());
  return storage::scan_written(local(), true);
}

storage::Resources CloudWriter::list() const { return storage::resources_of(written()); }

// After a throw it cannot be told what of it is there.
void CloudWriter::send(const storage::Tree &tree, const std::vector<TreeEntry> &entries,
                       bool confined) try {
  std::vector<FileToStore> files;
  std::vector<TreeEntry> large;
  for (const TreeEntry &entry : entries) {
    std::string key = bucket_->keys.of(id_, entry.path);
    if (entry.is_directory()) sent_[entry.path] = {entry.path, {}, 0};
    else if (chunks_ && storage::is_cut(entry)) large.push_back(entry);
    else files.push_back({entry.path, std::move(key), static_cast<uint64_t>(entry.about.st_size)});
  }
  state_ = State::damaged;
  const StoreOptions options{bucket_->requests, confined, standing_ ? &*standing_ : nullptr,
                             &known_, &open_};
  for (auto &[path, file] : store_files(*bucket_->store, tree, files, options, bucket_->progress()))
    sent_[path] = std::move(file);
  send_chunks(tree, large, confined);
  mark_empty_directories(entries);
  for (const TreeEntry &entry : entries)
    sent_[entry.path].attributes = storage::FileAttributes::of(entry.about);
  state_ = State::writing;
} catch (const Error &error) {
  is_unreachable_ = is_passing(error.code);
  throw;
}

void CloudWriter::send_chunks(const storage::Tree &tree, const std::vector<TreeEntry> &entries,
                              bool confined) {
  if (entries.empty()) return;
  std::vector<std::string> paths;
  for (const TreeEntry &entry : entries) paths.push_back(entry.path);
  const storage::ChunkedFiles stored = chunks_->add(tree, paths, confined);
  for (const TreeEntry &entry : entries) {
    const storage::ChunkedFile &file = stored.at(entry.path);
    const uint64_t inode = storage::FileStamp::of(entry.about).inode;
    sent_[entry.path] = {entry.path, {file.size, file.mtime_ns, inode}, file.checksum};
  }
  sent_[chunks_->name()] = {chunks_->name(), {}, 0};
}

// What the others hold tells of them, also to programs that know no manifest.
void CloudWriter::mark_empty_directories(const std::vector<TreeEntry> &entries) {
  std::set<std::string> filled;
  std::vector<std::string> keys;
  for (const TreeEntry &entry : entries)
    storage::add_directories_of(
        entry.is_directory() ? entry.path.substr(0, entry.path.size() - 1) : entry.path, filled);
  for (const TreeEntry &entry : entries)
    if (entry.is_directory() && !filled.contains(entry.path.substr(0, entry.path.size() - 1)))
      keys.push_back(bucket_->keys.of(id_, entry.path));
  if (keys.empty() || !bucket_->store->keeps_directories()) return;
  RequestPool pool(bucket_->requests, nullptr);
  auto next = keys.begin();
  pool.run([&]() -> RequestPool::Task {
    if (next == keys.end()) return nullptr;
    return [this, &key = *next++] { write_object(*bucket_->store, key, {}); };
  });
}

void CloudWriter::abort() {
  require_own_process();
  if (state_ == State::aborted) return;
  if (state_ == State::announced)
    throw Error(Code::state,
                "aborting checkpoint '" + id_ + "': it is announced; delete it instead");
  state_ = State::aborted;
  local_.reset();
  // Who failed because the store does not answer must not wait for it again: what is left, the
  // sweep of a later process removes.
  RequestScope scope(nullptr);
  scope.attempts = is_unreachable_ ? 1 : 0;
  const InRequestScope in_scope(scope);
  for (const auto &[key, upload] : open_.take()) bucket_->store->abort_parts(key, upload);
  if (!is_owner_ && shares_) shares_->withdraw();
  if (!is_owner_ && shares_ && is_given_up()) discard_checkpoint(*bucket_, id_);
  if (!is_owner_ || is_taken_) return;
  give_up();
}

}  // namespace det::cloud

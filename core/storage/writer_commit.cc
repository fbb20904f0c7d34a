// The last steps of a checkpoint: on the disk, with its manifest, visible, known.
#include <sys/stat.h>

#include "core/storage/durable.h"
#include "core/storage/manifest.h"
#include "core/storage/writer.h"

namespace det::storage {

namespace {

const HashedFile *unchanged(const HashedFiles &files, const TreeEntry &entry) {
  const auto found = files.find(entry.path);
  if (found == files.end() || found->second.stamp != FileStamp::of(entry.about)) return nullptr;
  return &found->second;
}

}  // namespace

void DirectoryWriter::require_owner(const char *tried) const {
  if (!owner_)
    throw Error(Code::state, std::string(tried) + " '" + id_ +
                                 "': this rank joined it; the rank that began it commits");
}

std::string DirectoryWriter::finish(const std::vector<std::string> &paths) {
  require_writing("finishing checkpoint");
  std::vector<std::string> unknown;
  const std::set<std::string> in_chunks = finish_in_chunks(paths);
  for (const std::string &path : paths)
    if (!hashed_.contains(path) && !in_chunks.contains(path)) unknown.push_back(path);
  for (HashedFile &file : hash_files(tree_, unknown)) hashed_[file.path] = std::move(file);
  if (durable_) {
    std::vector<TreeEntry> entries;
    for (const auto &[path, file] : hashed_) entries.push_back({path, {}});
    sync_entries(tree_, entries);
  }
  return pack_share(hashed_);
}

void DirectoryWriter::promise_share(int rank) {
  require_writing("sharing checkpoint");
  shares_.promise(rank);
}

void DirectoryWriter::leave_share(int rank, const std::string &share) {
  require_writing("sharing checkpoint");
  shares_.leave(rank, share);
}

std::optional<std::string> DirectoryWriter::take_share(int rank) {
  require_writing("sharing checkpoint");
  return shares_.take(rank);
}

void DirectoryWriter::seal(const std::string &owner) {
  require_writing("sealing checkpoint");
  require_owner("sealing checkpoint");
  staging_.seal(id_, owner);
}

Resources DirectoryWriter::commit(const std::vector<std::string> &finished) {
  if (was_committed_ && state_ == State::committed)
    return resources_of(scan_tree(tree_, {.outside = Code::invalid}));
  require_writing("committing checkpoint");
  require_owner("committing checkpoint");
  try {
    shares_.remove();
    Resources resources = complete(unpack_shares(finished));
    staging_.publish(tree_, id_);
    state_ = State::committed;
    if (durable_) staging_.sync_base();
    return resources;
  } catch (...) {
    try {
      abort();
    } catch (const Error &) {
      // What went wrong first is what the caller should know.
    }
    throw;
  }
}

// Writes the manifest and brings to the disk what is not there yet.
Resources DirectoryWriter::complete(const HashedFiles &finished) {
  std::vector<TreeEntry> entries = scan_written(tree_, false);
  std::vector<std::string> unknown;
  const ChunkedFiles chunked = finish_chunks(entries);
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
                                      ": a rank finished it, but it is not there; leave the "
                                      "directory alone while it is committed");
  for (const HashedFile &file : hash_files(tree_, unknown))
    manifest[file.path] = {file.stamp.size, file.checksum};
  write_manifest(tree_, manifest, !chunked.empty());
  if (durable_) {
    std::erase_if(entries, [&](const TreeEntry &e) { return unchanged(finished, e) != nullptr; });
    sync_tree(tree_, entries);
    // The lock too: after a power cut it tells that the master may not know the checkpoint.
    staging_.sync_locks();
  }
  return resources;
}

void DirectoryWriter::announced() {
  require_own_process();
  if (state_ == State::announced) return;
  if (state_ != State::committed)
    throw Error(Code::state, "announcing checkpoint '" + id_ + "': it is not committed");
  state_ = State::announced;
  try {
    staging_.release(id_);
  } catch (const std::exception &) {
    // The next sweep finds the lock without an owner, asks the master, and removes it.
  }
  lock_.reset();
}

}  // namespace det::storage

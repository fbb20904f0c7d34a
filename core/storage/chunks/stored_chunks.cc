#include "core/storage/chunks/stored_chunks.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/storage/chunks/chunk_reader.h"
#include "core/storage/chunks/staged_chunks.h"
#include "core/storage/shared_directory.h"

namespace det::storage {

namespace fs = std::filesystem;

StoredChunks::StoredChunks(const fs::path &base, const Tree &stored,
                           const std::optional<Manifest> &manifest)
    : stored_(stored), base_(base) {
  std::optional<ChunkedFiles> list = read_chunk_list(stored);
  if (!list) return;
  if (!manifest)
    throw_damaged("'" + stored.name.string() + "'",
                  "its manifest is missing, but it has files in chunks");
  std::erase_if(*list, [&](const auto &file) { return !manifest->contains(file.first); });
  files_ = *std::move(list);
  for (const auto &[path, file] : files_) {
    if (file.size != manifest->at(path).size)
      throw_damaged(stored.name_of(path), "its chunks have " + std::to_string(file.size) +
                                              " bytes instead of " +
                                              std::to_string(manifest->at(path).size));
    all_.insert(path);
  }
}

void StoredChunks::add_to(std::vector<TreeEntry> &entries) const {
  if (empty()) return;
  std::erase_if(entries, [&](const TreeEntry &entry) { return all_.contains(entry.path); });
  for (const auto &[path, file] : files_) {
    TreeEntry entry{path, {}};
    entry.about.st_mode = S_IFREG;
    entry.about.st_size = static_cast<off_t>(file.size);
    entries.push_back(std::move(entry));
  }
}

void StoredChunks::take_from(std::vector<TreeEntry> &entries) {
  if (all_.empty()) return;
  std::set<std::string> wanted, directories;
  std::erase_if(entries, [&](const TreeEntry &entry) {
    if (!all_.contains(entry.path)) return false;
    add_directories_of(entry.path, directories);
    wanted.insert(entry.path);
    return true;
  });
  std::erase_if(files_, [&](const auto &file) { return !wanted.contains(file.first); });
  for (const std::string &path : directories) entries.push_back({path + "/", {}});
}

Manifest StoredChunks::rest_of(const Manifest &manifest) const {
  Manifest rest = manifest;
  std::erase_if(rest, [&](const auto &entry) { return all_.contains(entry.first); });
  return rest;
}

void StoredChunks::forget_all_but(const Resources &remaining) const {
  ChunkedFiles left = files_;
  if (std::erase_if(left, [&](const auto &file) { return !remaining.contains(file.first); }) == 0)
    return;
  const std::optional<uid_t> owner = chunk_owner_of(stored_);
  note_garbage_of(base_, owner);
  write_chunk_list(stored_, left);
  note_garbage_of(base_, owner);  // again: a sweep may have been in between
}

ChunkStore *StoredChunks::find(const std::string &owner) const {
  auto found = stores_.find(owner);
  if (found == stores_.end())
    found = stores_.emplace(owner, DirectoryChunks::find(base_, owner)).first;
  return found->second ? &*found->second : nullptr;
}

void StoredChunks::verify() const {
  check_chunks(
      stored_, files_, [this](const std::string &owner) { return find(owner); }, false);
}

std::vector<HashedFile> StoredChunks::assemble(const Tree &target) const {
  return assemble_files(
      stored_, files_, [this](const std::string &owner) { return find(owner); }, target);
}

TemporaryCopy::TemporaryCopy(const fs::path &base, const std::string &cluster_id)
    : id_(make_uuid()) {
  try {
    staging_.emplace(Staging::open(base, cluster_id));
    path_ = staging_->claim(id_, lock_).name;
    return;
  } catch (const Error &error) {
    if (error.code != Code::access) throw;
    staging_.reset();
  }
  std::string name = (fs::temp_directory_path() / "det-checkpoint-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) OsFailure{errno}.raise("making directory '" + name + "'");
  path_ = name;
}

TemporaryCopy::~TemporaryCopy() {
  try {
    if (staging_) {
      staging_->discard_staged(id_);
      staging_->release(id_);
    } else {
      remove_tree(path_);
    }
  } catch (const std::exception &) {
    // In the storage, the next sweep does it.
  }
}

}  // namespace det::storage

// What of a checkpoint goes into chunks on its way into a directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/storage/chunks/chunk_saver.h"
#include "core/storage/shared_directory.h"
#include "core/storage/writer.h"

namespace det::storage {

namespace {

// Whether the file in chunks is the one that stands there whole.
bool is_same(const ChunkedFile &file, const TreeEntry &entry) {
  const FileStamp stamp = FileStamp::of(entry.about);
  return file.size == stamp.size && file.mtime_ns == stamp.mtime_ns;
}

}  // namespace

void DirectoryWriter::deduplicate(std::shared_ptr<ChunkMemory> memory,
                                  std::shared_ptr<Logger> logger) {
  chunks_ = std::make_unique<StagedChunks>(staging_.visible(), tree_, std::move(memory),
                                           std::move(logger), durable_);
}

// Brings the large files among the entries, and gives back the rest, with the directories of all.
std::vector<TreeEntry> DirectoryWriter::cut(const Tree &from, std::vector<TreeEntry> entries) {
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
  chunks_->add(from, large, false);
  for (const std::string &path : large)
    if (hashed_.erase(path) > 0) remove_file_beneath(tree_, path);
  return rest;
}

// Of what lies in the tree; there it stays until the commit, since links may lead to it.
void DirectoryWriter::cut_staged(const std::vector<TreeEntry> &entries) {
  std::vector<std::string> large;
  for (const TreeEntry &entry : entries)
    if (is_cut(entry)) large.push_back(entry.path);
  chunks_->add(tree_, large, true);
  for (const std::string &path : large) hashed_.erase(path);
}

// The large ones of these files, and of those that this writer knows; gives back what is in chunks.
std::set<std::string> DirectoryWriter::finish_in_chunks(const std::vector<std::string> &paths) {
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
  cut_staged(entries);
  return in_chunks;
}

// What all brought in chunks, which then is no entry any more.
ChunkedFiles DirectoryWriter::finish_chunks(std::vector<TreeEntry> &entries) {
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
    cut_staged(missing);
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
void DirectoryWriter::drop_chunks(const ChunkedFiles &brought, const ChunkedFiles &chunked) const {
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

}  // namespace det::storage

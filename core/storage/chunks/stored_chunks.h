// What of a stored checkpoint is in chunks, on its way out.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/storage/chunks/chunk_list.h"
#include "core/storage/chunks/directory_chunks.h"
#include "core/storage/file_transfer.h"
#include "core/storage/manifest.h"
#include "core/storage/storage.h"

namespace det::storage {

class StoredChunks {
 public:
  // Of the checkpoint `stored` in the storage at `base`. Only what its manifest names counts.
  StoredChunks(const std::filesystem::path &base, const Tree &stored,
               const std::optional<Manifest> &manifest);

  bool empty() const { return files_.empty(); }
  bool has(const std::string &path) const { return all_.contains(path); }

  // Makes the files entries of the checkpoint, as if they lay there.
  void add_to(std::vector<TreeEntry> &entries) const;
  // Leaves those that are still entries, and takes them from these; the directories that they lie
  // in become entries.
  void take_from(std::vector<TreeEntry> &entries);

  // What lies there as files.
  Manifest rest_of(const Manifest &manifest) const;

  // Throws Code::corrupt naming the first file of which a chunk is missing or has another size.
  void verify() const;
  // Gives back what was written and its checksums, which nobody has compared yet.
  std::vector<HashedFile> assemble(const Tree &target, Progress *progress) const;

  // From the stored list too, whose manifest names no others any more.
  void forget_all_but(const Resources &remaining) const;

 private:
  DirectoryChunks &chunks_of(const std::string &path) const;

  const Tree &stored_;
  const Tree base_;
  ChunkedFiles files_;
  std::set<std::string> all_;  // their names, before any were taken away
  mutable std::map<std::string, std::optional<DirectoryChunks>> stores_;
};

}  // namespace det::storage

// Brings objects into files: several at once, large ones by ranges written in place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cloud/object_store.h"
#include "core/storage/progress.h"
#include "core/storage/tree.h"
#include "core/storage/tree_transfer.h"

namespace det::cloud {

struct Piece {
  std::string key;
  uint64_t size = 0;  // of the object
};

struct FileToFetch {
  std::string path;  // below the target; what it lies in is there
  std::string key;
  uint64_t size = 0;
  std::optional<uint64_t> checksum{};  // that it must have
  std::string version{};               // that the object must have; empty: any
  std::vector<Piece> pieces{};         // objects that it is made of; empty: it is one
  std::optional<storage::FileAttributes> attributes{};  // that it gets

  bool is_sparse() const { return attributes && attributes->is_sparse; }
};

// Throws Code::corrupt, naming it, for an object that is not there, or has another size or
// checksum. A file is made anew; what failed half way is removed.
void fetch_files(ObjectStore &store, const std::vector<FileToFetch> &files,
                 const storage::Tree &target, size_t requests, storage::Progress *progress);

}  // namespace det::cloud

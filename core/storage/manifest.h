// What a checkpoint should hold: the size and checksum of each file, kept in its root.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/storage/storage.h"
#include "core/storage/tree_transfer.h"

namespace det::storage {

struct ManifestEntry {
  uint64_t size = 0;
  uint64_t checksum = 0;
};

using Manifest = std::map<std::string, ManifestEntry>;  // by relative path, files only

// Into a tree without one; Code::invalid where the name is taken.
void write_manifest(const Tree &root, const Manifest &manifest);

// Nothing when there is none; Code::corrupt when it cannot be understood.
std::optional<Manifest> read_manifest(const Tree &root);

// In place of an old one, durably.
void replace_manifest(const Tree &root, const Manifest &manifest);

// Compares the sizes, and the checksums if asked, of the listed files that `wanted` takes. Throws
// Code::corrupt naming the first that is missing or differs.
void verify(const Tree &root, const Manifest &manifest, const Selector &wanted, bool checksums);

// Throws Code::corrupt unless `file` is what the manifest says, or it says nothing.
void verify_checksum(const Tree &root, const Manifest &manifest, const HashedFile &file);

}  // namespace det::storage

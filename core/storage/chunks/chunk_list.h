// Which chunks the files of a checkpoint are made of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/storage/chunks/chunk_name.h"
#include "core/storage/storage.h"
#include "core/storage/tree.h"

namespace det::storage {

struct Chunk {
  ChunkName name;
  uint64_t size = 0;
};

struct ChunkedFile {
  uint64_t size = 0;
  uint64_t checksum = 0;  // as the manifest has it
  unsigned mode = 0;
  int64_t mtime_ns = 0;
  std::string owner;          // which of the storage's stores of chunks has them
  std::vector<Chunk> chunks;  // in their order; none reaches over the end of a checksum_block
  bool is_sparse = false;
};

using ChunkedFiles = std::map<std::string, ChunkedFile>;  // by relative path

// With a checksum of its own. The second throws Code::corrupt, or Code::unsupported for a version
// that it does not know.
std::string pack_chunk_list(const ChunkedFiles &files);
ChunkedFiles unpack_chunk_list(std::string_view bytes);

// In the chunks_directory of a tree, and while that is written in a directory of each writer: what
// it brought.
inline constexpr const char *chunk_list_name = "list";

// The list of a finished tree. Nothing where no file is in chunks; errors name the tree.
std::optional<ChunkedFiles> read_chunk_list(const Tree &tree);

// That at `path` below an open directory.
std::optional<ChunkedFiles> read_chunk_list_at(const Tree &tree, const std::string &path);

// Writes or replaces it, as one step.
void write_chunk_list(const Tree &tree, const ChunkedFiles &files);

// What all writers of an unfinished tree brought so far, and the list of the whole if it is there.
ChunkedFiles gather_chunk_lists(const Tree &tree);

}  // namespace det::storage

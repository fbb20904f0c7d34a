// Which chunks the files of a checkpoint are made of.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::storage {

// The SHA-256 of its bytes, so that `sha256sum` can check a stored one.
struct ChunkName {
  std::array<unsigned char, 32> digest{};
  // Tells one name of these bytes from another: a storage gives a new one where a sweep has
  // condemned the earlier, or to each who saves.
  uint64_t generation = 0;

  auto operator<=>(const ChunkName &) const = default;
};

ChunkName name_of_chunk(std::string_view bytes);

// 64 hexadecimal digits, and "-1" and so on for later generations.
std::string to_text(const ChunkName &name);
std::optional<ChunkName> chunk_name_from(std::string_view text);

struct Chunk {
  ChunkName name;
  uint64_t size = 0;
};

struct ChunkedFile {
  uint64_t size = 0;
  uint64_t checksum = 0;  // as the manifest has it
  unsigned mode = 0;
  int64_t mtime_ns = 0;
  std::string owner;          // whose they are: Chunks::owner()
  std::vector<Chunk> chunks;  // in their order; none reaches over the end of a checksum_block
  bool is_sparse = false;
};

using ChunkedFiles = std::map<std::string, ChunkedFile>;  // by relative path

// With a checksum of its own. The second throws Code::corrupt, or Code::unsupported for a version
// that it does not know; `described` names the list in errors.
std::string pack_chunk_list(const ChunkedFiles &files);
ChunkedFiles unpack_chunk_list(std::string_view bytes,
                               const std::string &described = "the list of chunks");

}  // namespace det::storage

// What a chunk is called: the SHA-256 of its bytes, so that `sha256sum` can check a stored one.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det::storage {

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

}  // namespace det::storage

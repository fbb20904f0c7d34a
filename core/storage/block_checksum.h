// The checksum that the manifest has of a file. Blocks are summed apart, so that several threads
// can share a file: part of the manifest's format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/hash.h"

namespace det::storage {

inline constexpr uint64_t checksum_block = uint64_t{64} << 20;

// An empty file has a block as well.
inline size_t checksum_blocks(uint64_t size) {
  return static_cast<size_t>(std::max<uint64_t>(1, (size + checksum_block - 1) / checksum_block));
}

inline uint64_t combined_checksum(const std::vector<uint64_t> &of_blocks) {
  if (of_blocks.size() == 1) return of_blocks[0];
  Checksum all;
  for (const uint64_t sum : of_blocks)
    for (int shift = 0; shift < 64; shift += 8) {
      const auto byte = static_cast<unsigned char>(sum >> shift);
      all.add(&byte, 1);
    }
  return all.value();
}

}  // namespace det::storage

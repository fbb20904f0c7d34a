// Checksums of stored data: XXH3. They find damage; they are no proof against an attacker.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace det {

uint64_t checksum64(const void *data, size_t size) noexcept;

// Long enough to take what has one hash for equal; a secret seed keeps others from arranging it.
struct Hash128 {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash128 &) const = default;
};
Hash128 hash128(const void *data, size_t size, uint64_t seed) noexcept;

// As checksum64(), of data that comes in pieces.
class Checksum {
 public:
  Checksum() noexcept;
  void add(const void *data, size_t size) noexcept;
  uint64_t value() const noexcept;

 private:
  alignas(64) std::array<unsigned char, 576> state_;
};

}  // namespace det

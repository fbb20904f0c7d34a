// Checksums of stored data: XXH3. They find damage; they are no proof against an attacker.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace det {

uint64_t checksum64(const void *data, size_t size) noexcept;

// The same value, of data that comes in pieces.
class Checksum {
 public:
  Checksum() noexcept;
  void add(const void *data, size_t size) noexcept;
  uint64_t value() const noexcept;

 private:
  alignas(64) std::array<unsigned char, 576> state_;
};

}  // namespace det

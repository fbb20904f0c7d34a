// Checksums of stored data: XXH3. They find damage; they are no proof against an attacker.
#pragma once

#include <cstddef>
#include <cstdint>

namespace det {

uint64_t checksum64(const void *data, size_t size) noexcept;

}  // namespace det

#include "core/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace det {

uint64_t checksum64(const void *data, size_t size) noexcept { return XXH3_64bits(data, size); }

Hash128 hash128(const void *data, size_t size, uint64_t seed) noexcept {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(data, size, seed);
  return {hash.low64, hash.high64};
}

static_assert(sizeof(XXH3_state_t) <= sizeof(Checksum) && alignof(XXH3_state_t) <= 64);

Checksum::Checksum() noexcept {
  XXH3_64bits_reset(reinterpret_cast<XXH3_state_t *>(state_.data()));
}

void Checksum::add(const void *data, size_t size) noexcept {
  XXH3_64bits_update(reinterpret_cast<XXH3_state_t *>(state_.data()), data, size);
}

uint64_t Checksum::value() const noexcept {
  return XXH3_64bits_digest(reinterpret_cast<const XXH3_state_t *>(state_.data()));
}

}  // namespace det

#include "core/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace det {

uint64_t checksum64(const void *data, size_t size) noexcept { return XXH3_64bits(data, size); }

}  // namespace det

#include "core/base/crypto/crypto_library.h"

extern "C" {
// What libdetcore-crypto shows.
[[gnu::visibility("default")]] extern const det::CryptoLibrary det_crypto_library;
const det::CryptoLibrary det_crypto_library{DET_CRYPTO_BUILD};
}

namespace det {

const CryptoLibrary &crypto_library() { return det_crypto_library; }

}  // namespace det

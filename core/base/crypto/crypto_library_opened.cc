#include "core/base/crypto/crypto_library.h"
#include "core/base/part.h"

namespace det {

const CryptoLibrary &crypto_library() {
  static const auto &library = *static_cast<const CryptoLibrary *>(
      open_part({"computing a secure hash", "libdetcore-crypto.so.0", "det_crypto_library",
                 DET_CRYPTO_BUILD, ", and OpenSSL 3 (Debian and Ubuntu: libssl3)"}));
  return library;
}

}  // namespace det

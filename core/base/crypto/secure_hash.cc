#include "core/base/crypto/secure_hash.h"

#include <string>

#include "core/base/crypto/crypto_library.h"
#include "core/base/error.h"

namespace det {

namespace {

void require(bool computed, const char *name) {
  if (!computed)
    throw Error(Code::internal, std::string("computing a secure hash: OpenSSL offers no ") + name);
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  const CryptoLibrary &crypto = crypto_library();
  Sha256 digest{};
  require(crypto.EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, crypto.EVP_sha256(),
                            nullptr) == 1,
          "SHA-256");
  return digest;
}

Sha512 sha512(std::string_view bytes) {
  const CryptoLibrary &crypto = crypto_library();
  Sha512 digest{};
  require(crypto.EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, crypto.EVP_sha512(),
                            nullptr) == 1,
          "SHA-512");
  return digest;
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  const CryptoLibrary &crypto = crypto_library();
  Sha256 code{};
  require(crypto.HMAC(crypto.EVP_sha256(), key.data(), static_cast<int>(key.size()),
                      reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size(),
                      code.data(), nullptr) != nullptr,
          "HMAC-SHA256");
  return code;
}

bool is_same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && crypto_library().CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace det

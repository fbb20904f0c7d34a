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

template <class Digest>
Digest digest_of(std::string_view bytes, const EVP_MD *algorithm, const char *name) {
  Digest digest{};
  require(crypto_library().EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, algorithm,
                                      nullptr) == 1,
          name);
  return digest;
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  return digest_of<Sha256>(bytes, crypto_library().EVP_sha256(), "SHA-256");
}

Sha512 sha512(std::string_view bytes) {
  return digest_of<Sha512>(bytes, crypto_library().EVP_sha512(), "SHA-512");
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

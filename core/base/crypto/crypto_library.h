// The functions of OpenSSL's libcrypto that are used. Most programs use none of them, and linking
// it takes as long as half of their start.
#pragma once

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace det {

// Its members have values where it is made, and only there is libcrypto linked.
struct CryptoLibrary {
  const char *build;
  decltype(&::CRYPTO_memcmp) CRYPTO_memcmp = ::CRYPTO_memcmp;
  decltype(&::EVP_Digest) EVP_Digest = ::EVP_Digest;
  decltype(&::EVP_sha256) EVP_sha256 = ::EVP_sha256;
  decltype(&::EVP_sha512) EVP_sha512 = ::EVP_sha512;
  decltype(&::HMAC) HMAC = ::HMAC;
};

// Opens libdetcore-crypto with the first call (crypto_library_opened.cc), or is linked with
// libcrypto (crypto_library_linked.cc). Throws Code::unsupported where that library is missing.
const CryptoLibrary &crypto_library();

}  // namespace det

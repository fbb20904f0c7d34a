#include "core/cloud/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <vector>

#include "core/base/error.h"

namespace det::cloud {

namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string text_of(const Digest &digest, unsigned size) {
  return {reinterpret_cast<const char *>(digest.data()), size};
}

// Rules for this machine may forbid what is not safe as a signature.
[[noreturn]] void refuse(const char *name) {
  throw Error(Code::unsupported, std::string("computing a checksum: OpenSSL offers no ") + name +
                                     " here; check its configuration (FIPS)");
}

}  // namespace

std::string md5(std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_md5(), nullptr) != 1)
    refuse("MD5");
  return text_of(digest, size);
}

std::string md5(ByteRange &bytes) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX *)> context(EVP_MD_CTX_new(),
                                                                    EVP_MD_CTX_free);
  if (!context) throw std::bad_alloc();
  if (EVP_DigestInit_ex(context.get(), EVP_md5(), nullptr) != 1) refuse("MD5");
  std::vector<char> buffer(std::min<uint64_t>(bytes.size(), 256U << 10U));
  for (uint64_t offset = 0; offset < bytes.size();) {
    const size_t count = bytes.read(offset, buffer.data(), buffer.size());
    if (EVP_DigestUpdate(context.get(), buffer.data(), count) != 1) refuse("MD5");
    offset += count;
  }
  Digest digest{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) refuse("MD5");
  return text_of(digest, size);
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char *>(text.data()), text.size(), digest.data(),
           &size) == nullptr)
    refuse("HMAC-SHA256");
  return text_of(digest, size);
}

}  // namespace det::cloud

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

std::string digest_of(std::string_view text, const EVP_MD *kind, const char *name) {
  Digest digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, kind, nullptr) != 1) refuse(name);
  return text_of(digest, size);
}

std::string digest_of(ByteRange &bytes, const EVP_MD *kind, const char *name) {
  if (const auto text = bytes.in_memory()) return digest_of(*text, kind, name);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX *)> context(EVP_MD_CTX_new(),
                                                                    EVP_MD_CTX_free);
  if (!context) throw std::bad_alloc();
  if (EVP_DigestInit_ex(context.get(), kind, nullptr) != 1) refuse(name);
  std::vector<char> buffer(std::min<uint64_t>(bytes.size(), 256U << 10U));
  for (uint64_t offset = 0; offset < bytes.size();) {
    const size_t count = bytes.read(offset, buffer.data(), buffer.size());
    if (EVP_DigestUpdate(context.get(), buffer.data(), count) != 1) refuse(name);
    offset += count;
  }
  Digest digest{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) refuse(name);
  return text_of(digest, size);
}

}  // namespace

std::string md5(std::string_view text) { return digest_of(text, EVP_md5(), "MD5"); }
std::string md5(ByteRange &bytes) { return digest_of(bytes, EVP_md5(), "MD5"); }

std::string sha1(std::string_view text) { return digest_of(text, EVP_sha1(), "SHA-1"); }

std::string sha256(std::string_view text) { return digest_of(text, EVP_sha256(), "SHA-256"); }
std::string sha256(ByteRange &bytes) { return digest_of(bytes, EVP_sha256(), "SHA-256"); }

std::string hmac_sha256(std::string_view key, std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char *>(text.data()), text.size(), digest.data(),
           &size) == nullptr)
    refuse("HMAC-SHA256");
  return text_of(digest, size);
}

std::string to_hex(std::string_view bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

}  // namespace det::cloud

#include "core/storage/chunks/chunk_name.h"

#include <openssl/evp.h>

#include <charconv>

#include "core/base/error.h"

namespace det::storage {

namespace {

constexpr const char *hex_digits = "0123456789abcdef";

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

}  // namespace

ChunkName name_of_chunk(std::string_view bytes) {
  ChunkName name;
  if (EVP_Digest(bytes.data(), bytes.size(), name.digest.data(), nullptr, EVP_sha256(), nullptr) !=
      1)
    throw Error(Code::internal, "naming a chunk: OpenSSL computes no SHA-256");
  return name;
}

std::string to_text(const ChunkName &name) {
  std::string text;
  for (const unsigned char byte : name.digest) {
    text += hex_digits[byte >> 4];
    text += hex_digits[byte & 15];
  }
  if (name.generation > 0) text += "-" + std::to_string(name.generation);
  return text;
}

std::optional<ChunkName> chunk_name_from(std::string_view text) {
  ChunkName name;
  if (text.size() < 2 * name.digest.size()) return std::nullopt;
  for (size_t i = 0; i < name.digest.size(); ++i) {
    const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    name.digest[i] = static_cast<unsigned char>(high * 16 + low);
  }
  const std::string_view rest = text.substr(2 * name.digest.size());
  if (rest.empty()) return name;
  const char *const end = rest.data() + rest.size();
  const auto [last, failure] = std::from_chars(rest.data() + 1, end, name.generation);
  if (rest[0] != '-' || failure != std::errc() || last != end || to_text(name) != text)
    return std::nullopt;
  return name;
}

}  // namespace det::storage

#include "core/cloud/azure/block_id.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "core/base/base64.h"
#include "core/base/uuid.h"

namespace det::cloud {

namespace {

constexpr size_t upload_size = 16, number_size = 5, md5_size = 16;

}  // namespace

std::string BlockId::text() const {
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%05d", number);
  return to_base64(upload + digits.data() + md5);
}

std::optional<BlockId> BlockId::from(const std::string &text) {
  const auto bytes = from_base64(text);
  if (!bytes || bytes->size() != upload_size + number_size + md5_size) return std::nullopt;
  const char *digits = bytes->data() + upload_size;
  BlockId id{bytes->substr(0, upload_size), 0, bytes->substr(upload_size + number_size)};
  if (id.upload.find_first_not_of("0123456789abcdef") != id.upload.npos ||
      std::from_chars(digits, digits + number_size, id.number).ptr != digits + number_size ||
      id.number < 1)
    return std::nullopt;
  return id;
}

// When it was begun, in hexadecimal seconds, and something random.
std::string make_upload_id(int64_t now_s) {
  std::array<char, 32> time{};
  std::snprintf(time.data(), time.size(), "%08llx", static_cast<unsigned long long>(now_s));
  return time.data() + make_uuid().substr(0, 8);
}

int64_t upload_begun_ms(const std::string &upload) {
  int64_t seconds = 0;
  std::from_chars(upload.data(), upload.data() + std::min<size_t>(8, upload.size()), seconds, 16);
  return seconds * 1000;
}

}  // namespace det::cloud

#include "core/cloud/s3/s3_checksum.h"

#include <algorithm>

#include "core/base/base64.h"
#include "core/base/crc32c.h"

namespace det::cloud {

std::string s3_checksum(uint32_t crc) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(crc >> shift & 0xFFU);
  return to_base64(bytes);
}

std::string s3_checksum(ByteRange &bytes) {
  std::vector<char> buffer(std::min<uint64_t>(bytes.size(), 256U << 10U));
  uint32_t crc = 0;
  for (uint64_t offset = 0; offset < bytes.size();) {
    const size_t count = bytes.read(offset, buffer.data(), buffer.size());
    crc = crc32c({buffer.data(), count}, crc);
    offset += count;
  }
  return s3_checksum(crc);
}

std::optional<std::string> s3_checksum(const std::vector<StoredPart> &parts) {
  uint32_t crc = 0;
  for (const StoredPart &part : parts) {
    const auto bytes = from_base64(part.checksum);
    if (!bytes || bytes->size() != 4) return std::nullopt;
    crc = crc32c(*bytes, crc);
  }
  return s3_checksum(crc) + "-" + std::to_string(parts.size());
}

void SummingSink::write(const char *bytes, size_t count) {
  into_->write(bytes, count);
  crc_ = crc32c({bytes, count}, crc_);
}

}  // namespace det::cloud

#include "core/cloud/s3/s3_checksum.h"

#include "core/base/base64.h"
#include "core/base/crc32c.h"

namespace det::cloud {

std::optional<std::string> s3_checksum(const std::vector<StoredPart> &parts) {
  uint32_t crc = 0;
  for (const StoredPart &part : parts) {
    if (!crc32c_in(part.checksum)) return std::nullopt;
    crc = det::crc32c(*from_base64(part.checksum), crc);
  }
  return crc32c_text(crc) + "-" + std::to_string(parts.size());
}

void SummingSink::write(const char *bytes, size_t count) {
  into_->write(bytes, count);
  crc_ = det::crc32c({bytes, count}, crc_);
}

}  // namespace det::cloud

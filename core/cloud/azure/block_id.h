// The ids of blocks, which say all that is to be known of an upload that has not ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace det::cloud {

// Azure has no uploads, only blocks of a blob that are not committed: their ids, of 64 bytes at
// most and all of one length, tell which upload they belong to, which part each is and what it sums
// to.
struct BlockId {
  std::string upload;
  int number = 0;
  std::string md5;  // of the part, as bytes

  std::string text() const;  // as the service takes it: base64
  static std::optional<BlockId> from(const std::string &text);
};

std::string make_upload_id(int64_t now_s);
int64_t upload_begun_ms(const std::string &upload);  // since 1970

}  // namespace det::cloud

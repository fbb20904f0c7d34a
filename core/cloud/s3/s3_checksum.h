// What S3 verifies bodies by.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cloud/checksum.h"
#include "core/cloud/object_store.h"
#include "core/http/message.h"

namespace det::cloud {

// Of an object made of these: "AAAAAA==-3". Nothing where not all of them have one.
std::optional<std::string> s3_checksum(const std::vector<StoredPart> &parts);

// Sums up what goes into another sink.
class SummingSink : public http::BodySink {
 public:
  explicit SummingSink(std::shared_ptr<http::BodySink> into) : into_(std::move(into)) {}
  void begin() override { into_->begin(); }
  void write(const char *bytes, size_t count) override;
  std::string checksum() const { return crc32c_text(crc_); }

 private:
  const std::shared_ptr<http::BodySink> into_;
  uint32_t crc_ = 0;
};

}  // namespace det::cloud

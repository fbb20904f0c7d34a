// CRC-32C as object stores list it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/cloud/byte_range.h"
#include "core/http/message.h"

namespace det::cloud {

uint32_t crc32c(ByteRange &bytes);  // reads them
// What it was when they were read last: the store refuses other bytes.
inline uint32_t expected_crc32c(ByteRange &bytes) {
  return bytes.crc32c ? *bytes.crc32c : crc32c(bytes);
}

// Of two texts in a row, from those of each.
uint32_t joined_crc32c(uint32_t first, uint32_t second, uint64_t second_size) noexcept;

// Its four bytes, the highest first, in base64.
std::string crc32c_text(uint32_t checksum);
std::optional<uint32_t> crc32c_in(const std::string &text);  // nothing: it is none

// Sums up what goes into another sink.
class SummingSink : public http::BodySink {
 public:
  explicit SummingSink(std::shared_ptr<http::BodySink> into) : into_(std::move(into)) {}
  void begin() override { into_->begin(); }
  void write(const char *bytes, size_t count) override;
  uint32_t sum() const { return sum_; }  // CRC-32C
  uint64_t size() const { return size_; }

 private:
  const std::shared_ptr<http::BodySink> into_;
  uint32_t sum_ = 0;
  uint64_t size_ = 0;
};

}  // namespace det::cloud

// An object and what is said of it in one body: multipart/related, as uploads to Google have it.
#pragma once

#include <memory>
#include <string>

#include "core/base/json_fwd.h"
#include "core/cloud/byte_range.h"

namespace det::cloud {

class RelatedBody : public http::BodySource {
 public:
  RelatedBody(const Json &metadata, std::shared_ptr<ByteRange> bytes);

  std::string content_type() const;
  uint64_t size() const override { return head_.size() + bytes_->size() + tail_.size(); }
  size_t read(uint64_t offset, char *bytes, size_t room) override;

 private:
  const std::shared_ptr<ByteRange> bytes_;
  const std::string boundary_;
  std::string head_, tail_;
};

}  // namespace det::cloud

#include "core/cloud/gcs/related_body.h"

#include <algorithm>
#include <cstring>

#include "core/base/json.h"
#include "core/base/uuid.h"

namespace det::cloud {

namespace {

size_t copy_from(const std::string &text, uint64_t offset, char *bytes, size_t room) {
  const size_t count = std::min<uint64_t>(room, text.size() - offset);
  std::memcpy(bytes, text.data() + offset, count);
  return count;
}

}  // namespace

RelatedBody::RelatedBody(const Json &metadata, std::shared_ptr<ByteRange> bytes)
    : bytes_(std::move(bytes)), boundary_(make_uuid()) {
  head_ = "--" + boundary_ + "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n" +
          to_wire(metadata) + "\r\n--" + boundary_ +
          "\r\nContent-Type: application/octet-stream\r\n\r\n";
  tail_ = "\r\n--" + boundary_ + "--\r\n";
}

std::string RelatedBody::content_type() const { return "multipart/related; boundary=" + boundary_; }

size_t RelatedBody::read(uint64_t offset, char *bytes, size_t room) {
  if (offset < head_.size()) return copy_from(head_, offset, bytes, room);
  offset -= head_.size();
  if (offset < bytes_->size()) return bytes_->read(offset, bytes, room);
  return copy_from(tail_, offset - bytes_->size(), bytes, room);
}

}  // namespace det::cloud

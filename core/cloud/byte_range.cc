#include "core/cloud/byte_range.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace det::cloud {

void require_unchanged(const std::string &tried, const ByteRange &bytes, bool is_same) {
  if (!is_same)
    throw Error(Code::conflict, tried + ": " + bytes.described() +
                                    " changed meanwhile; store it once nobody writes to it");
}

TextRange::TextRange(std::string described, std::string text)
    : ByteRange(std::move(described)), text_(std::move(text)) {}

size_t TextRange::read(uint64_t offset, char *bytes, size_t room) {
  const size_t count = std::min<uint64_t>(room, text_.size() - offset);
  std::memcpy(bytes, text_.data() + offset, count);
  return count;
}

FileRange::FileRange(std::string described, std::shared_ptr<const Fd> file, uint64_t begin,
                     uint64_t size)
    : ByteRange(std::move(described)), file_(std::move(file)), begin_(begin), size_(size) {}

size_t FileRange::read(uint64_t offset, char *bytes, size_t room) {
  const size_t wanted = std::min<uint64_t>(room, size_ - offset);
  for (;;) {
    const ssize_t got = pread(file_->get(), bytes, wanted, static_cast<off_t>(begin_ + offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + described());
    if (got == 0 && wanted > 0)
      throw Error(Code::conflict, "reading " + described() +
                                      ": the file has become shorter; store it once nobody writes "
                                      "to it");
    return static_cast<size_t>(got);
  }
}

}  // namespace det::cloud

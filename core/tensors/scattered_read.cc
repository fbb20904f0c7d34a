#include "core/tensors/scattered_read.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace det::tensors {

namespace {
// A call costs about as much as copying so many bytes.
constexpr uint64_t small = uint64_t{16} << 10;
}  // namespace

void ScatteredRead::add(uint64_t offset, char *to, uint64_t size) {
  if (!pending_.empty()) {
    Piece &last = pending_.back();
    const uint64_t end = last.offset + last.size;
    if (end == offset && last.to + last.size == to) {
      last.size += size;
      return;
    }
    if (last.size > small || size > small || offset - end > small ||
        offset + size - pending_.front().offset > storage::Buffer::size)
      flush();
  }
  pending_.push_back({offset, to, size});
}

void ScatteredRead::flush() {
  if (pending_.empty()) return;
  const Piece &first = pending_.front();
  if (pending_.size() == 1) {
    read(first.offset, first.to, first.size);
  } else {
    const uint64_t end = pending_.back().offset + pending_.back().size;
    read(first.offset, buffer_.data(), end - first.offset);
    for (const Piece &piece : pending_)
      std::memcpy(piece.to, buffer_.data() + (piece.offset - first.offset), piece.size);
  }
  pending_.clear();
}

void ScatteredRead::read(uint64_t offset, char *to, uint64_t size) const {
  while (size > 0) {
    const ssize_t got = pread(fd_, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + described_);
    if (got == 0)
      throw Error(
          Code::corrupt,
          "reading " + described_ + ": it ended while it was read; leave the file alone meanwhile");
    to += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<uint64_t>(got);
  }
}

}  // namespace det::tensors

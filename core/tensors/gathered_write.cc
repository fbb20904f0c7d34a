#include "core/tensors/gathered_write.h"

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"

namespace det::tensors {

namespace {
// As much as stays in the processor's cache from the sum to the write; and pieces a call.
constexpr size_t most_bytes = size_t{256} << 10;
constexpr size_t most_pieces = 256;
}  // namespace

void GatheredWrite::add(const char *data, uint64_t size) {
  while (size > 0) {
    const size_t now = std::min<uint64_t>(size, most_bytes - pending_size_);
    sum_.add(data, now);
    pending_.push_back({const_cast<char *>(data), now});
    pending_size_ += now;
    if (pending_size_ == most_bytes || pending_.size() == most_pieces) flush();
    data += now;
    size -= now;
  }
}

void GatheredWrite::flush() {
  for (size_t first = 0; first < pending_.size();) {
    const ssize_t put =
        pwritev(fd_, pending_.data() + first, static_cast<int>(pending_.size() - first),
                static_cast<off_t>(offset_));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) OsFailure{errno}.raise("writing " + described_);
    auto left = static_cast<size_t>(put);
    offset_ += left;
    if (progress_ != nullptr) progress_->add_bytes(left);
    for (; first < pending_.size() && left >= pending_[first].iov_len; ++first)
      left -= pending_[first].iov_len;
    if (left == 0) continue;
    pending_[first].iov_base = static_cast<char *>(pending_[first].iov_base) + left;
    pending_[first].iov_len -= left;
  }
  pending_.clear();
  pending_size_ = 0;
}

}  // namespace det::tensors

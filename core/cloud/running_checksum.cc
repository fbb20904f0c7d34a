#include "core/cloud/running_checksum.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/storage/block_checksum.h"
#include "core/storage/pool.h"

namespace det::cloud {

using storage::checksum_block;

RunningChecksum::RunningChecksum(std::shared_ptr<const Fd> file, uint64_t size,
                                 std::string described, uint64_t part)
    : file_(std::move(file)), size_(size), described_(std::move(described)), part_(part) {}

void RunningChecksum::advance(uint64_t end) {
  const std::lock_guard lock(mutex_);
  storage::Buffer buffer;
  while (at_ < end) {
    const uint64_t in_block = checksum_block - at_ % checksum_block;
    const uint64_t in_part = part_ == 0 ? in_block : part_ - at_ % part_;
    const size_t wanted = std::min({uint64_t{storage::Buffer::size}, end - at_, in_block, in_part});
    const ssize_t got = pread(file_->get(), buffer.data(), wanted, static_cast<off_t>(at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + described_);
    if (got == 0)
      throw Error(Code::conflict,
                  "reading " + described_ +
                      ": the file changed meanwhile; store it once nobody writes to it");
    const auto count = static_cast<size_t>(got);
    block_.add(buffer.data(), count);
    if (part_ != 0) crc32c_ = det::crc32c({buffer.data(), count}, crc32c_);
    at_ += count;
    if (part_ != 0 && (at_ % part_ == 0 || at_ == size_))
      parts_.push_back(std::exchange(crc32c_, 0));
    if (at_ % checksum_block == 0 || at_ == size_) {
      blocks_.push_back(block_.value());
      block_ = Checksum();
    }
  }
}

std::optional<uint32_t> RunningChecksum::crc32c_of(uint64_t begin) {
  const std::lock_guard lock(mutex_);
  if (part_ == 0 || begin / part_ >= parts_.size()) return std::nullopt;
  return parts_[begin / part_];
}

uint64_t RunningChecksum::value() {
  advance(size_);
  if (blocks_.empty()) blocks_.push_back(block_.value());  // of an empty file
  return storage::combined_checksum(blocks_);
}

}  // namespace det::cloud

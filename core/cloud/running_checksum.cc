#include "core/cloud/running_checksum.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/storage/block_checksum.h"
#include "core/storage/pool.h"

namespace det::cloud {

using storage::checksum_block;

RunningChecksum::RunningChecksum(std::shared_ptr<const Fd> file, uint64_t size,
                                 std::string described)
    : file_(std::move(file)), size_(size), described_(std::move(described)) {}

void RunningChecksum::advance(uint64_t end) {
  const std::lock_guard lock(mutex_);
  storage::Buffer buffer;
  while (at_ < end) {
    const uint64_t in_block = checksum_block - at_ % checksum_block;
    const size_t wanted = std::min({uint64_t{storage::Buffer::size}, end - at_, in_block});
    const ssize_t got = pread(file_->get(), buffer.data(), wanted, static_cast<off_t>(at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + described_);
    if (got == 0)
      throw Error(Code::conflict,
                  "reading " + described_ +
                      ": the file changed meanwhile; store it once nobody writes to it");
    block_.add(buffer.data(), static_cast<size_t>(got));
    at_ += static_cast<uint64_t>(got);
    if (at_ % checksum_block == 0 || at_ == size_) {
      blocks_.push_back(block_.value());
      block_ = Checksum();
    }
  }
}

uint64_t RunningChecksum::value() {
  advance(size_);
  if (blocks_.empty()) blocks_.push_back(block_.value());  // of an empty file
  return storage::combined_checksum(blocks_);
}

}  // namespace det::cloud

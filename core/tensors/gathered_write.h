// Bytes from many places in memory, written side by side with few calls and summed up meanwhile.
#pragma once

#include <sys/uio.h>

#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/storage/progress.h"

namespace det::tensors {

class GatheredWrite {
 public:
  GatheredWrite(int fd, uint64_t offset, std::string described, storage::Progress *progress)
      : fd_(fd), offset_(offset), described_(std::move(described)), progress_(progress) {}

  // `data` must stay until the flush.
  void add(const char *data, uint64_t size);
  void flush();

  // Of all that was added.
  uint64_t checksum() const { return sum_.value(); }

 private:
  const int fd_;
  uint64_t offset_;  // of what is pending
  const std::string described_;
  storage::Progress *const progress_;
  Checksum sum_;
  std::vector<iovec> pending_;
  size_t pending_size_ = 0;
};

}  // namespace det::tensors

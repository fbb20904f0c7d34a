// The manifest's checksum of a file whose parts are sent in about their order: what is read for it
// is in the page cache when it is sent.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/hash.h"

namespace det::cloud {

class RunningChecksum {
 public:
  // `described` names the file in errors.
  RunningChecksum(std::shared_ptr<const Fd> file, uint64_t size, std::string described);

  // Reads on until `end`, if it has not come so far; from any thread.
  void advance(uint64_t end);
  uint64_t value();  // reads the rest

 private:
  const std::shared_ptr<const Fd> file_;
  const uint64_t size_;
  const std::string described_;
  std::mutex mutex_;
  uint64_t at_ = 0;
  Checksum block_;
  std::vector<uint64_t> blocks_;
};

}  // namespace det::cloud

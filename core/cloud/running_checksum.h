// The manifest's checksum of a file whose parts are sent or fetched in about their order: what is
// read for it is in the page cache then.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/hash.h"

namespace det::cloud {

class RunningChecksum {
 public:
  // `described` names the file in errors. `part`: bytes of one whose CRC-32C is wanted too; 0: of
  // none.
  RunningChecksum(std::shared_ptr<const Fd> file, uint64_t size, std::string described,
                  uint64_t part = 0);

  // Reads on until `end`, if it has not come so far; from any thread.
  void advance(uint64_t end);
  uint64_t value();  // reads the rest
  // Of the part that begins there; nothing where that was not wanted, or not read yet.
  std::optional<uint32_t> crc32c_of(uint64_t begin);

 private:
  const std::shared_ptr<const Fd> file_;
  const uint64_t size_;
  const std::string described_;
  const uint64_t part_;
  std::mutex mutex_;
  uint64_t at_ = 0;
  Checksum block_;
  std::vector<uint64_t> blocks_;
  uint32_t crc32c_ = 0;
  std::vector<uint32_t> parts_;
};

}  // namespace det::cloud

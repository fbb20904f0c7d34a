// Large messages in memory that was used before: a page touched for the first time costs more than
// the bytes that are moved into it.
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace det {

class SpareBuffers {
 public:
  // A string of `size` bytes of any content.
  std::string take(size_t size);
  // Keeps a few large ones for later.
  void give(std::string buffer);

 private:
  std::mutex mutex_;
  std::vector<std::string> buffers_;
};

}  // namespace det

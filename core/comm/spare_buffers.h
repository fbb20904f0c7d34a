// Large messages in memory that was used before: a page touched for the first time costs more than
// the bytes that are moved into it.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace det::comm {

class SpareBuffers {
 public:
  // Smaller ones the allocator keeps itself.
  static constexpr size_t smallest = size_t{64} << 10U;

  // A string of `size` bytes of any content.
  std::string take(size_t size);
  std::string copy(std::string_view bytes);
  // Keeps a few for later.
  void give(std::string buffer);

 private:
  std::mutex mutex_;
  std::vector<std::string> buffers_;
};

}  // namespace det::comm

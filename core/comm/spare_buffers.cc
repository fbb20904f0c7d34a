#include "core/comm/spare_buffers.h"

#include <algorithm>

namespace det::comm {

namespace {

// Larger and more ones are not worth their memory.
constexpr size_t largest = size_t{16} << 20U;
constexpr size_t most = 8;

}  // namespace

std::string SpareBuffers::take(size_t size) {
  if (size >= smallest) {
    const std::lock_guard guard(mutex_);
    // One that is long enough is cut without touching its bytes.
    const auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const auto &buffer) {
      return buffer.size() >= size && buffer.size() / 2 <= size;
    });
    if (found != buffers_.end()) {
      std::string buffer = std::move(*found);
      buffers_.erase(found);
      buffer.resize(size);
      return buffer;
    }
  }
  return std::string(size, '\0');
}

std::string SpareBuffers::copy(std::string_view bytes) {
  if (bytes.size() < smallest) return std::string(bytes);
  std::string buffer = take(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.begin());
  return buffer;
}

void SpareBuffers::give(std::string buffer) {
  if (buffer.size() < smallest || buffer.size() > largest) return;
  const std::lock_guard guard(mutex_);
  if (buffers_.size() == most) buffers_.erase(buffers_.begin());
  buffers_.push_back(std::move(buffer));
}

}  // namespace det::comm

// An array that someone else owns. In C++20 it converts to a std::span.
#pragma once

#include <cstddef>

namespace det {
inline namespace v1 {

template <class T>
class ArrayView {
 public:
  constexpr ArrayView() noexcept = default;
  constexpr ArrayView(const T *data, size_t size) noexcept : data_(data), size_(size) {}

  [[nodiscard]] constexpr const T *data() const noexcept { return data_; }
  [[nodiscard]] constexpr size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr const T *begin() const noexcept { return data_; }
  [[nodiscard]] constexpr const T *end() const noexcept { return data_ + size_; }
  [[nodiscard]] constexpr const T &operator[](size_t index) const noexcept { return data_[index]; }

 private:
  const T *data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace v1
}  // namespace det

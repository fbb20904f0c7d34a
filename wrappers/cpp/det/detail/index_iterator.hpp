// Iterates over a class with size() and operator[] that returns values.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>

namespace det {
inline namespace v1 {
namespace detail {

template <class List>
class IndexIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = decltype(std::declval<const List &>()[0]);
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  IndexIterator() noexcept = default;
  IndexIterator(const List &list, size_t index) noexcept : list_(&list), index_(index) {}

  reference operator*() const { return (*list_)[index_]; }
  IndexIterator &operator++() noexcept {
    ++index_;
    return *this;
  }
  IndexIterator operator++(int) noexcept {
    const IndexIterator before = *this;
    ++index_;
    return before;
  }
  friend bool operator==(const IndexIterator &a, const IndexIterator &b) noexcept {
    return a.index_ == b.index_;
  }
  friend bool operator!=(const IndexIterator &a, const IndexIterator &b) noexcept {
    return !(a == b);
  }

 private:
  const List *list_ = nullptr;
  size_t index_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace det

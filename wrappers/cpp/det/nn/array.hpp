// Arrays of records.
#pragma once

#include <det/tensors.hpp>

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <det/nn/config.hpp>

namespace det {
inline namespace v1 {
namespace nn {

namespace detail {

template <class Number>
constexpr Dtype dtype_of_number() {
  static_assert(std::is_arithmetic_v<Number> && sizeof(Number) <= 8,
                "an array is made of integers or floating-point numbers of up to 64 bits");
  if constexpr (std::is_floating_point_v<Number>) {
    return sizeof(Number) == 4 ? Dtype::f32 : Dtype::f64;
  } else if constexpr (std::is_signed_v<Number>) {
    return sizeof(Number) == 1   ? Dtype::i8
           : sizeof(Number) == 2 ? Dtype::i16
           : sizeof(Number) == 4 ? Dtype::i32
                                 : Dtype::i64;
  } else {
    return sizeof(Number) == 1   ? Dtype::u8
           : sizeof(Number) == 2 ? Dtype::u16
           : sizeof(Number) == 4 ? Dtype::u32
                                 : Dtype::u64;
  }
}
template <class Number>
inline constexpr Dtype dtype_of = dtype_of_number<Number>();

}  // namespace detail

// An array, row-major, with the records first. A copy shares its numbers.
class Array {
 public:
  Array() = default;
  // Takes the numbers over. Without a shape each number is a record. Throws std::invalid_argument
  // if the shape has another number of elements, or is impossible.
  template <class Number>
  Array(std::vector<Number> numbers, Shape shape = {})
      : dtype_(detail::dtype_of<Number>), size_(sizeof(Number)), shape_(std::move(shape)) {
    if (shape_.empty()) shape_ = {static_cast<int64_t>(numbers.size())};
    check_sizes();
    if (elements() != numbers.size())
      throw std::invalid_argument(
          "making an array: its shape has not as many elements as there "
          "are numbers (" +
          std::to_string(numbers.size()) + ")");
    auto owned = std::make_shared<std::vector<Number>>(std::move(numbers));
    data_ = std::shared_ptr<void>(owned, owned->data());
  }

  // Uses numbers of somebody else, which must not move. Throws as unset().
  [[nodiscard]] static Array borrowed(Dtype dtype, Shape shape, void *numbers) {
    Array array;
    array.dtype_ = dtype;
    array.size_ = static_cast<size_t>(dtype_bits(dtype)) / 8;
    array.shape_ = std::move(shape);
    array.check_sizes();
    array.data_ = std::shared_ptr<void>(std::shared_ptr<void>(), numbers);
    return array;
  }
  // Write it through data(). Throws std::invalid_argument if there can be no such array.
  [[nodiscard]] static Array unset(Dtype dtype, Shape shape) {
    Array array = borrowed(dtype, std::move(shape), nullptr);
    array.data_ = std::shared_ptr<std::byte[]>(new std::byte[array.bytes()]);
    return array;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return data_ != nullptr; }
  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] int64_t records() const noexcept { return shape_.empty() ? 0 : shape_[0]; }
  [[nodiscard]] size_t elements() const noexcept {
    size_t count = 1;
    for (const int64_t size : shape_) count *= static_cast<size_t>(size);
    return count;
  }
  [[nodiscard]] size_t bytes() const noexcept { return elements() * size_; }
  [[nodiscard]] void *raw() const noexcept { return data_.get(); }
  template <class Number = float>
  [[nodiscard]] Number *data() const {
    if (detail::dtype_of<Number> != dtype_)
      throw std::invalid_argument(std::string("reading an array of ") + dtype_name(dtype_) +
                                  " as another type");
    return static_cast<Number *>(data_.get());
  }

  // Records from `begin` to `end` - 1, as a view.
  [[nodiscard]] Array rows(int64_t begin, int64_t end) const {
    if (begin < 0 || end < begin || end > records())
      throw std::out_of_range("taking the records " + std::to_string(begin) + " to " +
                              std::to_string(end) + " of " + std::to_string(records()));
    Array part = *this;
    part.shape_[0] = end - begin;
    const size_t bytes = records() == 0 ? 0 : elements() / static_cast<size_t>(records()) * size_;
    part.data_ = std::shared_ptr<void>(
        data_, static_cast<std::byte *>(data_.get()) + static_cast<size_t>(begin) * bytes);
    return part;
  }

  // True if texts() made it. Its numbers are letters.
  [[nodiscard]] bool has_texts() const noexcept { return has_texts_; }
  [[nodiscard]] Array marked_as_texts() const {
    Array marked = *this;
    marked.has_texts_ = true;
    return marked;
  }

  // Valid as long as this array.
  [[nodiscard]] det_tensor capi() const noexcept {
    det_tensor tensor = DET_TENSOR_INIT;
    tensor.data = data_.get();
    tensor.dtype = static_cast<det_dtype>(dtype_);
    tensor.device = DET_DEVICE_HOST;
    tensor.dimensions = shape_.size();
    tensor.shape = shape_.data();
    return tensor;
  }

 private:
  void check_sizes() const {
    int64_t left = std::numeric_limits<int64_t>::max() / 8;  // bytes of the widest numbers
    for (const int64_t size : shape_) {
      if (size < 0 || size > left)
        throw std::invalid_argument("making an array: its shape has a size of " +
                                    std::to_string(size) + ", which there cannot be");
      if (size > 1) left /= size;
    }
  }

  Dtype dtype_ = Dtype::f32;
  bool has_texts_ = false;
  size_t size_ = 0;  // of an element
  Shape shape_;
  std::shared_ptr<void> data_;
};

}  // namespace nn
}  // namespace v1
}  // namespace det

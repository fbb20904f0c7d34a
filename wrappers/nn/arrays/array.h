// An array in memory: its element type, its shape, and bytes that it may share with others.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/tensors/dtype.h"
#include "wrappers/nn/arrays/array_shape.h"

namespace det::nn {

using tensors::Dtype;

// What is known of an array before there is one.
struct ArrayType {
  Shape shape;
  Dtype dtype = Dtype::f32;

  bool operator==(const ArrayType &) const = default;
};

size_t bytes_of(const ArrayType &type);

// In bytes.
size_t memory_of_machine();
// Throws Code::no_memory where the machine has less. What is more would be given by a system that
// hands out more than it has, and the process killed as it is used.
void check_memory(size_t bytes, const std::string &what);

// Zeroed memory of the process, at an address that vector units like. Throws Code::no_memory.
std::shared_ptr<std::byte> zeroed_memory(size_t bytes);

// The elements of C++ that a Dtype stands for.
template <class Element>
inline constexpr Dtype dtype_of = Dtype::f32;
template <>
inline constexpr Dtype dtype_of<double> = Dtype::f64;
template <>
inline constexpr Dtype dtype_of<int32_t> = Dtype::i32;
template <>
inline constexpr Dtype dtype_of<int64_t> = Dtype::i64;
template <>
inline constexpr Dtype dtype_of<uint8_t> = Dtype::u8;

// Row-major, without gaps. A copy is a second view of the same memory.
class Array {
 public:
  Array() = default;
  // Zeroed memory of its own.
  explicit Array(ArrayType type);
  // Memory that is given, of as many bytes at least, and is kept as long as it is viewed.
  Array(ArrayType type, std::shared_ptr<std::byte> memory);
  // Part of what `whole` owns, from a byte of it.
  Array(ArrayType type, const Array &whole, size_t offset);
  // Memory of somebody else, who keeps it.
  static Array borrowed(ArrayType type, void *data);

  // As borrowed(), into this array, whose room for a shape is used again.
  void borrow(Dtype dtype, std::span<const int64_t> shape, void *data);

  explicit operator bool() const { return data_ != nullptr; }
  const Shape &shape() const { return type_.shape; }
  Dtype dtype() const { return type_.dtype; }
  const ArrayType &type() const { return type_; }
  size_t size() const { return elements_; }
  size_t bytes() const { return bytes_of(type_); }
  void *raw() const { return data_; }

  // The same bytes in another shape.
  Array reshaped(Shape shape) const;

  // Throws Code::internal where the elements are of another type.
  template <class Element = float>
  std::span<Element> elements() const {
    check_dtype(dtype_of<Element>);
    return {static_cast<Element *>(data_), elements_};
  }
  template <class Element = float>
  Element *data() const {
    return elements<Element>().data();
  }

 private:
  void check_dtype(Dtype wanted) const;

  ArrayType type_;
  size_t elements_ = 0;
  void *data_ = nullptr;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace det::nn

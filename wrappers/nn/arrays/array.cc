#include "wrappers/nn/arrays/array.h"

#include <unistd.h>

#include <cstring>
#include <new>

#include "core/base/error.h"

namespace det::nn {

namespace {

constexpr std::align_val_t alignment{64};

}  // namespace

std::shared_ptr<std::byte> zeroed_memory(size_t bytes) {
  check_memory(bytes, "making an array");
  auto *memory = static_cast<std::byte *>(::operator new(bytes, alignment));
  std::memset(memory, 0, bytes);
  return {memory, [](std::byte *owned) { ::operator delete(owned, alignment); }};
}

size_t memory_of_machine() {
  static const size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void check_memory(size_t bytes, const std::string &what) {
  if (bytes > memory_of_machine())
    throw Error(Code::no_memory, what + " of " + std::to_string(bytes) +
                                     " bytes: this machine has " +
                                     std::to_string(memory_of_machine()));
}

size_t bytes_of(const ArrayType &type) {
  return static_cast<size_t>(elements_of(type.shape)) * tensors::bits_of(type.dtype) / 8;
}

// Also an array without elements has an address.
Array::Array(ArrayType type) : Array(type, zeroed_memory(std::max<size_t>(bytes_of(type), 1))) {}

Array::Array(ArrayType type, std::shared_ptr<std::byte> memory)
    : type_(std::move(type)),
      elements_(static_cast<size_t>(elements_of(type_.shape))),
      data_(memory.get()),
      memory_(std::move(memory)) {}

Array::Array(ArrayType type, const Array &whole, size_t offset)
    : type_(std::move(type)),
      elements_(static_cast<size_t>(elements_of(type_.shape))),
      data_(static_cast<std::byte *>(whole.data_) + offset),
      memory_(whole.memory_) {
  if (offset + bytes_of(type_) > whole.bytes())
    throw Error(Code::internal, "taking a part of an array: it ends behind the whole");
}

Array Array::borrowed(ArrayType type, void *data) {
  Array array;
  array.elements_ = static_cast<size_t>(elements_of(type.shape));
  array.type_ = std::move(type);
  array.data_ = data;
  return array;
}

void Array::borrow(Dtype dtype, std::span<const int64_t> shape, void *data) {
  type_.dtype = dtype;
  type_.shape.assign(shape.begin(), shape.end());
  elements_ = static_cast<size_t>(elements_of(type_.shape));
  data_ = data;
  memory_.reset();
}

Array Array::reshaped(Shape shape) const {
  Array other = *this;
  if (static_cast<size_t>(elements_of(shape)) != elements_)
    throw Error(Code::invalid, "reshaping an array of " + text_of(type_.shape) + " to " +
                                   text_of(shape) + ": they have not as many elements");
  other.type_.shape = std::move(shape);
  return other;
}

void Array::check_dtype(Dtype wanted) const {
  if (type_.dtype != wanted)
    throw Error(Code::internal, std::string("reading an array of ") +
                                    tensors::name_of(type_.dtype) + " as one of " +
                                    tensors::name_of(wanted));
}

}  // namespace det::nn

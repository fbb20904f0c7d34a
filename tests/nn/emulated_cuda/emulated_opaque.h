// The opaque structures of cuBLASLt, which may also lie in memory of the caller's, and what is in
// them.
#pragma once

#include <cublasLt.h>

#include <cstring>
#include <new>

namespace emulated {

// The structure inside an opaque one.
template <class Inside, class Opaque>
Inside &inside(Opaque *opaque) {
  static_assert(sizeof(Inside) <= sizeof(Opaque));
  return *std::launder(reinterpret_cast<Inside *>(opaque));
}

// An attribute has exactly the size of what keeps it.
template <class Field>
cublasStatus_t set(Field &field, const void *value, size_t size) {
  if (value == nullptr || size != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

// An attribute that is one of several, each in a field of its own.
template <class Attribute>
class Setting {
 public:
  Setting(Attribute attribute, const void *value, size_t size)
      : attribute_(attribute), value_(value), size_(size) {}

  template <class Field>
  Setting &of(Attribute attribute, Field &field) {
    if (attribute == attribute_) status_ = set(field, value_, size_);
    return *this;
  }
  // What came of it.
  cublasStatus_t status() const { return status_; }

 private:
  const Attribute attribute_;
  const void *const value_;
  const size_t size_;
  cublasStatus_t status_ = CUBLAS_STATUS_NOT_SUPPORTED;
};

template <class Inside, class Opaque, class... Fields>
cublasStatus_t initialize(Opaque *opaque, size_t size, Fields... fields) {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (size < sizeof(Opaque)) return CUBLAS_STATUS_ALLOC_FAILED;
  new (opaque) Inside{fields...};
  return CUBLAS_STATUS_SUCCESS;
}

template <class Inside, class Opaque, class... Fields>
cublasStatus_t create(Opaque **opaque, Fields... fields) {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *opaque = new Opaque;
  return initialize<Inside>(*opaque, sizeof(Opaque), fields...);
}

template <class Opaque>
cublasStatus_t destroy(Opaque *opaque) {
  delete opaque;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace emulated

// Memory of one process for gradients.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "core/trial/gradients/gradient_layout.h"

namespace det::trial {

// Zero at first. Large ones are in large pages, where the kernel has them: MPI then finds their
// pages sooner, and the processor too.
class GradientBuffer {
 public:
  explicit GradientBuffer(size_t size) {
    constexpr size_t large_page = size_t{2} << 20U;
    const size_t alignment = size < large_page / 8 ? sizeof(CacheLine) : large_page;
    const size_t rounded = (size + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<char *>(std::aligned_alloc(alignment, rounded)));
    if (data_ == nullptr && rounded > 0) throw std::bad_alloc();
    if (rounded >= large_page) static_cast<void>(madvise(data(), rounded, MADV_HUGEPAGE));
    if (rounded > 0) std::memset(data(), 0, rounded);
  }

  char *data() const { return data_.get(); }
  // To whoever still writes there.
  void leave_behind() { static_cast<void>(data_.release()); }

 private:
  struct Free {
    void operator()(char *data) const { std::free(data); }
  };
  std::unique_ptr<char, Free> data_;
};

}  // namespace det::trial

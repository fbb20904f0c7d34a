// Numbers that host and emulated device both see.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace det::test {

class ManagedNumbers {
 public:
  explicit ManagedNumbers(const std::vector<float> &values) : count_(values.size()) {
    void *memory = nullptr;
    cudaMallocManaged(&memory, count_ * sizeof(float), cudaMemAttachGlobal);
    data_ = static_cast<float *>(memory);
    std::ranges::copy(values, data_);
  }
  ManagedNumbers(const ManagedNumbers &) = delete;
  ManagedNumbers &operator=(const ManagedNumbers &) = delete;
  ~ManagedNumbers() { cudaFree(data_); }

  float *data() const { return data_; }
  float &operator[](size_t i) const { return data_[i]; }
  std::vector<float> values() const { return {data_, data_ + count_}; }

 private:
  float *data_;
  size_t count_;
};

// Numbers that are not written yet.
inline ManagedNumbers no_numbers(size_t count) { return ManagedNumbers(std::vector(count, NAN)); }

}  // namespace det::test

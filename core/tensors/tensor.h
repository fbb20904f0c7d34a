// A tensor, or a rank's part of one, in the memory of the caller.
#pragma once

#include <string>
#include <vector>

#include "core/tensors/region.h"

namespace det::tensors {

struct TensorPart {
  std::string name;
  Dtype dtype;
  Region region;  // the part
  Shape whole;    // the tensor

  bool is_whole() const { return region == Region::whole(whole); }
};

// Same numbers as DET_DEVICE_* in include/det/tensors.h.
enum class Device : int { detect = 0, host = 1, cuda = 2 };

struct Tensor : TensorPart {
  char *data = nullptr;  // row-major, without gaps; null only where there are no bytes
  Device device = Device::detect;

  uint64_t bytes() const { return bytes_of(dtype, region.shape).value_or(0); }
};

// For errors: 'NAME', printable and not longer than a line.
std::string quoted_name(const std::string &name);

// Throws Code::invalid, with the name, for what no file could have: an empty or reserved name, or
// one that is not UTF-8; a part that does not lie in the tensor; bytes that cannot be counted; no
// data. Elements of less than a byte have no parts: Code::unsupported.
void check(const Tensor &tensor);

}  // namespace det::tensors

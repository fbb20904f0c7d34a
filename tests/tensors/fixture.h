// What the tests of tensors share: a directory, and tensors whose bytes tell their place.
#pragma once

#include <fcntl.h>

#include <numeric>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/tensors/file_writer.h"
#include "core/tensors/reader.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace det::tensors {

inline void write_text(const std::filesystem::path &path, const std::string &text) {
  write_all(open_file(path, O_WRONLY | O_CREAT | O_TRUNC).get(), text, path.string());
}

// A tensor with memory of its own.
struct Owned {
  Owned(const std::string &name, Dtype dtype, const Shape &whole, const Region &region) {
    static_cast<TensorPart &>(tensor) = {name, dtype, region, whole};
    bytes.resize(tensor.bytes());
    tensor.data = bytes.data();
  }
  Owned(const std::string &name, Dtype dtype, const Shape &shape)
      : Owned(name, dtype, shape, Region::whole(shape)) {
    std::iota(bytes.begin(), bytes.end(), static_cast<char>(name.size()));
  }
  Owned(Owned &&) = default;  // the bytes stay where they are

  std::vector<char> bytes;
  Tensor tensor;
};

// Of a part, with the bytes that it has in `all`.
inline Owned part_of(const Owned &all, const Region &region) {
  Owned part(all.tensor.name, all.tensor.dtype, all.tensor.whole, region);
  const uint64_t unit = bits_of(all.tensor.dtype) / 8;
  for_each_run(region, all.tensor.region, region, [&](const Run &run) {
    std::copy_n(all.bytes.begin() + static_cast<std::ptrdiff_t>(run.from * unit), run.count * unit,
                part.bytes.begin() + static_cast<std::ptrdiff_t>(run.to * unit));
  });
  return part;
}

inline std::vector<Tensor> tensors_of(const std::vector<Owned> &owned) {
  std::vector<Tensor> tensors;
  for (const Owned &each : owned) tensors.push_back(each.tensor);
  return tensors;
}

}  // namespace det::tensors

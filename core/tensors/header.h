// The header of a safetensors file: eight bytes with its length, JSON, and then the data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensors/region.h"

namespace det::tensors {

inline constexpr const char *metadata_key = "__metadata__";

// What a file says beside the tensors.
using FileMetadata = std::map<std::string, std::string>;

struct StoredTensor {
  std::string name;
  Dtype dtype;
  Shape shape;
  uint64_t begin = 0, end = 0;  // bytes, from the end of the header
};

struct Header {
  std::vector<StoredTensor> tensors;  // in the order of their data
  FileMetadata metadata;
  uint64_t size = 0;  // with the length in front of it

  uint64_t data_size() const { return tensors.empty() ? 0 : tensors.back().end; }
};

// Of the open file `described`; leaves nothing open to doubt: names once, shapes that fit the
// bytes, data without gaps to the end of the file. Throws Code::corrupt, with the name of the
// tensor.
Header read_header(int fd, const std::string &described);

// What they throw with.
[[noreturn]] void throw_damaged(const std::string &described, const std::string &problem);

// `json` is what follows the length.
Header parse_header(std::string_view json, uint64_t data_size, const std::string &described);

// With the length and the spaces that align the data; the tensors must be in order. Throws
// Code::invalid where it would be too large.
std::string format_header(const std::vector<StoredTensor> &tensors, const FileMetadata &metadata);

}  // namespace det::tensors

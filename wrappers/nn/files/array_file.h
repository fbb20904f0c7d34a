// Arrays of floats under names, in a safetensors file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/tensors/header.h"
#include "wrappers/nn/arrays/array.h"

namespace det::nn {

struct NamedArray {
  std::string name;
  Array array;
};

// Replaces `path`: written aside, synced, renamed. The arrays are read meanwhile, not copied.
void write_array_file(const std::filesystem::path &path, const std::vector<NamedArray> &arrays,
                      const tensors::FileMetadata &metadata);

// What a file has for the arrays of somebody, before any of them is changed.
struct ArrayFile {
  tensors::FileMetadata metadata;
  std::vector<Array> values;  // of F32, one for each that was asked for

  // Into those that were asked for.
  void copy_to(const std::vector<NamedArray> &wanted) const;
};

// The file must have these arrays and no others, of the same shapes; F64, F16, BF16 and I64 become
// F32. Throws Code::not_found, Code::corrupt, and Code::invalid where something is missing, too
// much or of another shape: `whose` names who wanted them ("the model 'digits'").
ArrayFile read_array_file(const std::filesystem::path &path, const std::vector<NamedArray> &wanted,
                          const std::string &whose);

}  // namespace det::nn

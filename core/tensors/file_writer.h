// A safetensors file out of the caller's memory.
#pragma once

#include <string>
#include <vector>

#include "core/storage/file_transfer.h"
#include "core/storage/progress.h"
#include "core/tensors/header.h"
#include "core/tensors/tensor.h"

namespace det::tensors {

// Writes `given` into the new file `path` below `root`, in the order of the format: the largest
// elements first, so that all are aligned, and then by name. Several threads write and sum it up;
// nothing is copied on the way. Throws Code::conflict where the name is taken; what failed half way
// is removed. `start_writing`: to disk, early, since somebody will sync.
storage::HashedFile write_file(const storage::Tree &root, const std::string &path,
                               const std::vector<Tensor> &given, const FileMetadata &metadata,
                               bool start_writing = true, storage::Progress *progress = nullptr);

// Of the data of each, read by several threads, also where it is on a device.
std::vector<uint64_t> checksums_of(const std::vector<const Tensor *> &tensors);

// Throws Code::invalid where a name is there twice.
void check_names(const std::vector<Tensor> &given);

}  // namespace det::tensors

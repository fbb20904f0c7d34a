// Which rank writes what of the tensors that all ranks bring.
#pragma once

#include <string>
#include <vector>

#include "core/tensors/tensor.h"

namespace det::tensors {

std::string pack_parts(const std::vector<Tensor> &tensors);
std::vector<TensorPart> unpack_parts(const std::string &bytes);

// For each rank, which of its parts it writes. What several ranks have alike is written once, by
// the one with the fewest bytes so far: replicas are spread. Throws Code::conflict, naming the
// tensor and the ranks, where dtypes or shapes differ, parts overlap, or a tensor is not whole.
std::vector<std::vector<size_t>> plan_shards(const std::vector<std::vector<TensorPart>> &of_ranks);

// Throws what `refuse` throws where parts of one tensor overlap or leave something out. `parts` are
// sorted on the way.
struct PlacedPart {
  Region region;
  size_t origin;  // a rank, a file
};
using RefuseParts = std::function<void(const std::string &problem)>;
void check_cover(std::vector<PlacedPart> &parts, const Shape &whole, const RefuseParts &refuse);

// Of each rank, the indices of its parts that other ranks have as well.
std::vector<std::vector<size_t>> shared_parts(const std::vector<std::vector<TensorPart>> &of_ranks);

// Throws Code::conflict, with the tensor and two ranks, where `sums`, the checksums of the parts
// that shared_parts() gave of each rank, differ for a part.
void check_shared(const std::vector<std::vector<TensorPart>> &of_ranks,
                  const std::vector<std::vector<uint64_t>> &sums);

}  // namespace det::tensors

#include "capi/tensor_arguments.h"

#include "capi/guard.h"

namespace {

using det::tensors::Device;
using det::tensors::Dtype;
using det::tensors::Region;
using det::tensors::Shape;
using det::tensors::Tensor;

static_assert(static_cast<int>(Dtype::u64) == DET_DTYPE_U64 &&
              static_cast<int>(Dtype::bf16) == DET_DTYPE_BF16);
static_assert(static_cast<int>(Device::cuda) == DET_DEVICE_CUDA);

[[noreturn]] void refuse(const det_tensor &given, const std::string &problem) {
  throw det::Error(det::Code::invalid,
                   "tensor " + det::tensors::quoted_name(given.name) + ": " + problem);
}

Shape shape_from(const det_tensor &given, const int64_t *numbers, const char *what) {
  if (numbers == nullptr && given.dimensions > 0)
    refuse(given, std::string(what) + " is NULL, though it has dimensions");
  Shape shape;
  for (size_t d = 0; d < given.dimensions; ++d) {
    if (numbers[d] < 0)
      refuse(given, std::string(what) + " has the negative number " + std::to_string(numbers[d]));
    shape.push_back(static_cast<uint64_t>(numbers[d]));
  }
  return shape;
}

Tensor tensor_from(const det_tensor &given, const WholeShape &whole) {
  Tensor tensor;
  tensor.name = text(given.name, "the name of a tensor");
  if (given.dimensions > det::tensors::most_dimensions)
    refuse(given, std::to_string(given.dimensions) + " dimensions; at most " +
                      std::to_string(det::tensors::most_dimensions) + " are possible");
  const std::optional<Dtype> dtype = det::tensors::dtype_numbered(given.dtype);
  if (!dtype) refuse(given, "there is no dtype " + std::to_string(given.dtype));
  if (given.device < DET_DEVICE_DETECT || given.device > DET_DEVICE_CUDA)
    refuse(given, "there is no device " + std::to_string(given.device));
  tensor.dtype = *dtype;
  tensor.device = static_cast<Device>(given.device);
  tensor.data = static_cast<char *>(given.data);
  tensor.region = Region::whole(shape_from(given, given.shape, "shape"));
  if (given.offset != nullptr) tensor.region.offset = shape_from(given, given.offset, "offset");
  tensor.whole = given.global_shape != nullptr
                     ? shape_from(given, given.global_shape, "global_shape")
                     : whole(tensor, given.offset != nullptr);
  return tensor;
}

}  // namespace

std::vector<Tensor> tensors_from(const det_tensor *given, size_t count, const WholeShape &whole) {
  std::vector<Tensor> tensors;
  if (counted(count, "count") == 0) return tensors;
  const size_t step = deref(given, "tensors").struct_size;
  for (size_t i = 0; i < count; ++i) {
    const auto *next =
        reinterpret_cast<const det_tensor *>(reinterpret_cast<const char *>(given) + i * step);
    const det_tensor each = read_options<det_tensor>(next, DET_TENSOR_INIT, "a tensor");
    if (next->struct_size != step)
      throw det::Error(det::Code::invalid,
                       "tensor " + std::to_string(i) +
                           ": its struct_size is not that of the first; set both to the size of "
                           "the struct, as the _INIT macro does");
    tensors.push_back(tensor_from(each, whole));
  }
  return tensors;
}

#include "core/trial/gradient_memory.h"

namespace det::trial {

namespace {

size_t bytes_in(const GradientTensor &tensor) { return tensor.count * bytes_of(tensor.dtype); }

}  // namespace

GradientMemory::Place GradientMemory::place_of(const std::string &name,
                                               const GradientTensor &tensor, const void *data) {
  const auto address = static_cast<char *>(const_cast<void *>(data));  // who reads does not write
  if (driver_ == nullptr) driver_ = tensors::CudaDriver::loaded();
  if (driver_ == nullptr) return {address, nullptr};
  const tensors::Shape shape{tensor.count};
  if (waits_for_queues_) cuda_.wait_again();
  return {address,
          cuda_.context_of({{name, tensor.dtype, tensors::Region::whole(shape), shape}, address})};
}

const void *GradientMemory::read(const Place &place, const GradientTensor &tensor) {
  if (place.context == nullptr) return place.data;
  copy_.resize(bytes_in(tensor));
  cuda_.copy_from(place.context, place.data, copy_.data(), copy_.size());
  return copy_.data();
}

char *GradientMemory::room(const Place &place, const GradientTensor &tensor) {
  if (place.context == nullptr) return place.data;
  copy_.resize(bytes_in(tensor));
  return copy_.data();
}

void GradientMemory::finish(const Place &place, const GradientTensor &tensor) {
  if (place.context != nullptr)
    cuda_.copy_to(place.context, place.data, copy_.data(), bytes_in(tensor));
}

}  // namespace det::trial

#include "wrappers/keras/batches.h"

#include <cstring>

namespace {

using det::v1::nn::Array;

Array lent_array(const engine::Array &given) {
  return Array::borrowed(static_cast<det::v1::Dtype>(given.dtype()), given.shape(), given.raw());
}

Array copied_array(const engine::Array &given) {
  Array copy = Array::unset(static_cast<det::v1::Dtype>(given.dtype()), given.shape());
  if (copy.bytes() > 0) std::memcpy(copy.raw(), given.raw(), copy.bytes());
  return copy;
}

template <class Take>
det::v1::nn::Batch batch_of(const det_nn_batch *given, const Take &take) {
  const det_nn_batch read = read_batch(given);
  engine::Batch borrowed;
  borrow_batch(read, borrowed);
  det::v1::nn::Batch batch;
  for (const auto &array : borrowed.inputs) batch.inputs.push_back(take(array));
  for (const auto &array : borrowed.truths) batch.truths.push_back(take(array));
  for (const auto &array : borrowed.weights) batch.sample_weights.push_back(take(array));
  batch.class_weights.assign(read.class_weights, read.class_weights + read.class_count);
  return batch;
}

}  // namespace

det::v1::nn::Batch lent_batch(const det_nn_batch *given) { return batch_of(given, lent_array); }

det::v1::nn::Batch copied_batch(const det_nn_batch *given) { return batch_of(given, copied_array); }

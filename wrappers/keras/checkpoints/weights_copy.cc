#include "wrappers/keras/checkpoints/weights_copy.h"

#include <algorithm>

#include "wrappers/keras/run/core_calls.h"
#include "wrappers/nn/capi/model_handle.h"
#include "wrappers/nn/files/model_files.h"

namespace det::keras {

namespace {

std::span<float> numbers_of(const det_tensor &weight) {
  size_t count = 1;
  for (size_t i = 0; i < weight.dimensions; ++i) count *= static_cast<size_t>(weight.shape[i]);
  return {static_cast<float *>(weight.data), count};
}

}  // namespace

WeightsCopy::WeightsCopy(det_nn_model &model) {
  for (const det_tensor &weight : model.lend_weights()) {
    const std::span<float> numbers = numbers_of(weight);
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  }
}

WeightsCopy WeightsCopy::load(det_nn_model &model, const std::filesystem::path &path) {
  WeightsCopy copy(model);
  const std::span<const det_tensor> weights = model.lend_weights();
  std::vector<det_tensor> wanted(weights.begin(), weights.end());
  float *next = copy.numbers_.data();
  for (det_tensor &weight : wanted) {
    const size_t count = numbers_of(weight).size();
    weight.data = std::exchange(next, next + count);
  }
  det_tensors *tensors = nullptr;
  call(det_tensors_open_path, path.c_str(), &tensors);
  const Handle<det_tensors, det_tensors_free> owned(tensors);
  call(det_tensors_read, tensors, wanted.data(), wanted.size(), nullptr);
  return copy;
}

void WeightsCopy::restore(det_nn_model &model) const {
  const float *next = numbers_.data();
  for (const det_tensor &weight : model.lend_weights()) {
    const std::span<float> numbers = numbers_of(weight);
    std::copy_n(next, numbers.size(), numbers.data());
    next += numbers.size();
  }
}

void WeightsCopy::save(det_nn_model &model, const std::filesystem::path &path) const {
  const WeightsCopy now(model);
  restore(model);
  nn::save_weights(model.impl, path);
  now.restore(model);
}

}  // namespace det::keras

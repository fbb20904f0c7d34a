#include "wrappers/nn/capi/batch_argument.h"

#include "capi/guard.h"
#include "core/tensors/region.h"

void borrow_arrays(const det_tensor *given, size_t count, const char *what,
                   std::vector<det::nn::Array> &arrays) {
  arrays.resize(count);
  if (count == 0) return;
  const size_t size = deref(given, what).struct_size;
  for (size_t i = 0; i < count; ++i) {
    const auto *next =
        reinterpret_cast<const det_tensor *>(reinterpret_cast<const char *>(given) + i * size);
    const det_tensor tensor = read_options<det_tensor>(next, DET_TENSOR_INIT, what);
    const auto refuse = [&](const std::string &problem) {
      throw det::Error(det::Code::invalid, "giving a model array " + std::to_string(i) + " of '" +
                                               what + "': " + problem);
    };
    if (next->struct_size != size) refuse("its struct_size is not that of the first");
    if (tensor.device == DET_DEVICE_CUDA) refuse("it is on a CUDA device, not in memory");
    if (tensor.offset != nullptr || tensor.global_shape != nullptr) refuse("it is a part of one");
    if (tensor.dimensions > det::tensors::most_dimensions) refuse("it has too many dimensions");
    if (tensor.shape == nullptr && tensor.dimensions > 0) refuse("its shape is NULL");
    const auto dtype = det::tensors::dtype_numbered(tensor.dtype);
    if (!dtype) refuse("there is no dtype " + std::to_string(tensor.dtype));
    arrays[i].borrow(*dtype, {tensor.shape, tensor.dimensions}, tensor.data);
    if (tensor.data == nullptr && arrays[i].size() > 0) refuse("its data is NULL");
  }
}

det_nn_batch read_batch(const det_nn_batch *given) {
  const auto batch = read_options<det_nn_batch>(&deref(given, "batch"), DET_NN_BATCH_INIT, "batch");
  if (batch.class_weights == nullptr && batch.class_count > 0)
    throw det::Error(det::Code::invalid, "batch.class_weights is NULL, and there are " +
                                             std::to_string(batch.class_count) + " classes");
  return batch;
}

void borrow_batch(const det_nn_batch &given, det::nn::Batch &batch) {
  borrow_arrays(given.inputs, given.input_count, "inputs", batch.inputs);
  borrow_arrays(given.truths, given.result_count, "truths", batch.truths);
  borrow_arrays(given.sample_weights, given.sample_weights != nullptr ? given.result_count : 0,
                "sample_weights", batch.weights);
}

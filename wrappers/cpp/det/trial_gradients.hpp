// Adds up gradients and metrics over ranks. See det/trial_gradients.h.
#pragma once

#include <det/trial_gradients.h>
#include <det/detail/handle.hpp>
#include <det/distributed.hpp>
#include <det/tensors.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace det {
inline namespace v1 {

// Describes a gradient before it exists.
struct Gradient {
  size_t count = 0;  // elements
  Dtype dtype = Dtype::f32;
  bool is_sparse = false;
};

enum class GradientReduction : det_trial_reduction {
  automatic = DET_TRIAL_REDUCTION_AUTO,
  shared_memory = DET_TRIAL_REDUCTION_SHARED_MEMORY,
  transport = DET_TRIAL_REDUCTION_TRANSPORT,
  messages = DET_TRIAL_REDUCTION_MESSAGES,
  nccl = DET_TRIAL_REDUCTION_NCCL,
};

// See det_trial_gradients_options.
struct GradientOptions {
  int32_t aggregation_frequency = 1;
  bool average_aggregated_gradients = true;
  bool gradient_compression = false;
  bool first_to_last = false;
  size_t tensor_fusion_threshold = 0;
  GradientReduction reduction = GradientReduction::automatic;
  bool gradients_are_complete = false;

  [[nodiscard]] det_trial_gradients_options capi() const noexcept {
    det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
    options.aggregation_frequency = aggregation_frequency;
    options.average_aggregated_gradients = average_aggregated_gradients ? 1 : 0;
    options.gradient_compression = gradient_compression ? 1 : 0;
    options.first_to_last = first_to_last ? 1 : 0;
    options.tensor_fusion_threshold = tensor_fusion_threshold;
    options.reduction = static_cast<det_trial_reduction>(reduction);
    options.gradients_are_complete = gradients_are_complete ? 1 : 0;
    return options;
  }
};

// Gradients of several batches and all ranks. The job must outlive it.
class GradientAggregator {
 public:
  GradientAggregator() noexcept = default;

  // All ranks in step.
  GradientAggregator(const DistributedView &job, const std::vector<Gradient> &gradients,
                     const GradientOptions &options = {}, OnFailure on = {}) {
    std::vector<det_trial_gradient> tensors;
    tensors.reserve(gradients.size());
    for (const Gradient &gradient : gradients) {
      det_trial_gradient tensor = DET_TRIAL_GRADIENT_INIT;
      tensor.count = gradient.count;
      tensor.dtype = static_cast<det_dtype>(gradient.dtype);
      tensor.is_sparse = gradient.is_sparse ? 1 : 0;
      tensors.push_back(tensor);
    }
    const det_trial_gradients_options c_options = options.capi();
    det_trial_gradients *made = nullptr;
    detail::call(on, det_trial_gradients_create, job.capi(), tensors.data(), tensors.size(),
                 &c_options, &made);
    gradients_.reset(made);
  }

  // See det_trial_gradients_memory(). Null and 0 if it has none.
  [[nodiscard]] std::pair<void *, size_t> memory(OnFailure on = {}) const {
    std::pair<void *, size_t> found{};
    detail::call(on, det_trial_gradients_memory, gradients_.get(), &found.first, &found.second);
    return found;
  }
  // Reads `data` now. step() writes the sum to `result`, which may be the same array.
  void add(size_t index, const void *data, void *result, OnFailure on = {}) const {
    detail::call(on, det_trial_gradients_add, gradients_.get(), index, data, result);
  }
  // Ends the batch. True: apply the results now.
  [[nodiscard]] bool step(OnFailure on = {}) const {
    int32_t apply = 0;
    detail::call(on, det_trial_gradients_step, gradients_.get(), &apply);
    return apply != 0;
  }

  [[nodiscard]] det_trial_gradients *capi() const noexcept { return gradients_.get(); }

 private:
  detail::Handle<det_trial_gradients, det_trial_gradients_free> gradients_;
};

// The mean of each metric over the ranks, in step: an object in JSON. `weight` is the weight of
// this rank. All ranks give it, or none.
[[nodiscard]] inline std::string average_metrics(const DistributedView &job,
                                                 const std::string &metrics_json,
                                                 std::optional<double> weight = {},
                                                 OnFailure on = {}) {
  char *made = nullptr;
  detail::call(on, det_trial_average_metrics, job.capi(), metrics_json.c_str(),
               weight ? &*weight : nullptr, &made);
  return detail::taken(made);
}

// Copies rank 0's arrays into those of the other ranks. All ranks in step, with the same names,
// dtypes and shapes.
inline void broadcast_arrays(const DistributedView &job, const std::vector<Tensor> &arrays,
                             OnFailure on = {}) {
  const std::vector<det_tensor> c_arrays = detail::to_c(arrays);
  detail::call(on, det_trial_broadcast, job.capi(), c_arrays.data(), c_arrays.size());
}

}  // namespace v1
}  // namespace det

#include <det/trial_gradients.h>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/tensor_arguments.h"
#include "core/base/json.h"
#include "core/trial/gradients/gradients.h"
#include "core/trial/ranks/average_metrics.h"
#include "core/trial/ranks/broadcast_arrays.h"

static_assert(static_cast<int>(det::trial::Way::nccl) == DET_TRIAL_REDUCTION_NCCL);

// The ranks that are in step: of a job, or without one, this process alone.
struct RanksInStep {
  explicit RanksInStep(const det_distributed_context *job)
      : alone(job == nullptr ? det::comm::make_single_communicator() : nullptr),
        communicator(job != nullptr ? *job->impl : *alone) {}

  const std::unique_ptr<det::comm::Communicator> alone;
  det::comm::Communicator &communicator;
};

// What one rank gives wrongly all of them hear of, so that none waits for it: arguments are looked
// at where the core asks for them.
struct det_trial_gradients {
  det_trial_gradients(const det_distributed_context *job,
                      const det::trial::GradientAggregator::Given &given)
      : ranks(job), impl(ranks.communicator, given) {}

  const RanksInStep ranks;
  det::trial::GradientAggregator impl;
};

namespace {

using det::trial::GradientOptions;
using det::trial::GradientRegistration;
using det::trial::GradientTensor;

std::vector<GradientTensor> gradients_from(const det_trial_gradient *given, size_t count) {
  std::vector<GradientTensor> tensors;
  if (counted(count, "count") == 0) return tensors;
  const size_t distance = deref(given, "tensors").struct_size;
  tensors.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto *bytes = reinterpret_cast<const char *>(given) + i * distance;
    const auto tensor = read_options<det_trial_gradient>(
        reinterpret_cast<const det_trial_gradient *>(bytes), DET_TRIAL_GRADIENT_INIT, "tensors");
    tensors.push_back({counted(tensor.count, "the count of a tensor"),
                       static_cast<det::trial::Dtype>(tensor.dtype), tensor.is_sparse != 0});
  }
  return tensors;
}

GradientOptions options_from(const det_trial_gradients_options *given) {
  const auto options =
      read_options<det_trial_gradients_options>(given, DET_TRIAL_GRADIENTS_OPTIONS_INIT, "options");
  if (options.reduction < DET_TRIAL_REDUCTION_AUTO || options.reduction > DET_TRIAL_REDUCTION_NCCL)
    throw det::Error(det::Code::invalid, "options.reduction is " +
                                             std::to_string(options.reduction) +
                                             "; use one of DET_TRIAL_REDUCTION_*");
  GradientOptions result;
  result.frequency = options.aggregation_frequency;
  result.average = options.average_aggregated_gradients != 0;
  result.compress = options.gradient_compression != 0;
  result.last_first = options.first_to_last == 0;
  result.are_complete = options.gradients_are_complete != 0;
  result.way = static_cast<det::trial::Way>(options.reduction);
  if (options.tensor_fusion_threshold != 0)
    result.fusion_threshold = options.tensor_fusion_threshold;
  return result;
}

}  // namespace

det_status det_trial_gradients_create(det_distributed_context *distributed,
                                      const det_trial_gradient *tensors, size_t count,
                                      const det_trial_gradients_options *options,
                                      det_trial_gradients **out, det_error *err) noexcept {
  return guarded(err, [&] {
    if (out != nullptr) *out = nullptr;
    auto gradients = std::make_unique<det_trial_gradients>(distributed, [&] {
      deref(out, "out");
      return GradientRegistration{gradients_from(tensors, count), options_from(options)};
    });
    *out = gradients.release();
  });
}

det_status det_trial_gradients_memory(det_trial_gradients *gradients, void **out, size_t *out_bytes,
                                      det_error *err) noexcept {
  return guarded(err, [&] {
    clear(out, out_bytes);
    void *&memory = deref(out, "out");
    size_t &bytes = deref(out_bytes, "out_bytes");
    const std::span<char> found = deref(gradients, "gradients").impl.memory();
    memory = found.data();
    bytes = found.size();
  });
}

det_status det_trial_gradients_add(det_trial_gradients *gradients, size_t index, const void *data,
                                   void *result, det_error *err) noexcept {
  return guarded(err, [&] {
    det::trial::GradientAggregator &impl = deref(gradients, "gradients").impl;
    const bool is_empty = index < impl.count() && impl.tensor(index).count == 0;
    if (!is_empty && (data == nullptr || result == nullptr))
      throw det::Error(det::Code::invalid, "data and result must not be NULL");
    impl.add(index, data, result);
  });
}

det_status det_trial_gradients_step(det_trial_gradients *gradients, int32_t *out_apply,
                                    det_error *err) noexcept {
  return guarded(err, [&] {
    int32_t &apply = deref(out_apply, "out_apply") = 0;
    apply = deref(gradients, "gradients").impl.step() ? 1 : 0;
  });
}

void det_trial_gradients_free(det_trial_gradients *gradients) noexcept { delete gradients; }

det_status det_trial_average_metrics(det_distributed_context *distributed, const char *metrics_json,
                                     const double *weight, char **out_json,
                                     det_error *err) noexcept {
  return guarded(err, [&] {
    if (out_json != nullptr) *out_json = nullptr;
    const RanksInStep ranks(distributed);
    const det::Json averages = det::trial::average_metrics(
        ranks.communicator,
        [&]() -> std::string {
          deref(out_json, "out_json");
          return metrics_json != nullptr ? metrics_json : "null";
        },
        weight != nullptr ? std::optional(*weight) : std::nullopt);
    *out_json = copy_text(det::to_metadata_text(averages));
  });
}

det_status det_trial_broadcast(det_distributed_context *distributed, const det_tensor *tensors,
                               size_t count, det_error *err) noexcept {
  return guarded(err, [&] {
    const RanksInStep ranks(distributed);
    det::trial::broadcast_arrays(ranks.communicator,
                                 [&] { return tensors_from(tensors, count, own_shape); });
  });
}

#include "wrappers/keras/training/ranks_in_step.h"

#include "core/base/error.h"

namespace det::keras {

namespace {

det_trial_gradients_options options_of(const Json &optimizations) {
  det_trial_gradients_options options = DET_TRIAL_GRADIENTS_OPTIONS_INIT;
  options.aggregation_frequency = optimizations.value("aggregation_frequency", 1);
  options.average_aggregated_gradients =
      optimizations.value("average_aggregated_gradients", true) ? 1 : 0;
  options.gradient_compression = optimizations.value("gradient_compression", false) ? 1 : 0;
  options.gradients_are_complete = 1;  // the model says so of what it tells of
  return options;
}

}  // namespace

RanksInStep::RanksInStep(det_distributed_context *job, det_nn_model &model,
                         const Json &optimizations)
    : job_(job), model_(model) {
  const det_trial_gradients_options options = options_of(optimizations);
  if (det_distributed_size(job) == 1 && options.aggregation_frequency == 1) return;
  const std::vector<nn::Weight> &weights = model.impl.weights().all();
  std::vector<det_trial_gradient> gradients;
  for (const nn::Weight &weight : weights) {
    places_.push_back(gradients.size());
    if (!weight.gradient) continue;
    det_trial_gradient gradient = DET_TRIAL_GRADIENT_INIT;
    gradient.count = weight.value.size();
    gradient.dtype = DET_DTYPE_F32;
    gradients.push_back(gradient);
  }
  std::vector<det_tensor> state;
  for (const auto &part : {model.lend_weights(), model.lend_optimizer_state()})
    state.insert(state.end(), part.begin(), part.end());
  call(det_trial_broadcast, job, state.data(), state.size());
  det_trial_gradients *made = nullptr;
  call(det_trial_gradients_create, job, gradients.data(), gradients.size(), &options, &made);
  gradients_.reset(made);
  place_gradients();
  model.impl.observe_gradients({[this, &weights](size_t index) {
                                  float *const gradient = weights[index].gradient.data();
                                  call(det_trial_gradients_add, gradients_.get(), places_[index],
                                       gradient, gradient);
                                },
                                [this] {
                                  int32_t applies = 0;
                                  call(det_trial_gradients_step, gradients_.get(), &applies);
                                  return applies != 0;
                                }});
}

RanksInStep::~RanksInStep() {
  if (gradients_ == nullptr) return;
  try {
    model_.impl.observe_gradients({});
    if (is_placed_) model_.impl.place_gradients({});
  } catch (const std::exception &) {  // of a model that has failed
  }
}

// Where they are added up, so that they need not be copied; a GPU has them elsewhere.
void RanksInStep::place_gradients() {
  try {
    model_.impl.place_gradients({});
  } catch (const Error &) {
    return;
  }
  void *memory = nullptr;
  size_t bytes = 0;
  call(det_trial_gradients_memory, gradients_.get(), &memory, &bytes);
  if (memory == nullptr) return;
  model_.impl.place_gradients({static_cast<std::byte *>(memory), bytes});
  is_placed_ = true;
}

void RanksInStep::share_untrained(det_nn_model &model) const {
  if (det_distributed_size(job_) == 1) return;
  const std::span<const det_tensor> weights = model.lend_weights();
  std::vector<det_tensor> untrained;
  for (size_t i = 0; i < weights.size(); ++i)
    if (!model.impl.weights().at(i).gradient) untrained.push_back(weights[i]);
  if (!untrained.empty()) call(det_trial_broadcast, job_, untrained.data(), untrained.size());
}

}  // namespace det::keras

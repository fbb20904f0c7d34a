// The batches of a rank, in their order.
#pragma once

#include <det/estimator/trial.hpp>

namespace det {
inline namespace v1 {
namespace estimator {

// One pass. You can look at its next batch.
class Input {
 public:
  // The first `skip` batches are passed over.
  explicit Input(nn::DatasetIterator batches, int64_t skip = 0) : batches_(std::move(batches)) {
    batches_.skip(skip);
  }

  // Null at the end.
  [[nodiscard]] const nn::Batch *peek() {
    if (!next_) next_ = batches_.next();
    return next_ ? &*next_ : nullptr;
  }
  // Call it only if there is a batch.
  [[nodiscard]] nn::Batch take() {
    (void)peek();
    return *std::exchange(next_, std::nullopt);
  }

 private:
  nn::DatasetIterator batches_;
  std::optional<nn::Batch> next_;
};

// Calls an input_fn. Throws as TrialContext::check_dataset().
[[nodiscard]] inline nn::Dataset dataset_of(const TrialContext &context, const InputFn &input_fn) {
  nn::Dataset dataset = input_fn();
  context.check_dataset(dataset);
  return dataset;
}

}  // namespace estimator
}  // namespace v1
}  // namespace det

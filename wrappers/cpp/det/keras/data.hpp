// The training and validation data of a trial. Follows InputData.
#pragma once

#include <det/nn.hpp>
#include <det/nn/dataset.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace det {
inline namespace v1 {
namespace keras {

using nn::Array;
using nn::Batch;

// Batches by their number. Follows keras.utils.Sequence.
class Sequence {
 public:
  virtual ~Sequence() = default;
  // The batches of an epoch. With workers several threads call at() at once. No other function is
  // called at the same time.
  [[nodiscard]] virtual int64_t size() const = 0;
  [[nodiscard]] virtual Batch at(int64_t index) = 0;
  virtual void on_epoch_end() {}
};

// Arrays as a sequence, as a base for your own. Records keep their places in batches. The last
// batch may be shorter.
class ArraySequence : public Sequence {
 public:
  // Throws std::invalid_argument for arrays of different lengths, and for fewer records than a
  // batch.
  ArraySequence(Batch all, int64_t batch_size) : all_(std::move(all)), batch_size_(batch_size) {
    if (all_.inputs.empty() || all_.truths.empty())
      throw std::invalid_argument("reading data: there are no inputs, or nothing to compare with");
    records_ = all_.inputs[0].records();
    if (records_ == 0) throw std::invalid_argument("reading data: the arrays have no records");
    for (const auto *part : {&all_.inputs, &all_.truths, &all_.sample_weights})
      for (const Array &array : *part)
        if (array.records() != records_)
          throw std::invalid_argument("reading data: an array has " +
                                      std::to_string(array.records()) + " records, another " +
                                      std::to_string(records_));
    if (records_ < batch_size_)
      throw std::invalid_argument("reading data: a batch of " + std::to_string(batch_size_) +
                                  " records is more than there are (" + std::to_string(records_) +
                                  "); lower global_batch_size");
  }

  [[nodiscard]] int64_t size() const override { return (records_ + batch_size_ - 1) / batch_size_; }
  [[nodiscard]] Batch at(int64_t index) override {
    const int64_t begin = index * batch_size_;
    const int64_t end = std::min(begin + batch_size_, records_);
    return all_.rows(begin, end);
  }

 private:
  Batch all_;
  int64_t batch_size_;
  int64_t records_ = 0;
};

// A sequence, and the number of threads that ask for its batches ahead. Follows SequenceAdapter.
// Those of the training data are the settings of configure_fit().
struct SequenceAdapter {
  std::shared_ptr<Sequence> sequence;
  int64_t workers = 1;
  int64_t max_queue_size = 10;
};

// The data that a loader returns: arrays, which are cut into batches, a sequence of batches, or a
// dataset of batches. The dataset must have passed through context().wrap_dataset().
class InputData {
 public:
  InputData(Batch arrays) : arrays_(std::move(arrays)) {}
  // For any class that derives from Sequence.
  template <class T, class = std::enable_if_t<std::is_convertible_v<T *, Sequence *>>>
  InputData(std::shared_ptr<T> sequence) : sequence_(std::move(sequence)) {
    if (sequence_ == nullptr) throw std::invalid_argument("reading data: the sequence is null");
  }
  InputData(SequenceAdapter adapter) : InputData(adapter.sequence) {
    adapter_ = std::move(adapter);
    if (adapter_->workers < 0 || adapter_->max_queue_size < 1)
      throw std::invalid_argument(
          "reading data: there are 0 workers or more, and one batch or more is made ahead");
  }
  InputData(nn::Dataset dataset) : dataset_(std::move(dataset)) {}

  [[nodiscard]] const Batch &arrays() const { return arrays_; }
  // Null for other data.
  [[nodiscard]] Sequence *sequence() const { return sequence_.get(); }
  [[nodiscard]] const nn::Dataset *dataset() const { return dataset_ ? &*dataset_ : nullptr; }
  [[nodiscard]] const std::optional<SequenceAdapter> &adapter() const { return adapter_; }

 private:
  Batch arrays_;
  std::shared_ptr<Sequence> sequence_;
  std::optional<SequenceAdapter> adapter_;
  std::optional<nn::Dataset> dataset_;
};

[[nodiscard]] inline InputData arrays(Array x, Array y) {
  return Batch{{std::move(x)}, {std::move(y)}};
}
[[nodiscard]] inline InputData arrays(std::vector<Array> x, std::vector<Array> y,
                                      std::vector<Array> sample_weights = {}) {
  return Batch{std::move(x), std::move(y), std::move(sample_weights)};
}

}  // namespace keras
}  // namespace v1
}  // namespace det

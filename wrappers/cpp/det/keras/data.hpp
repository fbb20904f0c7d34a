// What a trial is trained and validated with (seed: InputData).
#pragma once

#include <det/nn.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace det {
inline namespace v1 {
namespace keras {

using nn::Array;
using nn::Batch;

// Batches that can be asked for by their number (seed: keras.utils.Sequence).
class Sequence {
 public:
  virtual ~Sequence() = default;
  // Batches of an epoch.
  [[nodiscard]] virtual int64_t size() const = 0;
  [[nodiscard]] virtual Batch at(int64_t index) = 0;
  virtual void on_epoch_end() {}
};

// Arrays as a sequence. Records keep their places in batches; the last batch may be shorter.
class ArraySequence : public Sequence {
 public:
  // Throws std::invalid_argument for arrays of different lengths, and for fewer records than a
  // batch.
  ArraySequence(Batch all, int64_t batch_size) : all_(std::move(all)), batch_size_(batch_size) {
    if (all_.inputs.empty() || all_.truths.empty())
      throw std::invalid_argument("reading data: there are no inputs, or nothing to compare with");
    records_ = all_.inputs[0].records();
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
    return {rows(all_.inputs, begin, end), rows(all_.truths, begin, end),
            rows(all_.sample_weights, begin, end)};
  }

 private:
  static std::vector<Array> rows(const std::vector<Array> &arrays, int64_t begin, int64_t end) {
    std::vector<Array> parts;
    parts.reserve(arrays.size());
    for (const Array &array : arrays) parts.push_back(array.rows(begin, end));
    return parts;
  }

  Batch all_;
  int64_t batch_size_;
  int64_t records_ = 0;
};

// What a trial's loaders give: arrays, which are cut into batches, or a sequence of batches.
class InputData {
 public:
  InputData(Batch arrays) : arrays_(std::move(arrays)) {}
  InputData(std::shared_ptr<Sequence> sequence) : sequence_(std::move(sequence)) {
    if (sequence_ == nullptr) throw std::invalid_argument("reading data: the sequence is null");
  }

  [[nodiscard]] std::shared_ptr<Sequence> sequence(int64_t batch_size) const {
    if (sequence_ != nullptr) return sequence_;
    return std::make_shared<ArraySequence>(arrays_, batch_size);
  }

 private:
  Batch arrays_;
  std::shared_ptr<Sequence> sequence_;
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

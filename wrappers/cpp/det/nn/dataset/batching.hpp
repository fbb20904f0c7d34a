// Puts elements side by side.
#pragma once

#include <det/nn/dataset/elements.hpp>

namespace det {
inline namespace v1 {
namespace nn {
namespace detail {

class BatchedElements : public Elements {
 public:
  BatchedElements(ElementsPtr input, int64_t size, bool drop_remainder)
      : input_(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}

  std::optional<Batch> next() override {
    if (std::optional<Batch> rows = input_->next_rows(size_)) {
      count_ += rows->records();
      if (drop_remainder_ && rows->records() < size_) return std::nullopt;
      return rows;
    }
    taken_.clear();
    while (static_cast<int64_t>(taken_.size()) < size_) {
      std::optional<Batch> element = input_->next();
      if (!element) break;
      if (!taken_.empty())
        check_same_form(taken_[0], *element,
                        "batching a dataset, element " + std::to_string(count_));
      taken_.push_back(std::move(*element));
      ++count_;
    }
    if (taken_.empty() || (drop_remainder_ && static_cast<int64_t>(taken_.size()) < size_))
      return std::nullopt;
    return join(taken_);
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = input_->skip(times(count, size_));
    count_ += skipped;
    return skipped / size_ + (!drop_remainder_ && skipped % size_ != 0 ? 1 : 0);
  }

 private:
  ElementsPtr input_;
  int64_t size_;
  bool drop_remainder_;
  int64_t count_ = 0;
  std::vector<Batch> taken_;  // kept to reuse its memory
};

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det

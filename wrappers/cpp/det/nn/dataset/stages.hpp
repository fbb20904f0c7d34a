// What is done to the elements of a dataset one after the other.
#pragma once

#include <det/nn/dataset/elements.hpp>

#include <limits>

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
  void skip(int64_t count) override {
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    const int64_t elements = count > most / size_ ? most : count * size_;
    input_->skip(elements);
    count_ += std::min(elements, most - count_);
  }

 private:
  ElementsPtr input_;
  int64_t size_;
  bool drop_remainder_;
  int64_t count_ = 0;
  std::vector<Batch> taken_;  // kept for its room
};

class RepeatedElements : public Elements {
 public:
  RepeatedElements(Open open, std::optional<int64_t> times, uint64_t pass)
      : open_(std::move(open)), times_(times), first_pass_(pass << 32U) {}

  std::optional<Batch> next() override {
    while (!times_ || done_ < *times_) {
      if (input_ == nullptr) begin();
      if (std::optional<Batch> element = input_->next()) {
        is_empty_ = false;
        return element;
      }
      // With no end it would look for an element for ever.
      if (is_empty_ && !times_)
        throw std::invalid_argument("repeating a dataset: there are no elements in it");
      input_.reset();
      ++done_;
    }
    return std::nullopt;
  }

 private:
  void begin() {
    is_empty_ = true;
    input_ = open_(first_pass_ + static_cast<uint64_t>(done_));
  }

  Open open_;
  std::optional<int64_t> times_;
  uint64_t first_pass_;
  int64_t done_ = 0;
  bool is_empty_ = true;
  ElementsPtr input_;
};

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det

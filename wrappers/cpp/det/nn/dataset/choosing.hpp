// Chooses some of the elements.
#pragma once

#include <det/nn/dataset/elements.hpp>

namespace det {
inline namespace v1 {
namespace nn {
namespace detail {

// The first elements.
class TakenElements : public Elements {
 public:
  TakenElements(ElementsPtr input, int64_t count) : input_(std::move(input)), left_(count) {}

  std::optional<Batch> next() override {
    if (left_ == 0) return std::nullopt;
    --left_;
    return input_->next();
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = input_->skip(std::min(count, left_));
    left_ -= skipped;
    return skipped;
  }
  std::optional<Batch> next_rows(int64_t count) override {
    if (left_ == 0) return std::nullopt;
    std::optional<Batch> rows = input_->next_rows(std::min(count, left_));
    if (rows) left_ -= rows->records();
    return rows;
  }

 private:
  ElementsPtr input_;
  int64_t left_;
};

// All except the first elements.
class LaterElements : public Elements {
 public:
  LaterElements(ElementsPtr input, int64_t count) : input_(std::move(input)), before_(count) {}

  std::optional<Batch> next() override { return input().next(); }
  int64_t skip(int64_t count) override { return input().skip(count); }
  std::optional<Batch> next_rows(int64_t count) override { return input().next_rows(count); }

 private:
  Elements &input() {
    if (before_ > 0) input_->skip(std::exchange(before_, 0));
    return *input_;
  }

  ElementsPtr input_;
  int64_t before_;
};

// Elements `index`, `index + count`, `index + 2 * count` and so on.
class ShardedElements : public Elements {
 public:
  ShardedElements(ElementsPtr input, int64_t count, int64_t index)
      : input_(std::move(input)), count_(count), before_(index) {}

  std::optional<Batch> next() override {
    if (input_->skip(before_) < before_) return std::nullopt;
    before_ = count_ - 1;
    return input_->next();
  }
  int64_t skip(int64_t count) override {
    const int64_t passed = input_->skip(times(count, count_));
    const int64_t beyond = passed % count_;
    if (beyond == 0) return passed / count_;
    const int64_t skipped = passed / count_ + (beyond > before_ ? 1 : 0);
    before_ = 0;  // the input is over
    return skipped;
  }

 private:
  ElementsPtr input_;
  int64_t count_;
  int64_t before_;  // to pass over before the next one
};

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det

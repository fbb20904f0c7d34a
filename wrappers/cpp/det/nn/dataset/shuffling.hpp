// Gives elements in another order.
#pragma once

#include <det/nn/dataset/elements.hpp>

#include <random>

namespace det {
inline namespace v1 {
namespace nn {
namespace detail {

// Always gives one of the next `room` elements, at random.
class ShuffledElements : public Elements {
 public:
  ShuffledElements(ElementsPtr input, size_t room, uint64_t seed, uint64_t pass)
      : input_(std::move(input)), room_(room) {
    std::seed_seq all{low(seed), low(seed >> 32U), low(pass), low(pass >> 32U)};
    random_.seed(all);
  }

  std::optional<Batch> next() override {
    while (!is_over_ && waiting_.size() < room_) {
      if (std::optional<Batch> element = input_->next()) waiting_.push_back(std::move(*element));
      else is_over_ = true;
    }
    if (waiting_.empty()) return std::nullopt;
    // A std::uniform_int_distribution does not give the same numbers everywhere.
    std::swap(waiting_[random_() % waiting_.size()], waiting_.back());
    std::optional<Batch> element = std::move(waiting_.back());
    waiting_.pop_back();
    return element;
  }

 private:
  static uint32_t low(uint64_t number) { return static_cast<uint32_t>(number); }

  ElementsPtr input_;
  size_t room_;
  std::mt19937_64 random_;
  std::vector<Batch> waiting_;
  bool is_over_ = false;
};

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det

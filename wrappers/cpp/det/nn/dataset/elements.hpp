// The elements of datasets and their sources.
#pragma once

#include <det/nn/dataset/joining.hpp>

#include <functional>
#include <limits>
#include <memory>
#include <optional>

namespace det {
inline namespace v1 {
namespace nn {

// Returns one element after the other, and nothing at its end.
using Generator = std::function<std::optional<Batch>()>;

namespace detail {

// One pass over a dataset. One thread at a time may use it, not always the same.
class Elements {
 public:
  Elements() = default;
  virtual ~Elements() = default;
  Elements(const Elements &) = delete;
  Elements &operator=(const Elements &) = delete;

  // Returns nothing at the end, and in all later calls.
  [[nodiscard]] virtual std::optional<Batch> next() = 0;
  // Calls next() `count` times and drops the results. Returns the number of elements, which is
  // smaller at the end.
  virtual int64_t skip(int64_t count) {
    int64_t skipped = 0;
    while (skipped < count && next()) ++skipped;
    return skipped;
  }
  // Up to `count` elements of one record each, if they are already side by side in memory.
  // Otherwise nothing: then call next().
  [[nodiscard]] virtual std::optional<Batch> next_rows(int64_t /*count*/) { return std::nullopt; }
};

using ElementsPtr = std::unique_ptr<Elements>;

// Does not overflow: nothing has more elements.
[[nodiscard]] inline int64_t times(int64_t count, int64_t each) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  return count > most / each ? most : count * each;
}

// Begins a pass. Several threads may call it at once.
using Open = std::function<ElementsPtr(uint64_t pass)>;

// Each record of arrays is an element.
class ArrayElements : public Elements {
 public:
  explicit ArrayElements(std::shared_ptr<const Batch> all) : all_(std::move(all)) {}

  std::optional<Batch> next() override { return next_rows(1); }
  int64_t skip(int64_t count) override {
    const int64_t skipped = std::min(count, all_->records() - at_);
    at_ += skipped;
    return skipped;
  }
  std::optional<Batch> next_rows(int64_t count) override {
    const int64_t begin = at_;
    skip(count);
    if (begin == at_) return std::nullopt;
    return all_->rows(begin, at_);
  }

 private:
  std::shared_ptr<const Batch> all_;
  int64_t at_ = 0;
};

class GeneratedElements : public Elements {
 public:
  explicit GeneratedElements(Generator generator) : generator_(std::move(generator)) {
    if (!generator_)
      throw std::invalid_argument("generating a dataset: what begins it gave no generator");
  }

  std::optional<Batch> next() override {
    if (over_) return std::nullopt;
    std::optional<Batch> element = generator_();
    over_ = !element;
    if (element)
      check_records(*element, "generating a dataset, element " + std::to_string(count_++));
    return element;
  }

 private:
  Generator generator_;
  int64_t count_ = 0;
  bool over_ = false;
};

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det

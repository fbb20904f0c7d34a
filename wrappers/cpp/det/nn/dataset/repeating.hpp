// Goes through a dataset several times, or through two.
#pragma once

#include <det/nn/dataset/elements.hpp>

#include <mutex>

namespace det {
inline namespace v1 {
namespace nn {
namespace detail {

class RepeatedElements : public Elements {
 public:
  // Each pass has a separate number, also below another repetition.
  RepeatedElements(Open open, std::optional<int64_t> times, uint64_t pass)
      : open_(std::move(open)), times_(times), first_pass_(pass << 32U) {}

  std::optional<Batch> next() override {
    while (begin()) {
      if (std::optional<Batch> element = input_->next()) {
        is_empty_ = false;
        return element;
      }
      end();
    }
    return std::nullopt;
  }
  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    while (skipped < count && begin()) {
      const int64_t of_pass = input_->skip(count - skipped);
      if (of_pass > 0) is_empty_ = false;
      skipped += of_pass;
      if (skipped < count) end();
    }
    return skipped;
  }

 private:
  // Returns true if there is a pass, begun now or before.
  bool begin() {
    if (times_ && done_ >= *times_) return false;
    if (input_ == nullptr) {
      is_empty_ = true;
      input_ = open_(first_pass_ + static_cast<uint64_t>(done_));
    }
    return true;
  }
  void end() {
    // It would look for an element for ever.
    if (is_empty_ && !times_)
      throw std::invalid_argument("repeating a dataset: there are no elements in it");
    input_.reset();
    ++done_;
  }

  Open open_;
  std::optional<int64_t> times_;
  uint64_t first_pass_;
  int64_t done_ = 0;
  bool is_empty_ = true;
  ElementsPtr input_;
};

class ConcatenatedElements : public Elements {
 public:
  ConcatenatedElements(ElementsPtr first, ElementsPtr second)
      : first_(std::move(first)), second_(std::move(second)) {}

  std::optional<Batch> next() override {
    if (first_ != nullptr) {
      if (std::optional<Batch> element = first_->next()) return element;
      first_.reset();
    }
    return second_->next();
  }
  int64_t skip(int64_t count) override {
    int64_t skipped = first_ != nullptr ? first_->skip(count) : 0;
    if (skipped == count) return skipped;
    first_.reset();
    skipped += second_->skip(count - skipped);
    return skipped;
  }

 private:
  ElementsPtr first_, second_;
};

// Elements in memory, once a pass over them is complete.
struct Cache {
  std::mutex mutex;
  std::shared_ptr<const std::vector<Batch>> elements;
};

class CachedElements : public Elements {
 public:
  CachedElements(std::shared_ptr<Cache> cache, const Open &open) : cache_(std::move(cache)) {
    {
      const std::lock_guard<std::mutex> lock(cache_->mutex);
      elements_ = cache_->elements;
    }
    // Always the first pass. The kept elements must not depend on the first caller.
    if (elements_ == nullptr) input_ = open(0);
  }

  std::optional<Batch> next() override {
    if (elements_ != nullptr)
      return at_ < elements_->size() ? std::optional<Batch>((*elements_)[at_++]) : std::nullopt;
    std::optional<Batch> element = input_->next();
    if (element) seen_.push_back(*element);
    else keep();
    return element;
  }
  int64_t skip(int64_t count) override {
    if (elements_ == nullptr) return Elements::skip(count);
    const auto skipped = std::min(count, static_cast<int64_t>(elements_->size() - at_));
    at_ += static_cast<size_t>(skipped);
    return skipped;
  }

 private:
  void keep() {
    at_ = seen_.size();
    elements_ = std::make_shared<const std::vector<Batch>>(std::move(seen_));
    input_.reset();
    const std::lock_guard<std::mutex> lock(cache_->mutex);
    if (cache_->elements == nullptr) cache_->elements = elements_;
  }

  std::shared_ptr<Cache> cache_;
  std::shared_ptr<const std::vector<Batch>> elements_;
  size_t at_ = 0;
  ElementsPtr input_;
  std::vector<Batch> seen_;
};

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det

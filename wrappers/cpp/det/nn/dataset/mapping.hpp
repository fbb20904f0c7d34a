// Changes elements with a function, or makes them ahead.
#pragma once

#include <det/detail/ordered_workers.hpp>
#include <det/nn/dataset/elements.hpp>

namespace det {
inline namespace v1 {
namespace nn {

// The function that map() applies to an element.
using BatchFunction = std::function<Batch(Batch)>;

namespace detail {

class MappedElements : public Elements {
 public:
  // Without workers the consumer calls the function.
  MappedElements(ElementsPtr input, std::shared_ptr<const BatchFunction> function, size_t workers)
      : input_(std::move(input)), function_(std::move(function)), worker_count_(workers) {}

  std::optional<Batch> next() override {
    if (worker_count_ > 0) {
      // Twice the number: a slow batch does not stop the others at once.
      if (!workers_)
        workers_.emplace([this] { return take(); },
                         [this](const Numbered &one) { return map(one); }, worker_count_,
                         2 * worker_count_);
      return workers_->next();
    }
    const std::optional<Numbered> element = take();
    if (!element) return std::nullopt;
    return map(*element);
  }
  int64_t skip(int64_t count) override {
    if (workers_) return Elements::skip(count);
    const int64_t skipped = input_->skip(count);
    count_ += skipped;
    return skipped;
  }

 private:
  struct Numbered {
    int64_t number;
    Batch element;
  };

  std::optional<Numbered> take() {
    std::optional<Batch> element = input_->next();
    if (!element) return std::nullopt;
    return Numbered{count_++, std::move(*element)};
  }
  Batch map(const Numbered &one) const {
    Batch mapped = (*function_)(one.element);
    check_records(mapped, "mapping a dataset, element " + std::to_string(one.number));
    return mapped;
  }

  ElementsPtr input_;
  std::shared_ptr<const BatchFunction> function_;
  size_t worker_count_;
  int64_t count_ = 0;
  std::optional<det::detail::OrderedWorkers<Numbered, Batch>>
      workers_;  // the last member, because the threads use those above
};

class PrefetchedElements : public Elements {
 public:
  PrefetchedElements(ElementsPtr input, size_t room) : input_(std::move(input)), room_(room) {}

  std::optional<Batch> next() override {
    if (!worker_)
      worker_.emplace([this] { return input_->next(); }, [](Batch element) { return element; },
                      size_t{1}, room_);
    return worker_->next();
  }
  int64_t skip(int64_t count) override {
    return worker_ ? Elements::skip(count) : input_->skip(count);
  }

 private:
  ElementsPtr input_;
  size_t room_;
  std::optional<det::detail::OrderedWorkers<Batch, Batch>>
      worker_;  // the last member, because the thread uses those above
};

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det

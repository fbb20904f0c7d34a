// Goes through several datasets in turn.
#pragma once

#include <det/nn/dataset/elements.hpp>

namespace det {
inline namespace v1 {
namespace nn {
namespace detail {

// Gives some elements of each of several inner passes in turn. When the turn of a finished pass
// comes, the pass of the next element takes its place.
class InterleavedElements : public Elements {
 public:
  using OpenInner = std::function<ElementsPtr(const Batch &element)>;

  InterleavedElements(ElementsPtr input, OpenInner open, size_t cycle_length, int64_t block_length)
      : input_(std::move(input)),
        open_(std::move(open)),
        block_length_(block_length),
        inner_(cycle_length) {}

  std::optional<Batch> next() override {
    while (has_input_ || open_count_ > 0) {
      ElementsPtr &now = inner_[place_];
      if (!now && has_input_) {
        const std::optional<Batch> element = input_->next();
        has_input_ = element.has_value();
        if (!element) continue;
        now = open_(*element);
        ++open_count_;
      }
      if (now && given_ < block_length_) {
        if (std::optional<Batch> element = now->next()) {
          ++given_;
          return element;
        }
        now.reset();
        --open_count_;
      }
      given_ = 0;
      place_ = (place_ + 1) % inner_.size();
    }
    return std::nullopt;
  }

 private:
  const ElementsPtr input_;
  const OpenInner open_;
  const int64_t block_length_;
  std::vector<ElementsPtr> inner_;
  size_t place_ = 0, open_count_ = 0;
  int64_t given_ = 0;  // in this block
  bool has_input_ = true;
};

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det

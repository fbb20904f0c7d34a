#include "wrappers/nn/weights/weights.h"

#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/backend.h"

namespace det::nn {

namespace {

size_t aligned_bytes(const Weight &weight) {
  const size_t bytes = bytes_of({weight.options.shape, Dtype::f32});
  return (bytes + Weights::alignment - 1) / Weights::alignment * Weights::alignment;
}

// Throws Code::no_memory where so many cannot be counted.
void add_bytes(const Weight &weight, size_t &sum) {
  if (__builtin_add_overflow(sum, aligned_bytes(weight), &sum))
    throw Error(Code::no_memory, "making room for the weight '" + weight.name +
                                     "': the weights have more bytes than there can be");
}

Array room_for(size_t bytes, Backend *backend) {
  const ArrayType type{{static_cast<int64_t>(bytes / sizeof(float))}, Dtype::f32};
  return backend != nullptr ? backend->make_array(type) : Array(type);
}

}  // namespace

size_t Weights::find_or_add(const std::string &name, const WeightOptions &options) {
  if (const auto known = indices_.find(name); known != indices_.end()) {
    const Shape &shape = weights_[known->second].options.shape;
    if (shape != options.shape)
      throw Error(Code::invalid, "using the weight '" + name + "' with the shape " +
                                     text_of(options.shape) + ": it has been made with " +
                                     text_of(shape) +
                                     "; inputs may differ in their batch, not in their features");
    return known->second;
  }
  if (is_settled_)
    throw Error(Code::state,
                "adding the weight '" + name + "': the model has been built without it");
  weights_.push_back({name, options, {}, {}});
  indices_.emplace(name, weights_.size() - 1);
  return weights_.size() - 1;
}

Array Weights::beside(const Weight &weight, const Array &all) const {
  const auto *first = static_cast<const std::byte *>(trained_.raw());
  const auto offset = static_cast<const std::byte *>(weight.value.raw()) - first;
  return Array(weight.value.type(), all, static_cast<size_t>(offset));
}

void Weights::move_gradients(Array to) {
  gradients_ = std::move(to);
  for (Weight &weight : weights_)
    if (weight.options.is_trained) weight.gradient = beside(weight, gradients_);
}

void Weights::keep_others() {
  const auto values = others_.elements();
  kept_others_.assign(values.begin(), values.end());
}

void Weights::restore_others() {
  std::copy(kept_others_.begin(), kept_others_.end(), others_.data());
}

void Weights::settle(uint64_t seed, Backend *backend) {
  size_t trained = 0;
  size_t others = 0;
  for (const Weight &weight : weights_)
    add_bytes(weight, weight.options.is_trained ? trained : others);
  trained_ = room_for(trained, backend);
  gradients_ = room_for(trained, backend);
  others_ = room_for(others, backend);

  trained = others = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    Weight &weight = weights_[i];
    const ArrayType type{weight.options.shape, Dtype::f32};
    size_t &offset = weight.options.is_trained ? trained : others;
    weight.value = Array(type, weight.options.is_trained ? trained_ : others_, offset);
    if (weight.options.is_trained) weight.gradient = Array(type, gradients_, offset);
    offset += aligned_bytes(weight);
    RandomStream random(seed, i);
    weight.options.initializer->fill(weight.value.elements(), type.shape, random);
  }
  is_settled_ = true;
}

}  // namespace det::nn

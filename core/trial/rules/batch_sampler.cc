#include "core/trial/rules/batch_sampler.h"

#include <numeric>
#include <string>

#include "core/base/error.h"

namespace det::trial {

namespace {

void check(const SamplerOptions &options) {
  const auto refuse = [](const std::string &problem) {
    throw Error(Code::invalid, "making a sampler: " + problem);
  };
  if (options.shards < 1 || options.shard < 0 || options.shard >= options.shards)
    refuse("there is no shard " + std::to_string(options.shard) + " of " +
           std::to_string(options.shards));
  if (options.length < options.shards)
    refuse("an epoch of " + std::to_string(options.length) + " batches is too short for " +
           std::to_string(options.shards) + " shards; each needs a batch");
  int64_t passed = 0;
  if (options.skip < 0 || __builtin_mul_overflow(options.skip, options.shards, &passed) ||
      passed > INT64_MAX - options.shards)
    refuse("cannot skip " + std::to_string(options.skip) + " batches");
}

}  // namespace

Sampler::Sampler(const SamplerOptions &options)
    : length_((check(options), options.length)),
      shards_(options.shards),
      random_(options.seed),
      position_(options.shard + options.skip * options.shards) {
  if (options.shuffle) {
    order_.resize(static_cast<size_t>(length_));
    std::iota(order_.begin(), order_.end(), 0);
    random_.shuffle(order_);
    while (position_ >= length_) begin_epoch();
  }
  position_ %= length_;
}

void Sampler::begin_epoch() {
  position_ -= length_;
  random_.shuffle(order_);
}

std::optional<int64_t> Sampler::next() {
  if (position_ >= length_) {
    begin_epoch();
    return std::nullopt;
  }
  const int64_t index = order_.empty() ? position_ : order_[static_cast<size_t>(position_)];
  position_ += shards_;
  return index;
}

}  // namespace det::trial

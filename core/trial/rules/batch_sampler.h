// Which batches of a data set a rank trains on, epoch after epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/search/random.h"

namespace det::trial {

struct SamplerOptions {
  int64_t length = 0;  // batches of an epoch, of all shards together
  int64_t shard = 0;
  int64_t shards = 1;
  bool shuffle = false;
  uint32_t seed = 0;  // the same for all shards
  int64_t skip = 0;   // batches that this shard has had
};

// All epochs are one stream of batch indices, each epoch shuffled from the order of the one before.
// A shard takes every `shards`th of them, from its own number on, whatever the length of an epoch.
class Sampler {
 public:
  // Throws Code::invalid unless each shard has a batch in every epoch.
  explicit Sampler(const SamplerOptions &options);

  // Nothing at the end of an epoch; the next one follows.
  std::optional<int64_t> next();

 private:
  void begin_epoch();

  const int64_t length_;
  const int64_t shards_;
  search::RandomState random_;
  std::vector<int64_t> order_;  // empty: ascending
  int64_t position_;            // in the epoch
};

}  // namespace det::trial

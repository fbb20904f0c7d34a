// One rank's share of a cached data set, epoch after epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/trial/cache/cache.h"

namespace det::trial {

struct CacheReaderOptions {
  int64_t shard = 0;
  int64_t shards = 1;
  int64_t offset = 0;           // records of this shard that are passed over, over epochs
  bool shuffle = false;         // each epoch from the order in which the records are stored
  bool reshuffle = true;        // epoch e by seed + e; else always by seed
  bool drop_remainder = false;  // all shards have as many records
  uint32_t seed = 0;
};

// Of one thread at a time.
class CacheReader {
 public:
  // Throws Code::invalid unless each shard has a record.
  CacheReader(std::shared_ptr<const Cache> cache, const CacheReaderOptions &options);

  // Records of an epoch.
  int64_t length() const { return length_; }

  // The next records, one after the other: as many as fit, and as `sizes` has room for. 0 at the
  // end of an epoch; the next one follows. Throws Code::invalid where not even one fits.
  size_t next(std::span<char> buffer, std::span<size_t> sizes);

 private:
  size_t stored(int64_t position) const;  // without a shuffle
  size_t record(int64_t position) const;
  std::vector<uint64_t> shuffled(int64_t epoch) const;

  const std::shared_ptr<const Cache> cache_;
  const CacheReaderOptions options_;
  const int64_t length_;
  int64_t epoch_;
  int64_t position_;
  std::vector<uint64_t> order_;  // empty: as they are stored
};

}  // namespace det::trial

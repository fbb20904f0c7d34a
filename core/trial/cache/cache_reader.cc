#include "core/trial/cache/cache_reader.h"

#include <string>

#include "core/base/error.h"
#include "core/search/random.h"

namespace det::trial {

namespace {

int64_t length_of(int64_t records, const CacheReaderOptions &options) {
  const auto refuse = [](const std::string &problem) {
    throw Error(Code::invalid, "reading a cached data set: " + problem);
  };
  if (options.shards < 1 || options.shard < 0 || options.shard >= options.shards)
    refuse("there is no shard " + std::to_string(options.shard) + " of " +
           std::to_string(options.shards));
  if (records < options.shards)
    refuse("it has " + std::to_string(records) + " records, and each of " +
           std::to_string(options.shards) + " shards needs one");
  if (options.offset < 0) refuse("cannot pass over " + std::to_string(options.offset) + " records");
  const bool has_one_more = !options.drop_remainder && options.shard < records % options.shards;
  return records / options.shards + (has_one_more ? 1 : 0);
}

}  // namespace

CacheReader::CacheReader(std::shared_ptr<const Cache> cache, const CacheReaderOptions &options)
    : cache_(std::move(cache)),
      options_(options),
      length_(length_of(static_cast<int64_t>(cache_->index().count()), options)),
      epoch_(options.offset / length_),
      position_(options.offset % length_) {
  if (options_.shuffle) order_ = shuffled(epoch_);
}

size_t CacheReader::stored(int64_t position) const {
  return static_cast<size_t>(options_.shard + position * options_.shards);
}

size_t CacheReader::record(int64_t position) const {
  return order_.empty() ? stored(position) : order_[static_cast<size_t>(position)];
}

std::vector<uint64_t> CacheReader::shuffled(int64_t epoch) const {
  std::vector<uint64_t> order(static_cast<size_t>(length_));
  for (size_t i = 0; i < order.size(); ++i) order[i] = stored(static_cast<int64_t>(i));
  // Seeds have 32 bits, here and in NumPy.
  const auto more = options_.reshuffle ? static_cast<uint32_t>(epoch) : 0;
  search::RandomState(options_.seed + more).shuffle(order);
  return order;
}

size_t CacheReader::next(std::span<char> buffer, std::span<size_t> sizes) {
  if (position_ == length_) {
    if (options_.shuffle && options_.reshuffle) order_ = shuffled(epoch_ + 1);
    ++epoch_;
    position_ = 0;
    return 0;
  }
  const CacheIndex &index = cache_->index();
  size_t count = 0, used = 0;
  while (count < sizes.size() && position_ + static_cast<int64_t>(count) < length_) {
    const size_t first = record(position_ + static_cast<int64_t>(count));
    if (index.size(first) > buffer.size() - used) break;
    // What is stored one after the other is read at once.
    const size_t begin = used;
    size_t last = first;
    for (;; ++last) {
      sizes[count++] = index.size(last);
      used += index.size(last);
      const int64_t position = position_ + static_cast<int64_t>(count);
      if (count == sizes.size() || position == length_ || record(position) != last + 1 ||
          index.size(last + 1) > buffer.size() - used)
        break;
    }
    cache_->read(first, last, buffer.data() + begin);
  }
  if (count == 0)
    throw Error(Code::invalid, "reading a cached data set: a buffer of " +
                                   std::to_string(buffer.size()) + " bytes for " +
                                   std::to_string(sizes.size()) + " records is too small; the " +
                                   "largest record has " + std::to_string(cache_->largest()));
  position_ += static_cast<int64_t>(count);
  return count;
}

}  // namespace det::trial

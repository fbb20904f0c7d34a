// Keeps data sets in files: one process makes them, and all others read them. See
// det/trial_cache.h.
#pragma once

#include <det/trial_cache.h>
#include <det/base.hpp>
#include <det/detail/handle.hpp>
#include <det/error.hpp>
#include <det/storage.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace det {
inline namespace v1 {

// See det_trial_cache_reader_options.
struct DatasetReaderOptions {
  int64_t shard = 0;
  int64_t shards = 1;
  int64_t offset = 0;
  bool shuffle = false;
  bool same_order = false;
  bool drop_remainder = false;
  uint32_t seed = 0;

  [[nodiscard]] det_trial_cache_reader_options capi() const noexcept {
    det_trial_cache_reader_options options = DET_TRIAL_CACHE_READER_OPTIONS_INIT;
    options.shard = shard;
    options.shards = shards;
    options.offset = offset;
    options.shuffle = shuffle ? 1 : 0;
    options.same_order = same_order ? 1 : 0;
    options.drop_remainder = drop_remainder ? 1 : 0;
    options.seed = seed;
    return options;
  }
};

// One shard, epoch after epoch. Use it on one thread at a time.
class DatasetReader {
 public:
  DatasetReader() noexcept = default;
  explicit DatasetReader(det_trial_cache_reader *owned) noexcept : reader_(owned) {}

  [[nodiscard]] int64_t length() const noexcept {
    return det_trial_cache_reader_length(reader_.get());
  }

  // Reads the next records, until `buffer` or `sizes` is full. Returns their number, which is 0 at
  // the end of an epoch.
  [[nodiscard]] size_t next(void *buffer, size_t capacity, std::vector<size_t> &sizes,
                            OnFailure on = {}) const {
    size_t count = 0;
    detail::call(on, det_trial_cache_reader_next, reader_.get(), buffer, capacity, sizes.data(),
                 sizes.size(), &count);
    return count;
  }

  [[nodiscard]] det_trial_cache_reader *capi() const noexcept { return reader_.get(); }

 private:
  detail::Handle<det_trial_cache_reader, det_trial_cache_reader_free> reader_;
};

// Use it on one thread at a time. Without a commit its destructor deletes the records.
class DatasetWriter {
 public:
  DatasetWriter() noexcept = default;
  explicit DatasetWriter(det_trial_cache_writer *owned) noexcept : writer_(owned) {}

  void add(const std::string &record, OnFailure on = {}) const {
    const size_t size = record.size();
    detail::call(on, det_trial_cache_writer_add, writer_.get(), record.data(), &size, size_t{1});
  }
  // Adds several records, one after the other.
  void add(const void *records, const std::vector<size_t> &sizes, OnFailure on = {}) const {
    detail::call(on, det_trial_cache_writer_add, writer_.get(), records, sizes.data(),
                 sizes.size());
  }
  void commit(Text metadata = {}, OnFailure on = {}) const {
    detail::call(on, det_trial_cache_writer_commit, writer_.get(), metadata.c_str());
  }

  [[nodiscard]] det_trial_cache_writer *capi() const noexcept { return writer_.get(); }

 private:
  detail::Handle<det_trial_cache_writer, det_trial_cache_writer_free> writer_;
};

// A complete data set.
class CachedDataset {
 public:
  CachedDataset() noexcept = default;
  explicit CachedDataset(det_trial_cache *owned) noexcept : cache_(owned) {}

  [[nodiscard]] int64_t count() const noexcept { return det_trial_cache_count(cache_.get()); }
  [[nodiscard]] size_t largest() const noexcept { return det_trial_cache_largest(cache_.get()); }
  [[nodiscard]] const char *metadata() const noexcept {
    return det_trial_cache_metadata(cache_.get());
  }
  [[nodiscard]] DatasetReader reader(const DatasetReaderOptions &options = {},
                                     OnFailure on = {}) const {
    const det_trial_cache_reader_options given = options.capi();
    det_trial_cache_reader *made = nullptr;
    detail::call(on, det_trial_cache_reader_create, cache_.get(), &given, &made);
    return DatasetReader(made);
  }

  [[nodiscard]] det_trial_cache *capi() const noexcept { return cache_.get(); }

 private:
  detail::Handle<det_trial_cache, det_trial_cache_free> cache_;
};

// One of the two: a complete data set, or its writer.
struct OpenedDataset {
  CachedDataset dataset;
  DatasetWriter writer;

  [[nodiscard]] bool is_complete() const noexcept { return dataset.capi() != nullptr; }
};

// Waits while another process writes it, by default without limit.
[[nodiscard]] inline OpenedDataset open_dataset(Text directory, Text id, Text version,
                                                Timeout timeout = {}, OnFailure on = {}) {
  det_trial_cache *cache = nullptr;
  det_trial_cache_writer *writer = nullptr;
  detail::call(on, det_trial_cache_open, directory.c_str(), id.c_str(), version.c_str(),
               timeout.capi(), &cache, &writer);
  return {CachedDataset(cache), DatasetWriter(writer)};
}

// In a bucket. `directory` has the copies of this machine.
[[nodiscard]] inline OpenedDataset open_dataset(const Storage &bucket, Text directory, Text id,
                                                Text version, Timeout timeout = {},
                                                OnFailure on = {}) {
  det_trial_cache *cache = nullptr;
  det_trial_cache_writer *writer = nullptr;
  detail::call(on, det_trial_cache_open_bucket, bucket.capi(), directory.c_str(), id.c_str(),
               version.c_str(), timeout.capi(), &cache, &writer);
  return {CachedDataset(cache), DatasetWriter(writer)};
}

}  // namespace v1
}  // namespace det

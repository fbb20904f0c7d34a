#include <det/trial_cache.h>

#include <algorithm>
#include <span>

#include "capi/guard.h"
#include "capi/storage_handle.h"
#include "core/trial/cache/cache.h"
#include "core/trial/cache/cache_reader.h"

struct det_trial_cache {
  std::shared_ptr<const det::trial::Cache> impl;
};

struct det_trial_cache_writer {
  std::unique_ptr<det::trial::CacheWriter> impl;
};

struct det_trial_cache_reader {
  det::trial::CacheReader impl;
};

namespace {

det::trial::CacheReaderOptions cache_reader_options_from(
    const det_trial_cache_reader_options *given) {
  const auto options = read_options<det_trial_cache_reader_options>(
      given, DET_TRIAL_CACHE_READER_OPTIONS_INIT, "options");
  det::trial::CacheReaderOptions result;
  result.shard = options.shard;
  result.shards = options.shards == 0 ? 1 : options.shards;
  result.offset = options.offset;
  result.shuffle = options.shuffle != 0;
  result.reshuffle = options.same_order == 0;
  result.drop_remainder = options.drop_remainder != 0;
  result.seed = options.seed;
  return result;
}

// `open` is given the limit.
template <class Open>
void give_opened(det_timeout timeout_ms, det_trial_cache **out_cache,
                 det_trial_cache_writer **out_writer, const Open &open) {
  clear(out_cache, out_writer);
  det_trial_cache *&cache = deref(out_cache, "out_cache");
  det_trial_cache_writer *&writer = deref(out_writer, "out_writer");
  auto made_cache = std::make_unique<det_trial_cache>();
  auto made_writer = std::make_unique<det_trial_cache_writer>();
  const det_timeout wait = timeout_ms == DET_TIMEOUT_DEFAULT ? DET_TIMEOUT_INFINITE : timeout_ms;
  det::trial::OpenedCache opened = open(limit_from(wait, {}, "timeout_ms"));
  if (opened.cache) {
    made_cache->impl = std::move(opened.cache);
    cache = made_cache.release();
  } else {
    made_writer->impl = std::move(opened.writer);
    writer = made_writer.release();
  }
}

det::trial::CacheIdentity cache_identity(const char *id, const char *version) {
  return {text(id, "id"), text(version, "version")};
}

}  // namespace

det_status det_trial_cache_open(const char *directory, const char *id, const char *version,
                                det_timeout timeout_ms, det_trial_cache **out_cache,
                                det_trial_cache_writer **out_writer, det_error *err) noexcept {
  return guarded(err, [&] {
    give_opened(timeout_ms, out_cache, out_writer, [&](const auto &limit) {
      return det::trial::open_cache(text(directory, "directory"), cache_identity(id, version),
                                    limit);
    });
  });
}

det_status det_trial_cache_open_bucket(det_storage *bucket, const char *directory, const char *id,
                                       const char *version, det_timeout timeout_ms,
                                       det_trial_cache **out_cache,
                                       det_trial_cache_writer **out_writer,
                                       det_error *err) noexcept {
  return guarded(err, [&] {
    give_opened(timeout_ms, out_cache, out_writer, [&](const auto &limit) {
      return det::trial::open_cache(deref(bucket, "bucket").impl, text(directory, "directory"),
                                    cache_identity(id, version), limit);
    });
  });
}

det_status det_trial_cache_writer_add(det_trial_cache_writer *writer, const void *records,
                                      const size_t *sizes, size_t count, det_error *err) noexcept {
  return guarded(err, [&] {
    det::trial::CacheWriter &impl = *deref(writer, "writer").impl;
    if (counted(count, "count") == 0) return;
    const std::span given(&deref(sizes, "sizes"), count);
    const auto *at = static_cast<const char *>(records);
    if (at == nullptr && std::any_of(given.begin(), given.end(), [](size_t n) { return n > 0; }))
      throw det::Error(det::Code::invalid, "records must not be NULL");
    for (const size_t size : given) counted(size, "the size of a record");
    for (const size_t size : given) {
      impl.add({at, size});
      if (size > 0) at += size;
    }
  });
}

det_status det_trial_cache_writer_commit(det_trial_cache_writer *writer, const char *metadata,
                                         det_error *err) noexcept {
  return guarded(err, [&] { deref(writer, "writer").impl->commit(text_or_empty(metadata)); });
}

void det_trial_cache_writer_free(det_trial_cache_writer *writer) noexcept { delete writer; }

int64_t det_trial_cache_count(const det_trial_cache *cache) noexcept {
  return cache != nullptr ? static_cast<int64_t>(cache->impl->index().count()) : 0;
}

size_t det_trial_cache_largest(const det_trial_cache *cache) noexcept {
  return cache != nullptr ? cache->impl->largest() : 0;
}

const char *det_trial_cache_metadata(const det_trial_cache *cache) noexcept {
  return cache != nullptr ? cache->impl->metadata().c_str() : "";
}

void det_trial_cache_free(det_trial_cache *cache) noexcept { delete cache; }

det_status det_trial_cache_reader_create(const det_trial_cache *cache,
                                         const det_trial_cache_reader_options *options,
                                         det_trial_cache_reader **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      return new det_trial_cache_reader{
          {deref(cache, "cache").impl, cache_reader_options_from(options)}};
    });
  });
}

int64_t det_trial_cache_reader_length(const det_trial_cache_reader *reader) noexcept {
  return reader != nullptr ? reader->impl.length() : 0;
}

det_status det_trial_cache_reader_next(det_trial_cache_reader *reader, void *buffer,
                                       size_t capacity, size_t *sizes, size_t most,
                                       size_t *out_count, det_error *err) noexcept {
  return answered(err, [&] {
    size_t &count = deref(out_count, "out_count") = 0;
    if ((buffer == nullptr && capacity > 0) || (sizes == nullptr && most > 0))
      throw det::Error(det::Code::invalid, "buffer and sizes must not be NULL");
    count =
        deref(reader, "reader").impl.next({static_cast<char *>(buffer), capacity}, {sizes, most});
    return count > 0 ? DET_OK : DET_DONE;
  });
}

void det_trial_cache_reader_free(det_trial_cache_reader *reader) noexcept { delete reader; }

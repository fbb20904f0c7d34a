#include "core/trial/cache_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/base/crc32c.h"
#include "core/base/error.h"

namespace det::trial {

namespace {

constexpr size_t buffer_size = size_t{1} << 20U;

}  // namespace

// Whoever has the lock is the only one. What a writer that was killed has left may be of another
// user, and goes.
CacheWriter::CacheWriter(CacheLock lock, const std::filesystem::path &directory,
                         CacheIdentity identity, std::unique_ptr<CacheBucket> bucket)
    : lock_(std::move(lock)),
      bucket_(std::move(bucket)),
      path_(directory / cache_file_name),
      aside_(cache_path_aside(directory)),
      identity_(std::move(identity)),
      file_((unlink(aside_.c_str()), open_file(aside_, O_WRONLY | O_CREAT | O_EXCL))) {
  buffer_.reserve(buffer_size);
  buffer_ = cache_mark();
}

CacheWriter::~CacheWriter() {
  if (state_ != State::done) unlink(aside_.c_str());
}

void CacheWriter::begin() {
  if (state_ != State::open)
    throw Error(Code::state, "writing the cached data set '" + path_.string() + "': " +
                                 (state_ == State::done ? "it is complete already"
                                                        : "it failed before; free its writer"));
  state_ = State::failed;
}

void CacheWriter::add(std::string_view record) {
  begin();
  const uint64_t start = index_.count() == 0 ? CacheIndex::begin : index_.ends.back();
  index_.ends.push_back(start + record.size());
  index_.checksums.push_back(crc32c(record));
  if (buffer_.size() + record.size() > buffer_size) flush();
  if (record.size() >= buffer_size) write_all(file_.get(), record, aside_.string());
  else buffer_ += record;
  state_ = State::open;
}

void CacheWriter::flush() {
  write_all(file_.get(), buffer_, aside_.string());
  buffer_.clear();
}

void CacheWriter::commit(const std::string &metadata) {
  begin();
  flush();
  write_all(file_.get(), cache_tail(index_, identity_, metadata), aside_.string());
  if (fsync(file_.get()) != 0) OsFailure{errno}.raise("syncing '" + aside_.string() + "'");
  if (bucket_ && !bucket_->put(aside_)) {
    unlink(aside_.c_str());  // open_cache() brings the other one
    state_ = State::done;
    return;
  }
  if (rename(aside_.c_str(), path_.c_str()) != 0)
    OsFailure{errno}.raise("renaming to '" + path_.string() + "'");
  state_ = State::done;
  sync_directory(path_.parent_path());
}

}  // namespace det::trial

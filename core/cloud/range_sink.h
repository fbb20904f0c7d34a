// Where the bytes of an object go that are written into a file as they come.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/http/message.h"
#include "core/storage/file_transfer.h"

namespace det::cloud {

// Writes a range in place. The client may hold it a moment longer than the transfer that was
// stopped: it has all that it uses.
class RangeSink : public http::BodySink {
 public:
  RangeSink(std::shared_ptr<const Fd> file, std::string described, uint64_t begin, uint64_t size,
            std::shared_ptr<std::atomic<uint64_t>> moved, bool sums, bool is_sparse = false)
      : file_(std::move(file)),
        described_(std::move(described)),
        begin_(begin),
        size_(size),
        moved_(std::move(moved)),
        sums_(sums),
        is_sparse_(is_sparse) {}

  void begin() override {}
  void write(const char *bytes, size_t count) override {
    const size_t wanted = std::min<uint64_t>(count, size_ - std::min(done_, size_));
    (is_sparse_ ? storage::write_sparsely_at : storage::write_all_at)(file_->get(), {bytes, wanted},
                                                                      begin_ + done_, described_);
    if (sums_) sum_.add(bytes, wanted);
    *moved_ += wanted;
    done_ += count;
  }

  uint64_t done() const { return done_; }
  uint64_t checksum() const { return sum_.value(); }

 private:
  const std::shared_ptr<const Fd> file_;
  const std::string described_;
  const uint64_t begin_, size_;
  const std::shared_ptr<std::atomic<uint64_t>> moved_;
  const bool sums_, is_sparse_;
  Checksum sum_;
  uint64_t done_ = 0;
};

}  // namespace det::cloud

// Files into objects and back: several at once, large ones in parts or by ranges written in place.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/cloud/object_store.h"
#include "core/http/message.h"
#include "core/storage/file_transfer.h"
#include "core/storage/progress.h"
#include "core/storage/tree.h"

namespace det::cloud {

// How a file is cut into parts: of equal size but for the last, so that an upload that was cut
// short is continued by the same parts.
struct PartPlan {
  static constexpr uint64_t usual = uint64_t{16} << 20;  // bytes of a part

  PartPlan(uint64_t size, const ObjectLimits &limits) : size(size) {
    const uint64_t parts = static_cast<uint64_t>(limits.parts_max);
    const uint64_t least = std::min(std::max(usual, limits.part_min), limits.put_max);
    part = std::min(std::max(least, (size / parts / step + 1) * step), limits.put_max);
    count = size <= 2 * least ? 1 : static_cast<int>((size - 1) / part + 1);
    if (count == 1) part = size;
  }

  // Of part `number`, from 1.
  uint64_t begin_of(int number) const { return static_cast<uint64_t>(number - 1) * part; }
  uint64_t size_of(int number) const { return std::min(part, size - begin_of(number)); }

  uint64_t size;
  uint64_t part;  // bytes
  int count;      // 1: it goes as a whole

 private:
  static constexpr uint64_t step = uint64_t{1} << 20;
};

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

// The manifest's checksum of a file whose parts are sent or fetched in about their order: what is
// read for it is in the page cache then.
class RunningChecksum {
 public:
  // `described` names the file in errors. `part`: bytes of one whose CRC-32C is wanted too; 0: of
  // none.
  RunningChecksum(std::shared_ptr<const Fd> file, uint64_t size, std::string described,
                  uint64_t part = 0);

  // Reads on until `end`, if it has not come so far; from any thread.
  void advance(uint64_t end);
  uint64_t value();  // reads the rest
  // Of the part that begins there; nothing where that was not wanted, or not read yet.
  std::optional<uint32_t> crc32c_of(uint64_t begin);

 private:
  const std::shared_ptr<const Fd> file_;
  const uint64_t size_;
  const std::string described_;
  const uint64_t part_;
  std::mutex mutex_;
  uint64_t at_ = 0;
  Checksum block_;
  std::vector<uint64_t> blocks_;
  uint32_t crc32c_ = 0;
  std::vector<uint32_t> parts_;
};

struct FileToUpload {
  std::string path;  // below the tree
  std::string key;
  uint64_t size = 0;  // as it was listed, for the progress
};

// Uploads in parts that are begun and not completed; from any thread.
class OpenUploads {
 public:
  void add(const std::string &key, const std::string &upload) {
    const std::lock_guard lock(mutex_);
    by_key_[key] = upload;
  }
  void remove(const std::string &key) {
    const std::lock_guard lock(mutex_);
    by_key_.erase(key);
  }
  std::map<std::string, std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(by_key_, {});
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> by_key_;
};

struct UploadOptions {
  size_t requests = 64;   // at a time, at most
  bool confined = false;  // no link may lead out of the tree
  // Objects that stand already, by key, of an upload that is continued: such a file is not sent
  // again where its object has its bytes, and parts that stand are left alone.
  const std::map<std::string, ObjectInfo> *standing = nullptr;
  // What is known of files that nobody has changed since.
  const storage::HashedFiles *known = nullptr;
  OpenUploads *open = nullptr;  // where those are kept that a failure leaves
};

// Throws Code::conflict for a file that changes meanwhile. After a throw some may be there, and
// parts of others. Told to `progress`, which may be null.
storage::HashedFiles upload_files(ObjectStore &store, const storage::Tree &source,
                                  const std::vector<FileToUpload> &files,
                                  const UploadOptions &options, storage::Progress *progress);

struct Piece {
  std::string key;
  uint64_t size = 0;  // of the object
};

struct FileToFetch {
  std::string path;  // below the target; what it lies in is there
  std::string key;
  uint64_t size = 0;
  std::optional<uint64_t> checksum{};  // that it must have
  std::string version{};               // that the object must have; empty: any
  std::vector<Piece> pieces{};         // objects that it is made of; empty: it is one
  std::optional<storage::FileAttributes> attributes{};  // that it gets

  bool is_sparse() const { return attributes && attributes->is_sparse; }
};

// Throws Code::corrupt, naming it, for an object that is not there, or has another size or
// checksum. A file is made anew; what failed half way is removed.
void fetch_files(ObjectStore &store, const std::vector<FileToFetch> &files,
                 const storage::Tree &target, size_t requests, storage::Progress *progress);

}  // namespace det::cloud

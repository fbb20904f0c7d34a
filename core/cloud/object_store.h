// What S3, GCS and Azure do: objects under keys, whole or in parts. One implementation for each,
// and nothing here that only one of them has.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cloud/byte_range.h"
#include "core/http/message.h"

namespace det::cloud {

class RequestScope;

struct ObjectInfo {
  std::string key;
  uint64_t size = 0;
  std::string version;      // of the content: an ETag or a generation
  int64_t modified_ms = 0;  // since 1970 (UTC), by the clock of the store
  // Of the whole content, as checksum_of() writes it; empty: the store does not say, or list() was
  // asked.
  std::string checksum{};
};

// What a store said of a part that it has.
struct StoredPart {
  int number = 0;  // from 1
  uint64_t size = 0;
  std::string version;   // names it when the parts are put together
  std::string checksum;  // as checksum_of() writes it; empty: the store does not say
};

// An object that was begun in parts and not completed.
struct PendingUpload {
  std::string key;
  std::string upload;  // what begin_parts() gave
  int64_t begun_ms = 0;
};

struct ObjectLimits {
  uint64_t put_max = uint64_t{5} << 30;   // bytes of put(), and of a part
  uint64_t part_min = uint64_t{5} << 20;  // but of the last
  int parts_max = 10'000;
  size_t key_max = 1024;  // bytes
};

// Every call blocks, is safe from any thread, and tries again what may pass (throttling, a lost
// connection, a damaged body) until it gives up with an Error that says what was tried, on what,
// how often, and what the store said: Code::not_found, access, unavailable, busy, timeout,
// conflict, corrupt, or invalid. Keys are taken as bytes of UTF-8 and must be checked by who makes
// them.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // The same store for the calls of one transfer, which `scope` ends, limits and counts. It must
  // outlive them.
  virtual std::shared_ptr<ObjectStore> within(RequestScope &scope) = 0;

  virtual const ObjectLimits &limits() const = 0;
  // For messages: "s3://bucket/key". No credentials.
  virtual std::string name_of(const std::string &key) const = 0;
  // Whether objects whose key ends in '/' may be stored beside those below them.
  virtual bool keeps_directories() { return true; }

  // The store verifies the bytes by a checksum. Replaces what has the key; where `only_new`, that
  // is Code::conflict instead.
  virtual void put(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
                   bool only_new = false) = 0;

  // Gives the body into `sink`, from `offset` on, at most `size` bytes; Code::conflict where the
  // object is no longer that `version` (unless empty). After a failure in between it goes on where
  // it was: the sink is begun once.
  virtual void get(const std::string &key, uint64_t offset, uint64_t size,
                   const std::string &version, const std::shared_ptr<http::BodySink> &sink) = 0;

  virtual std::optional<ObjectInfo> find(const std::string &key) = 0;  // nothing: not there

  // In the order of the keys, as bytes, page by page.
  virtual void list(const std::string &prefix,
                    const std::function<void(const ObjectInfo &)> &each) = 0;

  // Each is gone, or it throws and names the first that is not. Absent is fine.
  virtual void remove(const std::vector<std::string> &keys) = 0;

  // Within this store, without the bytes coming here. False: it cannot (read and put instead).
  virtual bool copy(const std::string &from, const std::string &to) = 0;

  // An object in parts of equal size but for the last. It is there once complete_parts() returned,
  // which is given all parts, and never before.
  virtual std::string begin_parts(const std::string &key) = 0;
  virtual StoredPart put_part(const std::string &key, const std::string &upload, int number,
                              const std::shared_ptr<ByteRange> &bytes) = 0;
  virtual std::vector<StoredPart> list_parts(const std::string &key, const std::string &upload) = 0;
  virtual void complete_parts(const std::string &key, const std::string &upload,
                              const std::vector<StoredPart> &parts) = 0;
  virtual void abort_parts(const std::string &key, const std::string &upload) = 0;
  // Those that could be continued or aborted; empty where the store drops them by itself.
  virtual std::vector<PendingUpload> list_uploads(const std::string &prefix) = 0;

  // What checksum a part, or an object, with these bytes would be listed with; empty: this store
  // lists none.
  virtual std::string checksum_of(ByteRange &bytes) = 0;
  // Whether put() and put_part() want ByteRange::crc32c.
  virtual bool sends_crc32c() const { return false; }
};

}  // namespace det::cloud

// Objects in a bucket of S3, or of a store that speaks its protocol.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/cloud/object_store.h"
#include "core/cloud/requests.h"
#include "core/cloud/s3/s3_dialect.h"
#include "core/cloud/s3/s3_options.h"
#include "core/cloud/s3/s3_request.h"

namespace det::cloud {

class S3Bucket : public ObjectStore {
 public:
  S3Bucket(const S3Options &options, std::shared_ptr<CredentialChain> credentials,
           std::shared_ptr<Logger> logger, RequestPolicy policy);

  const ObjectLimits &limits() const override { return limits_; }
  std::string name_of(const std::string &key) const override;
  bool keeps_directories() override { return !is_minio(); }

  void put(const std::string &key, const std::shared_ptr<ByteRange> &bytes, bool only_new) override;
  void get(const std::string &key, uint64_t offset, uint64_t size, const std::string &version,
           const std::shared_ptr<http::BodySink> &sink) override;
  std::optional<ObjectInfo> find(const std::string &key) override;
  void list(const std::string &prefix,
            const std::function<void(const ObjectInfo &)> &each) override;
  void remove(const std::vector<std::string> &keys) override;
  bool copy(const std::string &from, const std::string &to) override;

  std::string begin_parts(const std::string &key) override;
  StoredPart put_part(const std::string &key, const std::string &upload, int number,
                      const std::shared_ptr<ByteRange> &bytes) override;
  std::vector<StoredPart> list_parts(const std::string &key, const std::string &upload) override;
  void complete_parts(const std::string &key, const std::string &upload,
                      const std::vector<StoredPart> &parts) override;
  void abort_parts(const std::string &key, const std::string &upload) override;
  std::vector<PendingUpload> list_uploads(const std::string &prefix) override;

  std::string checksum_of(ByteRange &bytes) override;
  bool sends_crc32c() const override { return options_.checksum == S3Options::Checksum::crc32c; }

 private:
  struct Found {
    ObjectInfo info;
    std::string checksum;         // empty: the store does not say
    std::optional<int64_t> date;  // of the answer, by the store's clock
  };

  // Of one object. Throws Code::invalid for a key that no object can have: one that is empty would
  // be a request to the bucket, such as to remove it.
  http::HttpRequest object_request(const std::string &method, const std::string &key,
                                   const S3Query &query = {}) const;
  // Tries `request`, whose answer `read` takes apart; it throws Code::corrupt for a damaged one. An
  // error in an answer of success is a refusal.
  http::HttpAnswer ask(const std::string &tried, http::HttpRequest request,
                       const std::function<void(const std::string &body)> &read,
                       bool takes_long = false);
  std::optional<Found> look(const std::string &key, bool with_checksum = false);
  void say_why(const std::string &key, const std::string &tried);
  bool is_there(const std::string &key, uint64_t size, const std::string &checksum);
  std::string unchanged_version(const std::string &key,
                                std::chrono::steady_clock::time_point since);
  // Gives their checksum.
  std::string add_bytes(Call &call, const std::shared_ptr<ByteRange> &bytes) const;
  void add_kind(http::HttpRequest &request) const;  // how a new object is kept
  void add_source(http::HttpRequest &request, const ObjectInfo &from) const;
  void remove_one(const std::string &key);
  void remove_page(const std::vector<std::string> &keys);
  StoredPart copy_part(const ObjectInfo &from, const std::string &to, const std::string &upload,
                       int number, uint64_t offset, uint64_t size);
  void copy_in_parts(const ObjectInfo &from, const std::string &to);
  bool is_minio();
  bool says_minio() const;

  const S3Options options_;
  const ObjectLimits limits_{};
  const std::shared_ptr<Logger> logger_;
  const std::shared_ptr<S3Dialect> dialect_;
  Requests requests_;
  std::once_flag probed_;
  bool is_minio_ = false;
};

}  // namespace det::cloud

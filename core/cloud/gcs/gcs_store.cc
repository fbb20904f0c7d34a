#include "core/cloud/gcs/gcs_store.h"

#include <charconv>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/cloud/checksum.h"
#include "core/cloud/gcs/gcs_config.h"
#include "core/cloud/gcs/gcs_dialect.h"
#include "core/cloud/gcs/gcs_objects.h"
#include "core/cloud/gcs/gcs_parts.h"
#include "core/cloud/gcs/google_credentials.h"

namespace det::cloud {

namespace {

constexpr const char *read_write_scope = "https://www.googleapis.com/auth/devstorage.read_write";

ObjectInfo info_of(const GcsObject &object) {
  return {object.key, object.size, std::to_string(object.generation), object.updated_ms,
          crc32c_text(object.crc32c)};
}

uint64_t generation_of(const std::string &version) {
  if (version.empty()) return 0;
  uint64_t generation = 0;
  const char *end = version.data() + version.size();
  const auto result = std::from_chars(version.data(), end, generation);
  if (result.ec != std::errc{} || result.ptr != end || generation == 0)
    throw Error(Code::invalid, "reading version '" + version + "': versions are numbers here");
  return generation;
}

class GcsStore : public ObjectStore {
 public:
  GcsStore(std::shared_ptr<GcsObjects> objects, const std::string &prefix,
           std::shared_ptr<Logger> logger)
      : objects_(objects), parts_(std::move(objects), prefix, std::move(logger)) {}

  const ObjectLimits &limits() const override { return limits_; }
  std::string name_of(const std::string &key) const override { return objects_->name_of(key); }

  void put(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
           bool only_new) override {
    objects_->upload(key, bytes, {}, only_new);
  }

  void get(const std::string &key, uint64_t offset, uint64_t size, const std::string &version,
           const std::shared_ptr<http::BodySink> &sink) override {
    objects_->download(key, offset, size, generation_of(version), sink);
  }

  std::optional<ObjectInfo> find(const std::string &key) override {
    const auto found = objects_->find(key);
    if (!found) return std::nullopt;
    return info_of(*found);
  }

  void list(const std::string &prefix,
            const std::function<void(const ObjectInfo &)> &each) override {
    objects_->list(prefix, [&](const GcsObject &object) {
      if (!parts_.owns(object.key)) each(info_of(object));
    });
  }

  void remove(const std::vector<std::string> &keys) override { objects_->remove(keys); }

  bool copy(const std::string &from, const std::string &to) override {
    objects_->copy(from, to);
    return true;
  }

  std::string begin_parts(const std::string &) override { return parts_.begin(); }
  StoredPart put_part(const std::string &key, const std::string &upload, int number,
                      const std::shared_ptr<ByteRange> &bytes) override {
    return parts_.put(key, upload, number, bytes);
  }
  std::vector<StoredPart> list_parts(const std::string &key, const std::string &upload) override {
    return parts_.list(key, upload);
  }
  void complete_parts(const std::string &key, const std::string &upload,
                      const std::vector<StoredPart> &parts) override {
    parts_.complete(key, upload, parts);
  }
  void abort_parts(const std::string &, const std::string &upload) override {
    parts_.abort(upload);
  }
  std::vector<PendingUpload> list_uploads(const std::string &prefix) override {
    return parts_.list_uploads(prefix);
  }

  std::string checksum_of(ByteRange &bytes) override { return crc32c_text(crc32c(bytes)); }
  bool sends_crc32c() const override { return true; }

 private:
  const ObjectLimits limits_{};
  const std::shared_ptr<GcsObjects> objects_;
  GcsParts parts_;
};

}  // namespace

std::shared_ptr<ObjectStore> open_gcs(const Json &config, std::shared_ptr<Logger> logger,
                                      const RequestPolicy &policy) {
  const GcsConfig read = gcs_config(config);
  std::unique_ptr<GoogleCredentials> credentials;
  if (!read.anonymous) {
    RequestPolicy of_tokens = policy;
    of_tokens.attempts = std::min(of_tokens.attempts, 4);
    TokenContext context{std::make_shared<TokenService>(read.http, of_tokens, logger),
                         read_write_scope, read.universe};
    credentials = application_default_credentials(context);
    logger->debug("asking 'gs://", read.bucket, "' as ", credentials->name());
  }
  auto dialect = std::make_shared<GcsDialect>(read, std::move(credentials));
  auto objects = std::make_shared<GcsObjects>(read, policy, std::move(dialect), logger);
  return std::make_shared<GcsStore>(std::move(objects), read.prefix, std::move(logger));
}

std::shared_ptr<ObjectStore> open_gcs(const Json &config, std::shared_ptr<Logger> logger) {
  return open_gcs(config, std::move(logger), {});
}

}  // namespace det::cloud

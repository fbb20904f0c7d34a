#include "core/cloud/gcs/gcs_objects.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/uuid.h"
#include "core/cloud/checksum.h"
#include "core/cloud/gcs/gcs_bucket.h"
#include "core/cloud/gcs/gcs_config.h"
#include "core/cloud/gcs/gcs_protocol.h"
#include "core/cloud/gcs/google_credentials.h"
#include "core/cloud/object_store.h"

namespace det::cloud {

namespace {

constexpr size_t most_sources = 32;  // of a composition
constexpr const char *key_mark = "detcore-key";
constexpr std::string_view part_name = "part-";

// In the order of their numbers also as text.
std::string padded(size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
}

std::optional<int> number_of_part(std::string_view name) {
  if (!name.starts_with(part_name)) return std::nullopt;
  name.remove_prefix(part_name.size());
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

StoredPart stored_part(int number, const GcsObject &object) {
  return {number, object.size, std::to_string(object.generation), crc32c_text(object.crc32c)};
}

GcsObject object_of(const StoredPart &part, std::string key) {
  GcsObject object{.key = std::move(key), .size = part.size};
  const auto sum = crc32c_in(part.checksum);
  const char *end = part.version.data() + part.version.size();
  const auto result = std::from_chars(part.version.data(), end, object.generation);
  if (!sum || result.ec != std::errc{} || result.ptr != end)
    throw Error(Code::invalid, "putting parts together: part " + std::to_string(part.number) +
                                   " is none that was stored or listed");
  object.crc32c = *sum;
  return object;
}

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

// Google Cloud Storage composes objects in parts of objects.
//
// Its XML interface has uploads in parts as S3 has them, too. Composition needs no second interface
// and no XML, lists a checksum of each part, and can be tested against a server, which the other
// cannot. Parts stand in "<prefix>/.detcore-parts/<upload>/", and say whose they are: an upload
// that has none yet takes no room and needs no request to begin. When they are put together the
// service removes them in the same step and for good, so that neither soft deletion nor versioning
// keeps them.
class GcsObjects : public ObjectStore {
 public:
  GcsObjects(GcsBucket bucket, const std::string &prefix, std::shared_ptr<Logger> logger)
      : bucket_(std::move(bucket)),
        parts_folder_((prefix.empty() ? "" : prefix + "/") + ".detcore-parts/"),
        logger_(std::move(logger)) {}

  std::shared_ptr<ObjectStore> within(RequestScope &scope) override {
    auto some = std::make_shared<GcsObjects>(*this);
    some->bucket_ = bucket_.within(scope);
    return some;
  }
  const ObjectLimits &limits() const override { return limits_; }
  std::string name_of(const std::string &key) const override { return bucket_.name_of(key); }

  void put(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
           bool only_new) override {
    bucket_.upload(key, bytes, {}, only_new);
  }

  void get(const std::string &key, uint64_t offset, uint64_t size, const std::string &version,
           const std::shared_ptr<http::BodySink> &sink) override {
    bucket_.download(key, offset, size, generation_of(version), sink);
  }

  std::optional<ObjectInfo> find(const std::string &key) override {
    const auto found = bucket_.find(key);
    if (!found) return std::nullopt;
    return info_of(*found);
  }

  void list(const std::string &prefix,
            const std::function<void(const ObjectInfo &)> &each) override {
    bucket_.list(prefix, [&](const GcsObject &object) {
      if (!object.key.starts_with(parts_folder_)) each(info_of(object));
    });
  }

  void remove(const std::vector<std::string> &keys) override { bucket_.remove(keys); }

  bool copy(const std::string &from, const std::string &to) override {
    bucket_.copy(from, to);
    return true;
  }

  std::string begin_parts(const std::string &) override { return make_uuid(); }
  StoredPart put_part(const std::string &key, const std::string &upload, int number,
                      const std::shared_ptr<ByteRange> &bytes) override;
  std::vector<StoredPart> list_parts(const std::string &key, const std::string &upload) override;
  void complete_parts(const std::string &key, const std::string &upload,
                      const std::vector<StoredPart> &parts) override;
  void abort_parts(const std::string &, const std::string &upload) override { remove_rest(upload); }
  std::vector<PendingUpload> list_uploads(const std::string &prefix) override;

  std::string checksum_of(ByteRange &bytes) override { return crc32c_text(crc32c(bytes)); }
  bool sends_crc32c() const override { return true; }

 private:
  std::string folder_of(const std::string &upload) const;
  std::string key_of_part(const std::string &upload, int number) const;
  void compose(const std::string &key, const std::string &upload, std::vector<GcsObject> row);
  void remove_rest(const std::string &upload);

  const ObjectLimits limits_{};
  GcsBucket bucket_;
  const std::string parts_folder_;
  const std::shared_ptr<Logger> logger_;
};

std::string GcsObjects::folder_of(const std::string &upload) const {
  if (upload.empty() || upload.find('/') != std::string::npos)
    throw Error(Code::invalid, "naming an upload '" + upload + "': no upload has that name");
  return parts_folder_ + upload + "/";
}

std::string GcsObjects::key_of_part(const std::string &upload, int number) const {
  return folder_of(upload) + std::string(part_name) + padded(static_cast<size_t>(number));
}

StoredPart GcsObjects::put_part(const std::string &key, const std::string &upload, int number,
                                const std::shared_ptr<ByteRange> &bytes) {
  const std::string name = key_of_part(upload, number);
  return stored_part(number, bucket_.upload(name, bytes, {{key_mark, key}}, false));
}

std::vector<StoredPart> GcsObjects::list_parts(const std::string &key, const std::string &upload) {
  const std::string folder = folder_of(upload);
  std::vector<StoredPart> parts;
  bucket_.list(folder, [&](const GcsObject &object) {
    const auto number = number_of_part(std::string_view(object.key).substr(folder.size()));
    const auto whose = object.metadata.find(key_mark);
    if (number && whose != object.metadata.end() && whose->second == key)
      parts.push_back(stored_part(*number, object));
  });
  return parts;
}

void GcsObjects::complete_parts(const std::string &key, const std::string &upload,
                                const std::vector<StoredPart> &parts) {
  std::vector<GcsObject> row;
  for (const StoredPart &part : parts)
    row.push_back(object_of(part, key_of_part(upload, part.number)));
  // The answer to an earlier call may have been lost.
  if (const auto found = bucket_.find(key); !found || !found->is_made_of(row))
    compose(key, upload, std::move(row));
  try {
    remove_rest(upload);
  } catch (const Error &error) {
    // The object is there; what is left of its parts goes with those of uploads that were given up.
    logger_->warning(error.what());
  }
}

// As a tree: groups are put together to groups until there are few enough for the object itself.
void GcsObjects::compose(const std::string &key, const std::string &upload,
                         std::vector<GcsObject> row) {
  if (row.empty()) {
    bucket_.upload(key, std::make_shared<TextRange>("nothing", ""), {}, false);
    return;
  }
  const std::string folder = folder_of(upload);
  for (int level = 1; row.size() > most_sources; ++level) {
    std::vector<GcsObject> groups;
    for (size_t begin = 0; begin < row.size(); begin += most_sources) {
      const size_t end = std::min(row.size(), begin + most_sources);
      groups.push_back(
          bucket_.compose(folder + "group-" + std::to_string(level) + "-" + padded(groups.size()),
                          {row.begin() + static_cast<std::ptrdiff_t>(begin),
                           row.begin() + static_cast<std::ptrdiff_t>(end)},
                          {{key_mark, key}}));
    }
    row = std::move(groups);
  }
  bucket_.compose(key, row, {});
}

void GcsObjects::remove_rest(const std::string &upload) {
  std::vector<std::string> keys;
  bucket_.list(folder_of(upload), [&](const GcsObject &object) { keys.push_back(object.key); });
  bucket_.remove(keys);
}

std::vector<PendingUpload> GcsObjects::list_uploads(const std::string &prefix) {
  std::vector<PendingUpload> uploads;
  bucket_.list_folders(parts_folder_, [&](const std::string &upload) {
    const auto first = bucket_.first_of(folder_of(upload));
    if (!first) return;
    const auto key = first->metadata.find(key_mark);
    if (key != first->metadata.end() && key->second.starts_with(prefix))
      uploads.push_back({key->second, upload, first->created_ms});
  });
  return uploads;
}

}  // namespace

std::shared_ptr<ObjectStore> open_gcs(const Json &config, std::shared_ptr<Logger> logger,
                                      const RequestPolicy &policy) {
  const auto read = std::make_shared<const GcsConfig>(gcs_config(config));
  std::unique_ptr<GoogleCredentials> credentials;
  if (!read->anonymous) {
    RequestPolicy of_tokens = policy;
    of_tokens.attempts = std::min(of_tokens.attempts, 4);
    TokenContext context{std::make_shared<TokenService>(read->http, of_tokens, logger),
                         read_write_scope, read->universe};
    credentials = application_default_credentials(context);
    logger->debug("asking 'gs://", read->bucket, "' as ", credentials->name());
  }
  auto protocol = std::make_shared<GcsProtocol>(*read, std::move(credentials));
  return std::make_shared<GcsObjects>(GcsBucket(read, policy, std::move(protocol), logger),
                                      read->prefix, logger);
}

}  // namespace det::cloud

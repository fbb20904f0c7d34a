// A bucket by the JSON interface of Google Cloud Storage.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/cloud/byte_range.h"
#include "core/cloud/gcs/gcs_config.h"
#include "core/cloud/requests.h"

namespace det::cloud {

// What the service says of an object.
struct GcsObject {
  using Metadata = std::map<std::string, std::string>;

  // What the rest is read from. Throws Code::corrupt where something of it is missing.
  static GcsObject from_json(const Json &json);

  // Whether its bytes are those of other objects in a row.
  bool is_made_of(const std::vector<GcsObject> &parts) const noexcept;

  std::string key;
  uint64_t size = 0, generation = 0;
  uint32_t crc32c = 0;
  int64_t created_ms = 0, updated_ms = 0;
  Metadata metadata{};  // what its writers say of it

  // Of an answer: what from_json() reads.
  static constexpr const char *fields = "name,size,generation,crc32c,timeCreated,updated,metadata";
};

// As in ObjectStore: it blocks, from any thread, and throws. Copies share their connections.
class GcsBucket {
 public:
  using Metadata = GcsObject::Metadata;

  GcsBucket(std::shared_ptr<const GcsConfig> config, RequestPolicy policy,
            std::shared_ptr<Protocol> protocol, std::shared_ptr<Logger> logger);

  // The same for the calls of `scope`, which must outlive them.
  GcsBucket within(RequestScope &scope) const;

  std::string name_of(const std::string &key) const;  // "gs://bucket/key"

  // The bucket refuses other bytes than these, and what it says that it has is compared besides.
  GcsObject upload(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
                   Metadata metadata, bool only_new);

  // `generation`: 0 for the one that there is.
  void download(const std::string &key, uint64_t offset, uint64_t size, uint64_t generation,
                const std::shared_ptr<http::BodySink> &sink);

  std::optional<GcsObject> find(const std::string &key);

  // In the order of their keys, page by page.
  void list(const std::string &prefix, const std::function<void(const GcsObject &)> &each);
  std::optional<GcsObject> first_of(const std::string &prefix);
  // What stands between `prefix` and the next '/'.
  void list_folders(const std::string &prefix,
                    const std::function<void(const std::string &)> &each);

  void remove(const std::vector<std::string> &keys);  // absent is fine

  void copy(const std::string &from, const std::string &to);

  // Of at most 32 sources in a row, which are removed in the same step. They stay where the bucket
  // has a retention policy, and in an emulator.
  // Throws Code::corrupt where what came of it has not their size and checksum.
  GcsObject compose(const std::string &key, const std::vector<GcsObject> &sources,
                    const Metadata &metadata);

 private:
  using Query = std::vector<std::pair<const char *, std::string>>;

  std::string url(const std::string &path, const Query &query) const;
  std::string object_path(const std::string &key) const;
  Json properties(const Metadata &metadata) const;
  Query kms_key(const char *parameter) const;
  Json ask(const std::string &tried, http::HttpRequest request,
           const std::function<void(const Json &)> &look);
  void list_page(Query query, std::string &token, const std::function<void(const Json &)> &look);
  GcsObject compose(const std::string &key, const std::vector<GcsObject> &sources,
                    const Metadata &metadata, bool removes);
  std::vector<std::string> remove_together(const std::vector<std::string> &keys);
  void remove_one(const std::string &key);

  std::shared_ptr<const GcsConfig> config_;
  Requests requests_;
};

}  // namespace det::cloud

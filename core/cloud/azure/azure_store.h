// A container of Azure Blob Storage as an object store.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"
#include "core/base/log.h"
#include "core/cloud/azure/azure_container.h"
#include "core/cloud/object_store.h"

namespace det::cloud {

// `config` is a checkpoint_storage of type azure. Makes the container where it is not there.
// Blocks; throws Code::invalid for a bad config, and what ObjectStore throws.
std::shared_ptr<ObjectStore> open_azure(const Json &config, std::shared_ptr<Logger> logger);

class AzureStore : public ObjectStore {
 public:
  explicit AzureStore(std::unique_ptr<AzureContainer> container);

  const ObjectLimits &limits() const override { return limits_; }
  std::string name_of(const std::string &key) const override { return container_->name_of(key); }

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

 private:
  std::string tried(const char *what, const std::string &key) const;
  // `include` is a parameter of List Blobs, or empty.
  void list_blobs(const std::string &prefix, const char *include,
                  const std::function<void(const ObjectInfo &)> &each);
  std::vector<std::pair<std::string, uint64_t>> pending_blocks(const std::string &key);
  std::string writer_of(const std::string &key);  // of one that was put as new

  const std::unique_ptr<AzureContainer> container_;
  ObjectLimits limits_;
};

}  // namespace det::cloud

// Checkpoints as objects of a bucket: "<prefix>/<id>/<path>". One is visible once its manifest
// stands, which is written last and removed first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/cloud/checkpoints/bucket.h"
#include "core/cloud/checkpoints/bucket_removals.h"
#include "core/cloud/checkpoints/kept_objects.h"
#include "core/cloud/checkpoints/stored_checkpoint.h"
#include "core/storage/chunks/chunk_saver.h"
#include "core/storage/storage.h"

namespace det::cloud {

struct CloudOptions {
  std::shared_ptr<ObjectStore> store;
  std::string prefix;                     // as storage::normalized_prefix() gives it
  std::filesystem::path temporary{};      // for local directories; empty: the system's
  Json config;                            // to build this again, without credentials
  uint64_t memory = uint64_t{256} << 20;  // bytes, of one transfer
  bool deduplicate = false;               // large files are stored in chunks
};

class CloudStorage : public storage::Storage {
 public:
  CloudStorage(CloudOptions options, std::shared_ptr<Logger> logger);

  void serve(const std::string &cluster_id) override { removals_.serve(cluster_id); }
  std::unique_ptr<storage::CheckpointWriter> begin(const std::string &id) override;
  std::unique_ptr<storage::CheckpointWriter> join(const std::string &id) override;
  std::unique_ptr<storage::CheckpointWriter> resume(const std::string &id,
                                                    const std::filesystem::path &source) override;
  storage::Resources list(const std::string &id) override { return stored(id).resources(); }
  void download(const std::string &id, const std::filesystem::path &target,
                const storage::ReadOptions &options) override;
  std::unique_ptr<storage::CheckpointReader> restore(const std::string &id,
                                                     const storage::ReadOptions &options) override;
  std::unique_ptr<storage::CheckpointReader> make_copy(const std::string &id) override;
  std::unique_ptr<storage::CheckpointReader> hold_copy(const std::filesystem::path &copy) override;
  using storage::Storage::download;
  using storage::Storage::restore;
  void withdraw(const std::string &id) override { removals_.withdraw(id); }
  void remove(const std::string &id) override { removals_.remove(id); }
  storage::Resources remove_matching(const std::string &id,
                                     const std::vector<std::string> &globs) override {
    return removals_.remove_matching(id, globs);
  }
  std::vector<std::string> sweep() override { return removals_.sweep(); }
  void settle(const std::string &id) override { removals_.settle(id); }
  void reclaim() override;
  Json config() const override { return config_; }
  void probe() override;
  std::filesystem::path directory() const override { return {}; }
  storage::KeptFiles *files() override { return &files_; }
  bool copy_to(storage::Storage &other, const std::string &id,
               storage::Progress *progress) override;

 private:
  StoredCheckpoint stored(const std::string &id) const;

  const Json config_;
  const std::shared_ptr<storage::ChunkMemory> memory_;  // null: files are stored whole
  const std::shared_ptr<const Bucket> bucket_;
  BucketRemovals removals_;
  KeptObjects files_;
};

}  // namespace det::cloud

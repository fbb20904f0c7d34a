// Checkpoints as objects of a bucket: "<prefix>/<id>/<path>". One is visible once its manifest
// stands, which is written last and removed first.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/cloud/bucket.h"
#include "core/cloud/cloud_writer.h"
#include "core/cloud/stored_checkpoint.h"
#include "core/storage/storage.h"

namespace det::cloud {

struct CloudOptions {
  std::shared_ptr<ObjectStore> store;
  std::string prefix;                     // as storage::normalized_prefix() gives it
  std::filesystem::path temporary{};      // for local directories; empty: the system's
  Json config;                            // to build this again, without credentials
  uint64_t memory = uint64_t{256} << 20;  // bytes, of one transfer
  bool deduplicate = false;               // large files are stored in chunks
  // What a transfer on the calling thread is told to.
  std::function<storage::Progress *()> progress = &storage::Progress::current;
};

class CloudStorage : public storage::Storage {
 public:
  CloudStorage(CloudOptions options, std::shared_ptr<Logger> logger);

  void serve(const std::string &cluster_id) override { cluster_id_ = cluster_id; }
  std::unique_ptr<storage::CheckpointWriter> begin(const std::string &id) override;
  std::unique_ptr<storage::CheckpointWriter> join(const std::string &id) override;
  std::unique_ptr<storage::CheckpointWriter> resume(const std::string &id,
                                                    const std::filesystem::path &source) override;
  storage::Resources list(const std::string &id) override;
  void download(const std::string &id, const std::filesystem::path &target,
                const storage::Selector &selector, bool checksums,
                const storage::HadManifest &had_manifest) override;
  std::unique_ptr<storage::CheckpointReader> restore(
      const std::string &id, const storage::Selector &selector, bool checksums,
      const storage::HadManifest &had_manifest) override;
  std::unique_ptr<storage::CheckpointReader> make_copy(const std::string &id) override;
  std::unique_ptr<storage::CheckpointReader> hold_copy(const std::filesystem::path &copy) override;
  using storage::Storage::download;
  using storage::Storage::restore;
  void withdraw(const std::string &id) override;
  void remove(const std::string &id) override;
  storage::Resources remove_matching(const std::string &id,
                                     const std::vector<std::string> &globs) override;
  std::vector<std::string> sweep() override;
  void settle(const std::string &id) override;
  void reclaim() override;
  Json config() const override { return config_; }
  void probe() override;
  std::filesystem::path directory() const override { return {}; }
  void put_file(const std::string &path, const std::filesystem::path &file) override;
  void put_new_file(const std::string &path, const std::filesystem::path &file) override;
  void remove_files(const std::string &directory) override;
  std::vector<storage::KeptFile> list_files(const std::string &directory) override;
  void read_files(const std::string &directory,
                  const std::vector<storage::KeptRange> &ranges) override;
  bool copy_to(storage::Storage &other, const std::string &id) override;

 private:
  std::unique_ptr<storage::CheckpointWriter> writer(const std::string &id,
                                                    CloudWriter::Role role) const;
  std::string key_of_file(const std::string &path) const;
  void put_new_parts(const std::string &key, const std::filesystem::path &file, uint64_t size);
  void drop_uploads(const std::string &key) const;
  void abort_uploads(const std::map<std::string, std::string> &uploads) const;
  void call_store(const std::function<void()> &call) const;
  bool copy_objects(const StoredCheckpoint &found, const std::string &id, const Bucket &to) const;
  void discard_unfinished(const std::string &id) const;
  StoredCheckpoint stored(const std::string &id) const;
  storage::ChunkedFiles chunks_of(const std::string &id) const;
  std::string name_of(const std::string &id) const;
  void sweep_objects();
  void sweep_intent(const Intent &intent);
  void abort_orphaned_uploads(const std::vector<Intent> &intents);

  const Json config_;
  const std::shared_ptr<storage::ChunkMemory> memory_;  // null: files are stored whole
  const std::shared_ptr<const Bucket> bucket_;
  std::string cluster_id_;
  std::mutex mutex_;
  std::set<std::string> unsettled_;   // swept or withdrawn
  std::set<std::string> unfinished_;  // whose removal failed half way
};

}  // namespace det::cloud

// Checkpoints as directories below a base directory: shared_fs and directory storage.
#pragma once

#include <map>
#include <mutex>

#include "core/base/json.h"
#include "core/storage/directory_writer.h"
#include "core/storage/manifest.h"
#include "core/storage/staging.h"
#include "core/storage/storage.h"
#include "core/storage/tree.h"

namespace det::storage {

class DirectoryStorage : public Storage {
 public:
  struct Options {
    std::filesystem::path base;
    Json config;
    std::string base_key;      // what the configuration calls the base, for errors
    bool durable = true;       // false leaves syncing to the kernel: for measurements
    bool deduplicate = false;  // large files are stored in chunks; reading asks nobody
    std::shared_ptr<SpareFiles> spares = nullptr;  // for copies
  };

  DirectoryStorage(Options options, std::shared_ptr<Logger> logger);

  void serve(const std::string &cluster_id) override { cluster_id_ = cluster_id; }
  std::unique_ptr<CheckpointWriter> begin(const std::string &id) override;
  std::unique_ptr<CheckpointWriter> join(const std::string &id) override;
  Resources list(const std::string &id) override;
  void download(const std::string &id, const std::filesystem::path &target,
                const ReadOptions &options) override;
  std::unique_ptr<CheckpointReader> restore(const std::string &id,
                                            const ReadOptions &options) override;
  using Storage::download;
  using Storage::restore;
  std::optional<std::string> read(const std::string &id, const std::string &path) override;
  void withdraw(const std::string &id) override;
  void remove(const std::string &id) override;
  Resources remove_matching(const std::string &id, const std::vector<std::string> &globs) override;
  std::vector<std::unique_ptr<CheckpointWriter>> take_sealed(const std::string &owner) override;
  // Keeps files of what is stored, which is removed, for later copies; after it was prepared.
  void prepare_to_reuse(const std::string &id);
  void reuse(const std::string &id);
  std::vector<std::string> sweep() override;
  void settle(const std::string &id) override;
  void reclaim() override;
  Json config() const override { return options_.config; }
  void probe() override;
  std::filesystem::path directory() const override { return options_.base; }

 private:
  bool is_stored(const std::string &id) const;
  Tree open_stored(const std::string &id) const;
  DirectoryWriterOptions writing() const;
  std::optional<Manifest> manifest_of(const Tree &stored, const HadManifest &had_manifest) const;

  const Options options_;
  const std::shared_ptr<Logger> logger_;
  const std::shared_ptr<ChunkMemory> memory_;  // null: it stores files whole
  std::string cluster_id_;
  std::mutex mutex_;
  std::map<std::string, OwnerLock> unsettled_;  // swept or withdrawn
};

}  // namespace det::storage

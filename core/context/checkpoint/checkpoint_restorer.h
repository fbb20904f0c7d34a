// Downloading and restoring: one rank of each machine reads for all of them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/context/checkpoint/retention.h"
#include "core/context/checkpoint/run_parts.h"
#include "core/context/checkpoint/save_stage.h"

namespace det::context {

// Same numbers as DET_DOWNLOAD_MODE_* in include/det/checkpoint.h.
enum class DownloadMode : int { local_workers_share = 0, no_shared = 1 };

struct DownloadRequest {
  DownloadMode mode = DownloadMode::local_workers_share;
  storage::Selector selector = {};
  bool checksums = true;
  storage::Progress *progress = nullptr;
};

class CheckpointRestorer {
 public:
  CheckpointRestorer(const RunParts &run, Retention &retention, CurrentStage &stage)
      : run_(run), retention_(retention), stage_(stage) {}

  void download(const std::string &id, const std::filesystem::path &directory,
                const DownloadRequest &request);
  std::unique_ptr<storage::CheckpointReader> restore(const std::string &id,
                                                     const DownloadRequest &request);

 private:
  template <class Read>
  auto read_nearest(const std::string &id, const Read &read);
  void download_nearest(const std::string &id, const std::filesystem::path &directory,
                        const storage::ReadOptions &options);
  std::unique_ptr<storage::CheckpointReader> restore_for_machine(
      const std::string &id, const storage::ReadOptions &options);
  std::unique_ptr<storage::CheckpointReader> restore_nearest(const std::string &id,
                                                             const storage::ReadOptions &options);
  storage::ReadOptions options_of(const std::string &id, const DownloadRequest &request,
                                  storage::Selector selector);
  bool anybody_selects(const comm::Call &call, const std::string &id,
                       const DownloadRequest &request);
  storage::Selector choose_together(const comm::Call &call, const std::string &id,
                                    const storage::Selector &selector);

  const RunParts &run_;
  Retention &retention_;
  CurrentStage &stage_;
};

}  // namespace det::context

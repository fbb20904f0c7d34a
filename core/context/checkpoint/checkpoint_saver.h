// Saving a directory, or what the program writes into one: by one rank, or by all together.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/context/checkpoint/background_saves.h"
#include "core/context/checkpoint/checkpoint_catalog.h"
#include "core/context/checkpoint/open_checkpoint.h"
#include "core/context/checkpoint/run_parts.h"

namespace det::context {

class CheckpointSaver {
 public:
  CheckpointSaver(const RunParts &run, CheckpointCatalog &catalog, BackgroundSaves &background)
      : run_(run), catalog_(catalog), background_(background) {}

  // The id of the new checkpoint. `sharded`: all ranks in step; `directory` may then be empty.
  // The metadata is text, so that an error in it on one rank reaches the others.
  std::string upload(const std::filesystem::path &directory, const std::string &metadata_json,
                     bool sharded, const storage::Selector &selector,
                     storage::Progress *progress = nullptr);
  // The same, but gives back once the directory may be changed; what then fails is told by the
  // ticket, and by the next save or the end of the run, whichever comes first, unless it was heard.
  std::shared_ptr<SaveTicket> upload_async(const std::filesystem::path &directory,
                                           const std::string &metadata_json, bool sharded,
                                           const storage::Selector &selector,
                                           storage::Progress *progress = nullptr);

  // Without metadata it comes before the commit.
  std::unique_ptr<OpenCheckpoint> begin(const std::optional<std::string> &metadata_json,
                                        bool sharded);

 private:
  void check_rank(const char *call) const;
  std::unique_ptr<storage::CheckpointWriter> copy_staged(
      SaveStage &stage, const std::filesystem::path &directory,
      const std::optional<std::vector<std::string>> &paths, storage::Progress *progress);

  // By all ranks. Every step between two of their collectives is one of core/comm/agreement.h, so
  // that what fails on one rank fails on all.
  struct Plan {  // of this rank in an upload
    Json metadata;
    std::vector<std::string> paths = {};
    bool stores = false, is_first = false;  // which stores the metadata
  };
  Plan plan_sharded(const comm::Call &call, const std::filesystem::path &directory,
                    const std::string &metadata_json, const storage::Selector &selector,
                    storage::Progress *progress);
  std::string begin_writing(const comm::Call &call,
                            std::unique_ptr<storage::CheckpointWriter> &writer);
  std::string upload_sharded(const std::filesystem::path &directory,
                             const std::string &metadata_json, const storage::Selector &selector,
                             storage::Progress *progress);
  std::shared_ptr<SaveTicket> upload_sharded_async(const std::filesystem::path &directory,
                                                   const std::string &metadata_json,
                                                   const storage::Selector &selector,
                                                   storage::Progress *progress);
  std::unique_ptr<OpenCheckpoint> begin_sharded(const std::string &metadata_json);

  const RunParts &run_;
  CheckpointCatalog &catalog_;
  BackgroundSaves &background_;
};

}  // namespace det::context

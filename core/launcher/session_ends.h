// What TensorBoard's plugin "hparams" is told of the trials of a search that have ended. A run that
// fails cannot tell it itself: whether its trial goes on in another one is decided when it has
// left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/log.h"

namespace det::launcher {

class SessionEnds {
 public:
  // `storage`: as the configuration of the experiment has it. Where it does not say where, the
  // trials keep their files in `home`.
  SessionEnds(Json storage, std::filesystem::path home, std::string cluster_id,
              int64_t experiment_id, std::shared_ptr<Logger> log)
      : storage_(std::move(storage)),
        home_(std::move(home)),
        cluster_id_(std::move(cluster_id)),
        experiment_id_(experiment_id),
        log_(std::move(log)) {}

  // Beside what the runs of the trial have written; nothing where they have not, and in a bucket,
  // which may be slow to answer. Never throws for a full disk and the like: it is logged.
  void write(int64_t trial_id, bool succeeded);

 private:
  std::filesystem::path find_directory() const;  // empty for a bucket

  const Json storage_;
  const std::filesystem::path home_;
  const std::string cluster_id_;
  const int64_t experiment_id_;
  const std::shared_ptr<Logger> log_;
  std::optional<std::filesystem::path> directory_;  // where the trials' storage is
};

}  // namespace det::launcher

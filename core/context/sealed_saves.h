// Asynchronous saves that a killed process did not live to finish.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/base/log.h"
#include "core/engine/run_info.h"
#include "core/master/master.h"
#include "core/storage/storage.h"

namespace det::context {

// Who may finish the saves of a run: the later runs of its trial.
std::string owner_of_saves(const engine::RunInfo &run);

// Where saves of this trial are staged from now on, for its later runs on this machine; empty:
// nowhere.
void note_stage(master::Master &master, const std::filesystem::path &directory);

// Finishes those of earlier runs of this trial, on the chief, staged ones too, and gives the one of
// the most steps. What cannot be finished is told in the log.
std::optional<engine::CheckpointEntry> finish_sealed_saves(storage::Storage &storage,
                                                           master::Master &master,
                                                           const std::shared_ptr<Logger> &logger);

}  // namespace det::context

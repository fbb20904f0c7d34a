// Runs whose process is gone: their reports reach the store, and their directories disappear.
#pragma once

#include <filesystem>
#include <memory>

#include "core/base/log.h"
#include "core/engine/left_behind.h"
#include "core/master/rest/session.h"

namespace det::metrics {

// recover_left_behind() with the journals of this room. Does nothing where there is no store.
engine::Recovery recover_runs(const std::filesystem::path &store_directory, Logger &logger);

// recover_rest_runs() with them.
engine::Recovery recover_runs(const std::shared_ptr<master::MasterSession> &session,
                              bool offer_refused, const std::shared_ptr<Logger> &logger);

}  // namespace det::metrics

// The outside of a custom search: its events in, decisions about them out.
#pragma once

#include <chrono>
#include <filesystem>

#include "core/base/json.h"
#include "core/engine/sqlite/database.h"

namespace det {

// {"events": [...]}: those that wait, or after `limit` none. Where the experiment is not active,
// one of id -1 says so.
Json search_events(Database &store, int64_t experiment_id, std::chrono::milliseconds limit);

// Hands `operations`, a list, to the supervisor, and waits until it has carried them out.
// {"refused": text or null}. Throws Code::not_found when no such event waits, Code::unavailable
// when the experiment has no supervisor.
Json post_operations(Database &store, const std::filesystem::path &store_directory,
                     int64_t experiment_id, int64_t event_id, const Json &operations);

}  // namespace det

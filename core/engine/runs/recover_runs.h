#pragma once

#include <filesystem>

#include "core/base/log/log.h"
#include "core/engine/store.h"
#include "core/journal/dead_ranks.h"

namespace det::engine {

// Takes over the directory of every dead rank beside a store, delivers its journals, marks the
// rank, and with the chief the run, as ended and removes the directory. Ranks that live are left
// alone, also those of the same run. What cannot be recovered stays where it is and is told to
// `log`; the first such failure is thrown at the end. Does nothing where there is no store.
journal::Recovery recover_runs(const std::filesystem::path &store_directory, Logger &log,
                               const StoreOptions &options = {});

}  // namespace det::engine

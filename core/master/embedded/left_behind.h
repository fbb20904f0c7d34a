// What ranks of a store left behind.
#pragma once

#include <filesystem>

#include "core/base/log.h"
#include "core/master/embedded/store.h"
#include "core/master/left_behind.h"

namespace det {

// Takes over the directory of every dead rank in an existing store, ships its journals, marks the
// rank, and with the chief the run, as ended and removes the directory. Ranks that live are left
// alone, also those of the same run. What cannot be recovered stays where it is and is told to
// `log`; the first such failure is thrown at the end.
Recovery recover_left_behind(const std::filesystem::path &store_directory, const ShipJournals &ship,
                             Logger &log, const StoreOptions &options = {});

}  // namespace det

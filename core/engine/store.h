// The store of the embedded master: one SQLite database that many processes share.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "core/base/file.h"
#include "core/engine/sqlite/database.h"

namespace det {

struct StoreOptions {
  // How long to wait for another process to finish writing.
  std::chrono::milliseconds busy_timeout{5000};
  // How often a waiting run looks for a signal that its FIFO did not tell of. Zero: as the file
  // system asks for.
  std::chrono::milliseconds recheck{0};
  std::function<bool(const std::filesystem::path &)> on_network = on_network_filesystem;
};

std::filesystem::path store_path(const std::filesystem::path &store_directory);

// Opens the store and upgrades it; `create`: makes it when absent, else that is Code::not_found.
Database open_store(const std::filesystem::path &store_directory, bool create,
                    const StoreOptions &options);

}  // namespace det

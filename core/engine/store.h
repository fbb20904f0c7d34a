// The store: one database that many processes share, in a directory with what else they share.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/file.h"
#include "core/engine/database.h"
#include "core/engine/waking.h"

namespace det::engine {

struct StoreOptions {
  // How long to wait for another process to finish writing.
  std::chrono::milliseconds busy_timeout{5000};
  // How often who waits looks for what its FIFO did not tell of. Zero: as the file system asks for.
  std::chrono::milliseconds recheck{0};
  // How long to wait for a supervisor that lives, and says nothing: it may be stopped.
  std::chrono::milliseconds answer_limit{std::chrono::minutes(5)};
  // How long a trial waits for the program that decides its search: then it leaves, and is started
  // again when there is work for it.
  std::chrono::milliseconds decision_limit{1000};
  std::function<bool(const std::filesystem::path &)> on_network = on_network_filesystem;
};

std::filesystem::path store_path(const std::filesystem::path &store_directory);

// Opens the database and upgrades it; `create`: makes it when absent, else that is Code::not_found.
Database open_store(const std::filesystem::path &store_directory, bool create,
                    const StoreOptions &options);

// To look at one that may be of any release, and is left as it is.
Database open_other_store(const std::filesystem::path &store_directory);
std::string read_cluster_id(const std::filesystem::path &store_directory);

// One connection to it, for the files of this room. Used by one thread at a time: where several
// threads share it, by the one that holds lock().
class Store {
 public:
  // As open_store().
  Store(std::filesystem::path directory, bool create, StoreOptions options = {})
      : directory_(std::move(directory)),
        options_(std::move(options)),
        database_(open_store(directory_, create, options_)),
        waking_(make_fifo_waking(directory_, {options_.recheck, options_.on_network})) {}

  const std::filesystem::path &directory() const { return directory_; }
  const StoreOptions &options() const { return options_; }
  const Waking &waking() const { return *waking_; }
  Database &database() { return database_; }
  [[nodiscard]] std::unique_lock<std::mutex> lock() const { return std::unique_lock(*mutex_); }

 private:
  std::filesystem::path directory_;
  StoreOptions options_;
  Database database_;
  std::unique_ptr<Waking> waking_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace det::engine

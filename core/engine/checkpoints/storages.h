// The storages that checkpoints say they are in, each built once.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/log/log.h"
#include "core/engine/store_places.h"
#include "core/storage/storage.h"

namespace det::engine {

class Storages {
 public:
  // Of the store in `home`. `logger` outlives this.
  Storages(std::filesystem::path home, Logger &logger)
      : home_(std::move(home)), logger_(std::shared_ptr<void>(), &logger) {}

  storage::Storage &of(const std::string &config) {  // as it is recorded
    auto &storage = storages_[config];
    if (!storage)
      storage = storage::make_storage(
          used_storage(home_, parse_json_object(config, "where the checkpoint is")), std::nullopt,
          logger_);
    return *storage;
  }

  // After removals.
  void reclaim() {
    for (const auto &[config, storage] : storages_)
      if (storage) storage->reclaim();
  }

 private:
  std::filesystem::path home_;
  std::shared_ptr<Logger> logger_;
  std::map<std::string, std::unique_ptr<storage::Storage>> storages_;
};

// A file system that is not mounted looks as if nothing were there.
inline void require_there(const storage::Storage &storage) {
  const std::filesystem::path directory = storage.directory();
  if (!directory.empty() && !std::filesystem::exists(directory))
    throw Error(Code::not_found, "'" + directory.string() +
                                     "' is missing; mount it, or make an empty directory in its "
                                     "place if its files are gone for good");
}

}  // namespace det::engine

// What clients and servers ask of the records of a store and do to them, each part on the one
// connection.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "core/engine/checkpoints/stored_checkpoints.h"
#include "core/engine/records/control.h"
#include "core/engine/records/custom_searches.h"
#include "core/engine/records/deletion.h"
#include "core/engine/records/experiments.h"
#include "core/engine/records/trials.h"
#include "core/engine/store.h"

namespace det::engine {

// Used by any thread. Neither moved nor copied: the parts know the connection.
class Engine {
 public:
  // Opens the store; `create`: makes it when absent, else that is Code::not_found.
  explicit Engine(std::filesystem::path store_directory, bool create = false,
                  StoreOptions options = {})
      : store_(std::move(store_directory), create, std::move(options)) {}
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  Experiments &experiments() { return experiments_; }
  ExperimentDeletion deletion(int64_t experiment_id) { return {store_, experiment_id}; }
  Trials &trials() { return trials_; }
  StoredMetrics &metrics() { return metrics_; }
  StoredCheckpoints &checkpoints() { return checkpoints_; }
  Control &control() { return control_; }
  CustomSearches &searches() { return searches_; }

 private:
  Store store_;
  Experiments experiments_{store_};
  Trials trials_{store_};
  StoredMetrics metrics_{store_};
  StoredCheckpoints checkpoints_{store_};
  Control control_{store_};
  CustomSearches searches_{store_};
};

}  // namespace det::engine

// Experiments that a supervisor runs, and what is kept for them in HOME/experiments/ID/, where HOME
// is the directory of the store:
//   owner        locked by the supervisor
//   wake         a FIFO, where there can be one: a byte in it says that the store holds news for
//   the supervisor listeners/   FIFOs of those who wait for what the search decides logs/ what each
//   run printed, TRIAL.RUN.log
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/process/fifo.h"
#include "core/base/process/process.h"
#include "core/engine/database.h"

namespace det::engine {

// How its trials are started.
struct LaunchPlan {
  std::vector<std::string> command;
  std::filesystem::path directory;  // to start in
  std::optional<int> slots;         // of this machine; none: what it has
  bool by_metrics = false;          // metrics steer the search (SearchRules::metrics)
  // What trials without a checkpoint of their own start from. create_experiment() finds it.
  std::optional<std::string> warm_start;
};

struct ExperimentRecord {
  int64_t id = 0;
  std::string name;
  std::string state;
  Json config;
  LaunchPlan launch;
};

// Makes it, paused. `config` is complete, `original` the text it came from. Throws Code::not_found
// where `searcher.source_trial_id` or `source_checkpoint_uuid` names nothing to start from. The
// caller holds a transaction.
int64_t create_experiment(Database &store, const Json &config, const std::string &original,
                          LaunchPlan launch);

// The checkpoint that trials with this configuration start from, of those that are whole:
// `searcher.source_trial_id` or `source_checkpoint_uuid`.
std::optional<std::string> source_of(Database &store, const Json &config);

// The tags that an experiment begins with.
Json labels_of(const Json &config);

// Throws Code::not_found, or Code::state for one without a supervisor.
ExperimentRecord read_experiment(Database &store, int64_t experiment_id);

// What a configuration holds in secret is in no record: it is in a file of the experiment that only
// this user can read. None there, an earlier file goes.
void keep_secrets(Database &store, int64_t experiment_id, const Json &secrets);

// Once, for a store of a release that recorded them. The caller holds a transaction.
void hide_recorded_secrets(Database &store);

// An empty object where there are none that this user may read.
Json kept_secrets(const std::filesystem::path &store_directory, int64_t experiment_id);

// A recorded configuration, with its secrets where this user may read them.
Json read_config(Database &store, int64_t experiment_id, std::string_view recorded);

std::filesystem::path experiment_directory(const std::filesystem::path &store_directory,
                                           int64_t experiment_id);

std::filesystem::path listeners_directory(const std::filesystem::path &store_directory,
                                          int64_t experiment_id);

// Wakes the supervisor of an experiment, if it has one.
void wake_supervisor(const std::filesystem::path &store_directory, int64_t experiment_id);

Liveness supervisor_liveness(const std::filesystem::path &store_directory, int64_t experiment_id);

// A supervisor's hold on an experiment. Throws Code::busy when it has one.
class SupervisorSeat {
 public:
  SupervisorSeat(const std::filesystem::path &store_directory, int64_t experiment_id);

  const std::filesystem::path &directory() const { return directory_; }
  // What a run prints.
  std::filesystem::path log_file(int64_t trial_id, int64_t run_id) const;
  // Readable when there may be news; -1 where the file system has no FIFOs.
  int wake_fd() const { return wake_.get(); }
  void drain() const { drain_fifo(wake_); }

 private:
  std::filesystem::path directory_;
  std::optional<OwnerLock> owner_;
  KnownFd wake_;
};

}  // namespace det::engine

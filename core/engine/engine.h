// What clients and servers ask of the records and do to them. Its answers are JSON objects whose
// keys docs/client.md lists.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/engine/control.h"
#include "core/engine/deletion.h"
#include "core/engine/experiment.h"
#include "core/engine/page.h"
#include "core/engine/store.h"

namespace det::engine {

// The journal of one rank of a run, and how much of it is stored.
struct DeliveredJournal {
  int64_t run_id = 0;
  int rank = 0;
  uint64_t sequence = 0;  // of the last report
};

// How a trial does, in short.
struct TrialGlance {
  std::string state;
  std::string status;
  double progress = 0;
  int64_t steps = 0;  // trained
  Json validation;    // its metrics; null where there is none
};

// Where files of an experiment are beside the checkpoints.
struct KeptFiles {
  std::vector<std::string> cluster_ids;  // as cluster_ids_of() gives them
  std::vector<Json> storages;
  // As much those of a store that this one is a copy of: its own are those of the first id.
  std::vector<Json> shared_storages;
};

struct BestTrialRecord {
  int64_t trial_id = 0;
  double value = 0;
};

// Used by any thread.
class Engine {
 public:
  // Opens the store; `create`: makes it when absent, else that is Code::not_found.
  explicit Engine(std::filesystem::path store_directory, bool create = false,
                  StoreOptions options = {});

  Json list_experiments(const Page &page);
  Json get_experiment(int64_t experiment_id);
  // As get_experiment(), without the trials.
  Json describe_experiment(int64_t experiment_id);
  Json list_trials(int64_t experiment_id, const Page &page);  // 0: of all experiments
  // Without what waits in journals, which is no record.
  Json get_trial(int64_t trial_id);
  std::vector<DeliveredJournal> delivered_journals(int64_t trial_id);
  // As text, which is what a store has of it: a page is long, and need not be taken apart.
  std::string metrics_text(int64_t trial_id, const std::optional<std::string> &group,
                           const Page &page);
  Json list_metric_names(int64_t trial_id);
  Json list_checkpoints(int64_t trial_id, const Page &page);  // 0: of all trials
  Json get_checkpoint(const std::string &id);
  // By the beginning of its id. Throws Code::conflict where several begin so.
  Json find_checkpoint(const std::string &text);
  // Where one is, as a run of its experiment opens that, with its secrets: not for display.
  Json checkpoint_storage(const std::string &id);
  int64_t find_trial(const std::string &text);  // as read_trial_text() says
  Json list_logs(int64_t trial_id, const Page &page);

  // With some of {"name", "notes", "tags": [], "archived": false}. Gives its entry.
  Json update_experiment(int64_t experiment_id, const Json &changes);
  // As the functions of deletion.h.
  KeptFiles begin_deletion(int64_t experiment_id);
  KeptFiles kept_files(int64_t experiment_id);
  DeletedFiles delete_files(int64_t experiment_id, Logger &logger);
  void note_failed_deletion(int64_t experiment_id);
  void delete_records(int64_t experiment_id);
  // Its files, and then it counts as deleted. Gives {"uuid", "size"}. Throws Code::state where
  // something starts from it.
  Json delete_checkpoint(const std::string &id, Logger &logger);
  // What is pinned stays. Gives its entry. Throws Code::state where it began to be deleted.
  Json pin_checkpoint(const std::string &id, bool pinned);
  // {"experiments": [{"experiment_id", "name", "checkpoints", "size"}]}, the largest first.
  Json checkpoint_usage();

  Json control(Target target, int64_t id, Action action);
  // Deletes the checkpoints that the experiment's configuration does not keep; `dry`: only tells
  // which ones these are.
  Json collect_garbage(int64_t experiment_id, bool dry, Logger &logger);
  // The outside of a custom search. {"events": [...]}: those that wait, or after `limit` none.
  // Where the experiment is not active, one of id -1 says so.
  Json search_events(int64_t experiment_id, std::chrono::milliseconds limit);
  // Hands `operations`, a list, to the supervisor, and waits until it has carried them out.
  // {"refused": text or null}. Throws Code::not_found when no such event waits, Code::unavailable
  // when the experiment has no supervisor.
  Json post_operations(int64_t experiment_id, int64_t event_id, const Json &operations);

  // As the functions of experiment.h.
  int64_t create_experiment(const Json &config, const std::string &original,
                            const LaunchPlan &launch);
  ExperimentRecord read_experiment(int64_t experiment_id);

  // For who looks on while an experiment runs.
  TrialGlance glance(int64_t trial_id);
  std::optional<int64_t> first_paused_trial(int64_t experiment_id);
  std::map<std::string, int64_t> count_trials(int64_t experiment_id);  // by their states
  std::optional<BestTrialRecord> best_trial(int64_t experiment_id);

 private:
  Database &records() { return store_.database(); }
  // Throw Code::not_found, naming what was tried.
  void require_trial(int64_t trial_id, const char *tried);
  void require_experiment(int64_t experiment_id, const char *tried);
  Json entry_of_experiment(int64_t experiment_id, const char *tried);
  Json description(int64_t experiment_id);
  Json entry_of_checkpoint(const std::string &id);

  std::mutex mutex_;  // guards the connection
  Store store_;
};

}  // namespace det::engine

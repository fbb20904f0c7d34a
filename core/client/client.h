// Queries and control over a store or a master: what det/client.h and `det` show and steer. Answers
// are JSON objects whose keys docs/client.md lists.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/engine/records/control.h"
#include "core/engine/records/page.h"
#include "core/master/rest/connect.h"
#include "core/storage/storage.h"

namespace det::client {

// One method for each call of det/client.h, so that it has many.
class Client {
 public:
  virtual ~Client() = default;

  virtual Json list_experiments(const engine::Page &page) = 0;
  virtual Json get_experiment(int64_t experiment_id) = 0;
  // Of get_experiment() what needs no look at the trials: name, state, configuration and error.
  virtual Json describe_experiment(int64_t experiment_id) = 0;
  virtual Json list_trials(int64_t experiment_id,
                           const engine::Page &page) = 0;  // 0: of all experiments
  virtual Json get_trial(int64_t trial_id) = 0;
  // As text, which is what a store has of it: a page is long, and need not be taken apart here.
  virtual std::string metrics_text(int64_t trial_id, const std::optional<std::string> &group,
                                   const engine::Page &page) = 0;
  Json list_metrics(int64_t trial_id, const std::optional<std::string> &group,
                    const engine::Page &page);
  // Those of a trial, by run and rank; see RankTrace. A master over HTTP has none.
  virtual std::vector<std::filesystem::path> trace_files(int64_t /*trial_id*/) { return {}; }
  // Of all reports: {"training": ["loss"]}.
  virtual Json list_metric_names(int64_t trial_id) = 0;
  virtual Json list_checkpoints(int64_t trial_id,
                                const engine::Page &page) = 0;  // 0: of all trials
  virtual Json get_checkpoint(const std::string &id) = 0;
  // What opens the storage that it is in, with credentials: not for display. Null: nobody says.
  virtual Json checkpoint_storage(const std::string &id) = 0;
  // By what people type: the beginning of an id, and the id or the external id of a trial. They
  // answer as get_checkpoint() and get_trial().
  virtual Json find_checkpoint(const std::string &text) = 0;
  virtual Json find_trial(const std::string &text) = 0;
  virtual Json list_logs(int64_t trial_id, const engine::Page &page) = 0;
  // As det_client_update_experiment() and det_client_delete_experiment().
  virtual Json update_experiment(int64_t experiment_id, const Json &changes) = 0;
  virtual Json delete_experiment(int64_t experiment_id) = 0;
  virtual Json delete_checkpoint(const std::string &id) = 0;
  virtual Json pin_checkpoint(const std::string &id, bool pinned) = 0;
  virtual Json checkpoint_usage() = 0;
  virtual Json control(engine::Target target, int64_t id, engine::Action action) = 0;
  virtual Json sync() = 0;
  // Deletes the checkpoints that the experiment's configuration does not keep; `dry`: only tells
  // which ones these are.
  virtual Json collect_garbage(int64_t experiment_id, bool dry) = 0;
  virtual Json search_events(int64_t experiment_id, std::chrono::milliseconds limit) = 0;
  virtual Json post_operations(int64_t experiment_id, int64_t event_id, const Json &operations) = 0;
};

// Of a checkpoint. Throws Code::unsupported where nobody says where it is.
std::unique_ptr<storage::Storage> open_storage(Client &client, const std::string &checkpoint_id);

// Throws Code::invalid for 0, which stands for all experiments.
void require_one_experiment(int64_t experiment_id);

// The best trial of an experiment, and the checkpoint to take from it.
Json best_trial(Client &client, int64_t experiment_id);
// Which hyperparameters mattered. Throws Code::state where there are too few trials to tell.
Json hparam_importance(Client &client, int64_t experiment_id);

// `master` as in det_core_options; empty for the default. Makes nothing. Without a logger, what is
// not thrown is not told.
std::unique_ptr<Client> open_client(const std::string &master,
                                    const master::UserAccess &access = {},
                                    std::shared_ptr<Logger> logger = nullptr);

}  // namespace det::client

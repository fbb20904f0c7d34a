// The client of a master over HTTP.
#pragma once

#include <memory>
#include <mutex>

#include "core/client/client.h"
#include "core/client/rest_logs.h"
#include "core/client/rest_metrics.h"
#include "core/codec/trial.h"
#include "core/master/rest/master_session.h"

namespace det::client {

// Cursors are places in a list, counted from its start (of lines of a log: their ids), so what is
// added before a place while a list is walked moves the rest. Any thread.
class RestClient : public Client {
 public:
  RestClient(std::shared_ptr<master::MasterSession> session, std::shared_ptr<Logger> logger);

  Json list_experiments(const engine::Page &page) override;
  Json get_experiment(int64_t experiment_id) override;
  Json describe_experiment(int64_t experiment_id) override;
  Json list_trials(int64_t experiment_id, const engine::Page &page) override;
  Json get_trial(int64_t trial_id) override;
  std::string metrics_text(int64_t trial_id, const std::optional<std::string> &group,
                           const engine::Page &page) override;
  Json list_metric_names(int64_t trial_id) override;
  Json list_checkpoints(int64_t trial_id, const engine::Page &page) override;
  Json get_checkpoint(const std::string &id) override;
  Json checkpoint_storage(const std::string &id) override;
  Json find_checkpoint(const std::string &text) override;
  Json find_trial(const std::string &text) override;
  Json list_logs(int64_t trial_id, const engine::Page &page) override;
  Json update_experiment(int64_t experiment_id, const Json &changes) override;
  Json delete_experiment(int64_t experiment_id) override;
  Json delete_checkpoint(const std::string &id) override;
  Json pin_checkpoint(const std::string &id, bool pinned) override;
  Json checkpoint_usage() override;
  Json control(engine::Target target, int64_t id, engine::Action action) override;
  Json sync() override;
  Json collect_garbage(int64_t experiment_id, bool dry) override;
  Json search_events(int64_t experiment_id, std::chrono::milliseconds limit) override;
  Json post_operations(int64_t experiment_id, int64_t event_id, const Json &operations) override;

 private:
  // Both throw Code::not_found, naming what was tried.
  codec::Experiment experiment(int64_t id, const std::string &tried);
  codec::Trial trial(int64_t id, const std::string &tried);
  codec::Checkpoint checkpoint(const std::string &id);

  std::vector<Json> all_trials(const codec::Experiment &experiment);
  Json list_trials_by_metric(const codec::Experiment &experiment, const engine::Page &page);
  Json latest_checkpoint(int64_t trial_id);
  // Where a master does not tell: those of so many of the first reports.
  Json metric_names(const codec::Trial &trial, int64_t most);

  const std::shared_ptr<master::MasterSession> session_;
  const std::shared_ptr<Logger> logger_;
  std::mutex mutex_;  // guards the two below
  MetricReader metrics_;
  LogReader logs_;
};

}  // namespace det::client

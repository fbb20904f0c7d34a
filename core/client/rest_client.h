// The client of a master over HTTP.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/client/client.h"
#include "core/client/rest_checkpoints.h"
#include "core/client/rest_experiments.h"
#include "core/client/rest_trials.h"
#include "core/master/rest/master_session.h"

namespace det::client {

// Cursors are places in a list, counted from its start (of lines of a log: their ids), so what is
// added before a place while a list is walked moves the rest. Any thread.
class RestClient : public Client {
 public:
  RestClient(std::shared_ptr<master::MasterSession> session, std::shared_ptr<Logger> logger)
      : session_(std::move(session)), logger_(std::move(logger)) {}

  Json list_experiments(const engine::Page &page) override { return experiments_.list(page); }
  Json get_experiment(int64_t id) override { return experiments_.get(id); }
  Json describe_experiment(int64_t id) override { return experiments_.describe(id); }
  Json list_trials(int64_t experiment_id, const engine::Page &page) override {
    return trials_.list(experiment_id, page);
  }
  Json get_trial(int64_t id) override { return trials_.get(id); }
  std::string metrics_text(int64_t trial_id, const std::optional<std::string> &group,
                           const engine::Page &page) override {
    return trials_.metrics_text(trial_id, group, page);
  }
  Json list_metric_names(int64_t trial_id) override { return trials_.metric_names(trial_id); }
  Json list_checkpoints(int64_t trial_id, const engine::Page &page) override {
    return checkpoints_.list(trial_id, page);
  }
  Json get_checkpoint(const std::string &id) override { return checkpoints_.get(id); }
  Json checkpoint_storage(const std::string &id) override { return checkpoints_.storage_of(id); }
  Json find_checkpoint(const std::string &text) override { return checkpoints_.find(text); }
  Json find_trial(const std::string &text) override { return trials_.find_by_text(text); }
  Json list_logs(int64_t trial_id, const engine::Page &page) override {
    return trials_.logs(trial_id, page);
  }
  Json update_experiment(int64_t id, const Json &changes) override {
    return experiments_.update(id, changes);
  }
  Json delete_experiment(int64_t id) override { return experiments_.remove(id); }
  Json delete_checkpoint(const std::string &id) override { return checkpoints_.remove(id); }
  Json pin_checkpoint(const std::string &id, bool pinned) override;
  Json checkpoint_usage() override { return checkpoints_.usage(); }
  Json control(engine::Target target, int64_t id, engine::Action action) override;
  Json sync() override;
  Json collect_garbage(int64_t experiment_id, bool dry) override;
  Json search_events(int64_t experiment_id, std::chrono::milliseconds limit) override;
  Json post_operations(int64_t experiment_id, int64_t event_id, const Json &operations) override;

 private:
  const std::shared_ptr<master::MasterSession> session_;
  const std::shared_ptr<Logger> logger_;
  RestExperiments experiments_{*session_, logger_};
  RestTrials trials_{*session_, experiments_};
  RestCheckpoints checkpoints_{*session_, experiments_, trials_, logger_};
};

}  // namespace det::client

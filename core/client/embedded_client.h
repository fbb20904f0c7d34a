// The client of a store on this machine.
#pragma once

#include "core/client/client.h"
#include "core/engine/engine.h"

namespace det::client {

class EmbeddedClient : public Client {
 public:
  // Opens an existing store.
  EmbeddedClient(std::filesystem::path store_directory, std::shared_ptr<Logger> logger,
                 engine::StoreOptions options = {});

  Json list_experiments(const engine::Page &page) override {
    return engine_.experiments().list(page);
  }
  Json get_experiment(int64_t experiment_id) override;
  Json describe_experiment(int64_t id) override { return engine_.experiments().describe(id); }
  Json list_trials(int64_t experiment_id, const engine::Page &page) override;
  Json get_trial(int64_t trial_id) override;
  std::string metrics_text(int64_t trial_id, const std::optional<std::string> &group,
                           const engine::Page &page) override {
    return engine_.metrics().text(trial_id, group, page);
  }
  std::vector<std::filesystem::path> trace_files(int64_t trial_id) override;
  Json list_metric_names(int64_t trial_id) override { return engine_.metrics().names(trial_id); }
  Json list_checkpoints(int64_t trial_id, const engine::Page &page) override {
    return engine_.checkpoints().list(trial_id, page);
  }
  Json get_checkpoint(const std::string &id) override { return engine_.checkpoints().get(id); }
  Json checkpoint_storage(const std::string &id) override {
    return engine_.checkpoints().storage_of(id);
  }
  Json find_checkpoint(const std::string &text) override {
    return engine_.checkpoints().find(text);
  }
  Json find_trial(const std::string &text) override {
    return get_trial(engine_.trials().find(text));
  }
  Json list_logs(int64_t trial_id, const engine::Page &page) override {
    return engine_.trials().logs(trial_id, page);
  }
  Json update_experiment(int64_t id, const Json &changes) override {
    return engine_.experiments().update(id, changes);
  }
  Json delete_experiment(int64_t id) override;
  Json delete_checkpoint(const std::string &id) override {
    return engine_.checkpoints().remove(id, *logger_);
  }
  Json pin_checkpoint(const std::string &id, bool pinned) override {
    return engine_.checkpoints().pin(id, pinned);
  }
  Json checkpoint_usage() override { return engine_.checkpoints().usage(); }
  Json control(engine::Target target, int64_t id, engine::Action action) override {
    return engine_.control().act(target, id, action);
  }
  Json sync() override;
  Json collect_garbage(int64_t experiment_id, bool dry) override {
    return engine_.checkpoints().collect_garbage(experiment_id, dry, *logger_);
  }
  Json search_events(int64_t experiment_id, std::chrono::milliseconds limit) override {
    return engine_.searches().events(experiment_id, limit);
  }
  Json post_operations(int64_t experiment_id, int64_t event_id, const Json &operations) override {
    return engine_.searches().post(experiment_id, event_id, operations);
  }

 private:
  const std::filesystem::path store_directory_;
  const std::shared_ptr<Logger> logger_;
  engine::Engine engine_;
};

}  // namespace det::client

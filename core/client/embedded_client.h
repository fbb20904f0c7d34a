// The client of a store on this machine.
#pragma once

#include <mutex>
#include <vector>

#include "core/client/client.h"
#include "core/engine/store.h"

namespace det {

class EmbeddedClient : public Client {
 public:
  // Opens an existing store.
  explicit EmbeddedClient(std::filesystem::path store_directory, StoreOptions options = {});

  Json list_experiments(const Page &page) override;
  Json get_experiment(int64_t experiment_id) override;
  Json describe_experiment(int64_t experiment_id) override;
  Json list_trials(int64_t experiment_id, const Page &page) override;
  Json get_trial(int64_t trial_id) override;
  std::string metrics_text(int64_t trial_id, const std::optional<std::string> &group,
                           const Page &page) override;
  Json list_metric_names(int64_t trial_id) override;
  Json list_checkpoints(int64_t trial_id, const Page &page) override;
  Json get_checkpoint(const std::string &id) override;
  Json list_logs(int64_t trial_id, const Page &page) override;
  Json control(Target target, int64_t id, Action action) override;
  Json sync() override;
  Json collect_garbage(int64_t experiment_id, bool dry) override;
  Json search_events(int64_t experiment_id, std::chrono::milliseconds limit) override;
  Json post_operations(int64_t experiment_id, int64_t event_id, const Json &operations) override;

 private:
  void require_trial(int64_t trial_id, const char *tried);
  // Throws Code::not_found, naming what was tried.
  Json entry_of_experiment(int64_t experiment_id, const char *tried);
  Json description(int64_t experiment_id);

  std::mutex mutex_;  // guards the connection
  const std::filesystem::path store_directory_;
  const StoreOptions options_;
  Database store_;
};

}  // namespace det

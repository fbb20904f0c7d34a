// Reads and steers experiments, trials, metrics, checkpoints and logs, in any store or on any
// master. docs/client.md lists the keys of every answer.
#pragma once

#include <det/client.h>
#include <det/client_options.hpp>
#include <det/detail/array_view.hpp>
#include <det/detail/callbacks.hpp>
#include <det/detail/handle.hpp>
#include <det/error.hpp>
#include <det/json.hpp>
#include <det/log.hpp>
#include <det/storage.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace det {
inline namespace v1 {

enum class ClientTarget : det_client_target {
  experiment = DET_CLIENT_TARGET_EXPERIMENT,
  trial = DET_CLIENT_TARGET_TRIAL,
};

enum class ClientAction : det_client_action {
  pause = DET_CLIENT_ACTION_PAUSE,
  activate = DET_CLIENT_ACTION_ACTIVATE,
  cancel = DET_CLIENT_ACTION_CANCEL,
  kill = DET_CLIENT_ACTION_KILL,
};

// The values of one metric of a trial. The arrays are borrowed and have the same size.
class MetricSeries {
 public:
  MetricSeries() noexcept = default;
  explicit MetricSeries(det_metric_series *owned) noexcept : series_(owned) {}

  [[nodiscard]] size_t size() const noexcept { return det_metric_series_count(series_.get()); }
  [[nodiscard]] ArrayView<int64_t> steps_completed() const &noexcept {
    return {det_metric_series_steps_completed(series_.get()), size()};
  }
  [[nodiscard]] ArrayView<double> values() const &noexcept {
    return {det_metric_series_values(series_.get()), size()};
  }
  // Microseconds since 1970 in UTC. 0: the master does not know.
  [[nodiscard]] ArrayView<int64_t> times_us() const &noexcept {
    return {det_metric_series_times_us(series_.get()), size()};
  }
  // Not for a temporary series: its values would be freed before you can use them.
  ArrayView<int64_t> steps_completed() const && = delete;
  ArrayView<double> values() const && = delete;
  ArrayView<int64_t> times_us() const && = delete;

  [[nodiscard]] det_metric_series *capi() const noexcept { return series_.get(); }

 private:
  detail::Handle<det_metric_series, det_metric_series_free> series_;
};

// If the log callable throws, the call that caused the line throws the exception.
class Client {
 public:
  Client() noexcept = default;
  explicit Client(det_client *owned) noexcept : client_(owned) {}

  [[nodiscard]] static Client open(const ClientOptions &options = {}, OnFailure on = {});
  static Json login(const ClientOptions &options, OnFailure on = {}) {
    return account(on, det_client_login, options);
  }
  static Json logout(const ClientOptions &options = {}, OnFailure on = {}) {
    return account(on, det_client_logout, options);
  }
  [[nodiscard]] static Json whoami(const ClientOptions &options = {}, OnFailure on = {}) {
    return account(on, det_client_whoami, options);
  }

  [[nodiscard]] Json list_experiments(const Page &page = {}, OnFailure on = {}) const {
    const det_client_page c_page = detail::to_c(page);
    return answer(on, det_client_list_experiments, &c_page);
  }
  [[nodiscard]] Json get_experiment(int64_t experiment_id, OnFailure on = {}) const {
    return answer(on, det_client_get_experiment, experiment_id);
  }
  // 0: the trials of all experiments.
  [[nodiscard]] Json list_trials(int64_t experiment_id, const Page &page = {},
                                 OnFailure on = {}) const {
    const det_client_page c_page = detail::to_c(page);
    return answer(on, det_client_list_trials, experiment_id, &c_page);
  }
  [[nodiscard]] Json get_trial(int64_t trial_id, OnFailure on = {}) const {
    return answer(on, det_client_get_trial, trial_id);
  }
  // Finds it by its id or its external id.
  [[nodiscard]] Json find_trial(Text text, OnFailure on = {}) const {
    return answer(on, det_client_find_trial, text.c_str());
  }
  // Without `group`, the metrics of all groups.
  [[nodiscard]] Json list_metrics(int64_t trial_id, Text group = {}, const Page &page = {},
                                  OnFailure on = {}) const {
    const det_client_page c_page = detail::to_c(page);
    return answer(on, det_client_list_metrics, trial_id, group.c_str(), &c_page);
  }
  [[nodiscard]] Json list_metric_names(int64_t trial_id, OnFailure on = {}) const {
    return answer(on, det_client_list_metric_names, trial_id);
  }
  [[nodiscard]] MetricSeries get_metric_series(int64_t trial_id, Text group, Text name,
                                               OnFailure on = {}) const;
  // 0: the checkpoints of all trials.
  [[nodiscard]] Json list_checkpoints(int64_t trial_id, const Page &page = {},
                                      OnFailure on = {}) const {
    const det_client_page c_page = detail::to_c(page);
    return answer(on, det_client_list_checkpoints, trial_id, &c_page);
  }
  [[nodiscard]] Json get_checkpoint(Text storage_id, OnFailure on = {}) const {
    return answer(on, det_client_get_checkpoint, storage_id.c_str());
  }
  // Opens the storage of a checkpoint, with the credentials that are known for it.
  [[nodiscard]] Storage open_storage(Text storage_id, OnFailure on = {}) const {
    det_storage *storage = nullptr;
    detail::call(on, det_client_open_storage, client_.get(), storage_id.c_str(), &storage);
    return Storage(storage);
  }
  // Finds it by the beginning of its id.
  [[nodiscard]] Json find_checkpoint(Text text, OnFailure on = {}) const {
    return answer(on, det_client_find_checkpoint, text.c_str());
  }
  // In the Trace Event format.
  [[nodiscard]] Json get_trace(int64_t trial_id, OnFailure on = {}) const {
    return answer(on, det_client_get_trace, trial_id);
  }
  [[nodiscard]] Json list_logs(int64_t trial_id, const Page &page = {}, OnFailure on = {}) const {
    const det_client_page c_page = detail::to_c(page);
    return answer(on, det_client_list_logs, trial_id, &c_page);
  }
  [[nodiscard]] Json best_trial(int64_t experiment_id, OnFailure on = {}) const {
    return answer(on, det_client_best_trial, experiment_id);
  }
  [[nodiscard]] Json hparam_importance(int64_t experiment_id, OnFailure on = {}) const {
    return answer(on, det_client_hparam_importance, experiment_id);
  }

  Json control(ClientTarget target, int64_t id, ClientAction action, OnFailure on = {}) const {
    return answer(on, det_client_control, static_cast<det_client_target>(target), id,
                  static_cast<det_client_action>(action));
  }
  Json update_experiment(int64_t experiment_id, const Json &changes, OnFailure on = {}) const {
    return answer(on, det_client_update_experiment, experiment_id, changes.capi());
  }
  Json delete_experiment(int64_t experiment_id, OnFailure on = {}) const {
    return answer(on, det_client_delete_experiment, experiment_id);
  }
  Json collect_garbage(int64_t experiment_id, bool dry_run = false, OnFailure on = {}) const {
    return answer(on, det_client_collect_garbage, experiment_id, dry_run ? 1 : 0);
  }
  Json delete_checkpoint(Text storage_id, OnFailure on = {}) const {
    return answer(on, det_client_delete_checkpoint, storage_id.c_str());
  }
  Json pin_checkpoint(Text storage_id, bool pinned = true, OnFailure on = {}) const {
    return answer(on, det_client_pin_checkpoint, storage_id.c_str(), pinned ? 1 : 0);
  }
  [[nodiscard]] Json checkpoint_usage(OnFailure on = {}) const {
    return answer(on, det_client_checkpoint_usage);
  }
  Json sync(OnFailure on = {}) const { return answer(on, det_client_sync); }

  // For a search whose method is your own program.
  [[nodiscard]] Json search_events(int64_t experiment_id, Timeout timeout = {},
                                   OnFailure on = {}) const {
    return answer(on, det_client_search_events, experiment_id, timeout.capi());
  }
  Json post_operations(int64_t experiment_id, int64_t event_id, const Json &operations,
                       OnFailure on = {}) const {
    return answer(on, det_client_post_operations, experiment_id, event_id, operations.capi());
  }

  [[nodiscard]] det_client *capi() const noexcept { return client_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return client_ != nullptr; }

 private:
  // The log callable must outlive the client.
  struct ReleaseClient {
    std::shared_ptr<detail::LogSink> log;
    void operator()(det_client *client) const noexcept { det_client_free(client); }
  };
  using Handle = std::unique_ptr<det_client, ReleaseClient>;

  explicit Client(Handle client) noexcept : client_(std::move(client)) {}

  static void rethrow(const std::shared_ptr<detail::LogSink> &log) {
    if (log != nullptr) log->rethrow();
  }

  template <class Function>
  static Json account(OnFailure on, Function *function, const ClientOptions &options) {
    det_client_options c_options = detail::to_c(options);
    const auto log = detail::send_log(options.log, c_options);
    Json json = detail::answer(on, function, static_cast<const det_client_options *>(&c_options));
    rethrow(log);
    return json;
  }

  template <class Function, class... Arguments>
  Json answer(OnFailure on, Function *function, Arguments... arguments) const {
    Json json = detail::answer(on, function, client_.get(), arguments...);
    rethrow(client_.get_deleter().log);
    return json;
  }

  Handle client_;
};

inline Client Client::open(const ClientOptions &options, OnFailure on) {
  det_client_options c_options = detail::to_c(options);
  const auto log = detail::send_log(options.log, c_options);
  det_client *client = nullptr;
  detail::call(on, det_client_open, &c_options, &client);
  Client owned(Handle(client, {log}));
  rethrow(log);
  return owned;
}

inline MetricSeries Client::get_metric_series(int64_t trial_id, Text group, Text name,
                                              OnFailure on) const {
  det_metric_series *series = nullptr;
  detail::call(on, det_client_get_metric_series, client_.get(), trial_id, group.c_str(),
               name.c_str(), &series);
  MetricSeries owned(series);
  rethrow(client_.get_deleter().log);
  return owned;
}

}  // namespace v1
}  // namespace det

#include <det/client.h>

#include <memory>
#include <optional>

#include "capi/guard.h"
#include "capi/host_log.h"
#include "capi/storage_handle.h"
#include "core/base/json.h"
#include "core/base/log/log_relay.h"
#include "core/client/account.h"
#include "core/client/client.h"
#include "core/client/metric_series.h"
#include "core/client/trace.h"

static_assert(static_cast<int>(det::engine::Target::trial) == DET_CLIENT_TARGET_TRIAL);
static_assert(static_cast<int>(det::engine::Action::kill) == DET_CLIENT_ACTION_KILL);

struct det_client {
  std::shared_ptr<det::Logger> logger;
  std::unique_ptr<det::client::Client> impl;
};

struct det_metric_series {
  det::client::MetricSeries impl;
};

namespace {

det::engine::Page page_from(const det_client_page *page) {
  const auto given = read_options<det_client_page>(page, DET_CLIENT_PAGE_INIT, "page");
  if (given.after < 0 || given.limit < 0)
    throw det::Error(det::Code::invalid,
                     "reading a list: page.after and page.limit must be 0 or "
                     "more");
  if (given.archived < 0 || given.archived > 2)
    throw det::Error(det::Code::invalid, "reading a list: page.archived is " +
                                             std::to_string(given.archived) + "; give 0, 1 or 2");
  return {given.after,
          given.limit != 0 ? given.limit : det::engine::Page().limit,
          given.descending != 0,
          given.by_metric != 0,
          {det::engine::read_states(text_or_empty(given.state)), text_or_empty(given.name),
           text_or_empty(given.tag), static_cast<det::engine::Archived>(given.archived),
           given.running != 0}};
}

std::optional<std::string> text_or_none(const char *argument) {
  return argument != nullptr ? std::optional<std::string>(argument) : std::nullopt;
}

// The options of a caller, for as long as its host is called.
class Access {
 public:
  explicit Access(const det_client_options *options)
      : given_(read_options<det_client_options>(options, DET_CLIENT_OPTIONS_INIT, "options")),
        logger_(make_logger(host_log_from(given_))) {}
  Access(const Access &) = delete;
  Access &operator=(const Access &) = delete;
  ~Access() {
    if (logger_) end_host_log(*logger_);
  }

  std::string master() const { return text_or_empty(given_.master); }
  const std::shared_ptr<det::Logger> &logger() const { return logger_; }
  std::shared_ptr<det::Logger> take_logger() { return std::move(logger_); }

  det::master::UserAccess user() const {
    if (given_.token != nullptr && (given_.user != nullptr || given_.password != nullptr))
      throw det::Error(det::Code::invalid,
                       "connecting to a master: a token is given, and a user or password as well; "
                       "give one of them");
    if (given_.timeout_ms == DET_TIMEOUT_NONE)
      throw det::Error(det::Code::invalid,
                       "connecting to a master: timeout_ms is DET_TIMEOUT_NONE; every answer takes "
                       "a while");
    det::master::UserAccess access{text_or_none(given_.user), text_or_none(given_.password),
                                   text_or_empty(given_.token), text_or_empty(given_.cert_file)};
    if (given_.timeout_ms != DET_TIMEOUT_DEFAULT)
      access.limit = finite_limit_from(given_.timeout_ms, {}, "timeout_ms");
    return access;
  }

 private:
  std::shared_ptr<det::Logger> make_logger(const HostLog &log) const {
    const det::LogLevel level =
        log_level_from(given_.log_level, det::LogLevel::warning, "log_level");
    if (const det::LogCallback callback = log.callback())
      return std::make_shared<det::Logger>(level, std::make_shared<det::LogRelay>(callback));
    if (log.queue()) return std::make_shared<det::Logger>(level, log.queue());
    // What is not thrown has no reader.
    return std::make_shared<det::Logger>(det::LogLevel::error,
                                         [](det::LogLevel, const std::string &) {});
  }

  const det_client_options given_;
  std::shared_ptr<det::Logger> logger_;
};

std::string answer_text(const det::Json &answer) { return det::to_wire(answer); }
std::string answer_text(std::string &&text) { return std::move(text); }

// Every query: ask, and hand out the answer as text.
template <class Ask>
det_status query(det_client *client, char **out_json, det_error *err, Ask &&ask) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json",
         [&] { return copy_text(answer_text(ask(*deref(client, "client").impl))); });
  });
}

// What changes something: the answer may be left out.
template <class Act>
det_status act(char **out_json, det_error *err, Act &&make) noexcept {
  return guarded(err, [&] {
    if (out_json != nullptr) *out_json = nullptr;
    const det::Json answer = make();
    if (out_json != nullptr) *out_json = copy_text(det::to_wire(answer));
  });
}

template <class Ask>
det_status command(det_client *client, char **out_json, det_error *err, Ask &&ask) noexcept {
  return act(out_json, err, [&] { return ask(*deref(client, "client").impl); });
}

}  // namespace

det_status det_client_open(const det_client_options *options, det_client **out,
                           det_error *err) noexcept {
  return guarded(err, [&] {
    if (out != nullptr) *out = nullptr;
    Access access(options);
    give(out, "out", [&] {
      auto client = det::client::open_client(access.master(), access.user(), access.logger());
      return new det_client{access.take_logger(), std::move(client)};
    });
  });
}

void det_client_free(det_client *client) noexcept {
  if (client == nullptr) return;
  const std::shared_ptr<det::Logger> logger = client->logger;
  delete client;
  end_host_log(*logger);
}

det_status det_client_login(const det_client_options *options, char **out_json,
                            det_error *err) noexcept {
  return act(out_json, err, [&] {
    const Access access(options);
    const det::master::UserAccess login = access.user();
    if (!login.token.empty())
      throw det::Error(det::Code::invalid,
                       "logging in: a token is given; who has one needs no login");
    return det::client::log_in_account(access.master(), login, access.logger());
  });
}

det_status det_client_logout(const det_client_options *options, char **out_json,
                             det_error *err) noexcept {
  return act(out_json, err, [&] {
    const Access access(options);
    return det::client::log_out_account(access.master(), access.user(), access.logger());
  });
}

det_status det_client_whoami(const det_client_options *options, char **out_json,
                             det_error *err) noexcept {
  return guarded(err, [&] {
    if (out_json != nullptr) *out_json = nullptr;
    const Access access(options);
    give(out_json, "out_json", [&] {
      return copy_text(
          det::to_wire(det::client::show_account(access.master(), access.user(), access.logger())));
    });
  });
}

det_status det_client_list_experiments(det_client *client, const det_client_page *page,
                                       char **out_json, det_error *err) noexcept {
  return query(client, out_json, err,
               [&](det::client::Client &impl) { return impl.list_experiments(page_from(page)); });
}

det_status det_client_get_experiment(det_client *client, int64_t experiment_id, char **out_json,
                                     det_error *err) noexcept {
  return query(client, out_json, err,
               [&](det::client::Client &impl) { return impl.get_experiment(experiment_id); });
}

det_status det_client_list_trials(det_client *client, int64_t experiment_id,
                                  const det_client_page *page, char **out_json,
                                  det_error *err) noexcept {
  return query(client, out_json, err, [&](det::client::Client &impl) {
    return impl.list_trials(experiment_id, page_from(page));
  });
}

det_status det_client_get_trial(det_client *client, int64_t trial_id, char **out_json,
                                det_error *err) noexcept {
  return query(client, out_json, err,
               [&](det::client::Client &impl) { return impl.get_trial(trial_id); });
}

det_status det_client_list_metrics(det_client *client, int64_t trial_id, const char *group,
                                   const det_client_page *page, char **out_json,
                                   det_error *err) noexcept {
  return query(client, out_json, err, [&](det::client::Client &impl) {
    return impl.metrics_text(trial_id, text_or_none(group), page_from(page));
  });
}

det_status det_client_get_trace(det_client *client, int64_t trial_id, char **out_json,
                                det_error *err) noexcept {
  return query(client, out_json, err,
               [&](det::client::Client &impl) { return det::client::trial_trace(impl, trial_id); });
}

det_status det_client_get_metric_series(det_client *client, int64_t trial_id, const char *group,
                                        const char *name, det_metric_series **out,
                                        det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      return new det_metric_series{det::client::read_metric_series(
          *deref(client, "client").impl, trial_id, text(group, "group"), text(name, "name"))};
    });
  });
}

size_t det_metric_series_count(const det_metric_series *series) noexcept {
  return series != nullptr ? series->impl.steps.size() : 0;
}

const int64_t *det_metric_series_steps_completed(const det_metric_series *series) noexcept {
  return series != nullptr ? series->impl.steps.data() : nullptr;
}

const double *det_metric_series_values(const det_metric_series *series) noexcept {
  return series != nullptr ? series->impl.values.data() : nullptr;
}

const int64_t *det_metric_series_times_us(const det_metric_series *series) noexcept {
  return series != nullptr ? series->impl.times_us.data() : nullptr;
}

void det_metric_series_free(det_metric_series *series) noexcept { delete series; }

det_status det_client_list_metric_names(det_client *client, int64_t trial_id, char **out_json,
                                        det_error *err) noexcept {
  return query(client, out_json, err,
               [&](det::client::Client &impl) { return impl.list_metric_names(trial_id); });
}

det_status det_client_list_checkpoints(det_client *client, int64_t trial_id,
                                       const det_client_page *page, char **out_json,
                                       det_error *err) noexcept {
  return query(client, out_json, err, [&](det::client::Client &impl) {
    return impl.list_checkpoints(trial_id, page_from(page));
  });
}

det_status det_client_get_checkpoint(det_client *client, const char *storage_id, char **out_json,
                                     det_error *err) noexcept {
  return query(client, out_json, err, [&](det::client::Client &impl) {
    return impl.get_checkpoint(text(storage_id, "storage_id"));
  });
}

det_status det_client_open_storage(det_client *client, const char *storage_id, det_storage **out,
                                   det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      return new det_storage{
          det::client::open_storage(*deref(client, "client").impl, text(storage_id, "storage_id"))};
    });
  });
}

det_status det_client_find_checkpoint(det_client *client, const char *typed, char **out_json,
                                      det_error *err) noexcept {
  return query(client, out_json, err, [&](det::client::Client &impl) {
    return impl.find_checkpoint(text(typed, "text"));
  });
}

det_status det_client_find_trial(det_client *client, const char *typed, char **out_json,
                                 det_error *err) noexcept {
  return query(client, out_json, err,
               [&](det::client::Client &impl) { return impl.find_trial(text(typed, "text")); });
}

det_status det_client_list_logs(det_client *client, int64_t trial_id, const det_client_page *page,
                                char **out_json, det_error *err) noexcept {
  return query(client, out_json, err, [&](det::client::Client &impl) {
    return impl.list_logs(trial_id, page_from(page));
  });
}

det_status det_client_best_trial(det_client *client, int64_t experiment_id, char **out_json,
                                 det_error *err) noexcept {
  return query(client, out_json, err, [&](det::client::Client &impl) {
    return det::client::best_trial(impl, experiment_id);
  });
}

det_status det_client_hparam_importance(det_client *client, int64_t experiment_id, char **out_json,
                                        det_error *err) noexcept {
  return query(client, out_json, err, [&](det::client::Client &impl) {
    return det::client::hparam_importance(impl, experiment_id);
  });
}

det_status det_client_collect_garbage(det_client *client, int64_t experiment_id, int32_t dry_run,
                                      char **out_json, det_error *err) noexcept {
  return command(client, out_json, err, [&](det::client::Client &impl) {
    return impl.collect_garbage(experiment_id, dry_run != 0);
  });
}

det_status det_client_delete_checkpoint(det_client *client, const char *storage_id, char **out_json,
                                        det_error *err) noexcept {
  return command(client, out_json, err, [&](det::client::Client &impl) {
    return impl.delete_checkpoint(text(storage_id, "storage_id"));
  });
}

det_status det_client_pin_checkpoint(det_client *client, const char *storage_id, int32_t pinned,
                                     char **out_json, det_error *err) noexcept {
  return command(client, out_json, err, [&](det::client::Client &impl) {
    return impl.pin_checkpoint(text(storage_id, "storage_id"), pinned != 0);
  });
}

det_status det_client_checkpoint_usage(det_client *client, char **out_json,
                                       det_error *err) noexcept {
  return query(client, out_json, err,
               [&](det::client::Client &impl) { return impl.checkpoint_usage(); });
}

det_status det_client_search_events(det_client *client, int64_t experiment_id,
                                    det_timeout timeout_ms, char **out_json,
                                    det_error *err) noexcept {
  return query(client, out_json, err, [&](det::client::Client &impl) {
    constexpr std::chrono::seconds usual{60};
    return impl.search_events(experiment_id, finite_limit_from(timeout_ms, usual, "timeout_ms"));
  });
}

det_status det_client_post_operations(det_client *client, int64_t experiment_id, int64_t event_id,
                                      const char *operations, char **out_json,
                                      det_error *err) noexcept {
  return command(client, out_json, err, [&](det::client::Client &impl) {
    return impl.post_operations(experiment_id, event_id,
                                det::parse_json(text_or_empty(operations), "operations"));
  });
}

det_status det_client_update_experiment(det_client *client, int64_t experiment_id,
                                        const char *changes_json, char **out_json,
                                        det_error *err) noexcept {
  return command(client, out_json, err, [&](det::client::Client &impl) {
    return impl.update_experiment(
        experiment_id, det::parse_json_object(text(changes_json, "changes_json"), "changes_json"));
  });
}

det_status det_client_delete_experiment(det_client *client, int64_t experiment_id, char **out_json,
                                        det_error *err) noexcept {
  return command(client, out_json, err,
                 [&](det::client::Client &impl) { return impl.delete_experiment(experiment_id); });
}

det_status det_client_control(det_client *client, det_client_target target, int64_t id,
                              det_client_action action, char **out_json, det_error *err) noexcept {
  return command(client, out_json, err, [&](det::client::Client &impl) {
    if (target < DET_CLIENT_TARGET_EXPERIMENT || target > DET_CLIENT_TARGET_TRIAL)
      throw det::Error(det::Code::invalid,
                       "steering: there is no target " + std::to_string(target));
    if (action < DET_CLIENT_ACTION_PAUSE || action > DET_CLIENT_ACTION_KILL)
      throw det::Error(det::Code::invalid,
                       "steering: there is no action " + std::to_string(action));
    return impl.control(static_cast<det::engine::Target>(target), id,
                        static_cast<det::engine::Action>(action));
  });
}

det_status det_client_sync(det_client *client, char **out_json, det_error *err) noexcept {
  return command(client, out_json, err, [](det::client::Client &impl) { return impl.sync(); });
}

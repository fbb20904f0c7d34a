#include <det/client.h>

#include <memory>
#include <optional>

#include "capi/guard.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/client/account.h"
#include "core/client/client.h"

static_assert(static_cast<int>(det::engine::Target::trial) == DET_CLIENT_TARGET_TRIAL);
static_assert(static_cast<int>(det::engine::Action::kill) == DET_CLIENT_ACTION_KILL);

struct det_client {
  std::unique_ptr<det::client::Client> impl;
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

void det_client_page_init(det_client_page *page) noexcept {
  if (page != nullptr) *page = DET_CLIENT_PAGE_INIT;
}

det_status det_client_open(const char *master, det_client **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out",
         [&] { return new det_client{det::client::open_client(text_or_empty(master))}; });
  });
}

void det_client_free(det_client *client) noexcept { delete client; }

det_status det_client_login(const char *master, const char *user, const char *password,
                            const char *cert_file, char **out_json, det_error *err) noexcept {
  return act(out_json, err, [&] {
    return det::client::log_in_account(
        text_or_empty(master),
        {text_or_none(user), text_or_none(password), text_or_empty(cert_file)},
        std::make_shared<det::Logger>());
  });
}

det_status det_client_logout(const char *master, const char *user, char **out_json,
                             det_error *err) noexcept {
  return act(out_json, err, [&] {
    return det::client::log_out_account(text_or_empty(master), text_or_none(user),
                                        std::make_shared<det::Logger>());
  });
}

det_status det_client_whoami(const char *master, char **out_json, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json", [&] {
      return copy_text(det::to_wire(
          det::client::show_account(text_or_empty(master), std::make_shared<det::Logger>())));
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

det_status det_client_search_events(det_client *client, int64_t experiment_id, int64_t timeout_ms,
                                    char **out_json, det_error *err) noexcept {
  return query(client, out_json, err, [&](det::client::Client &impl) {
    if (timeout_ms < 0)
      throw det::Error(det::Code::invalid, "reading the events of a search: timeout_ms is " +
                                               std::to_string(timeout_ms) + "; give 0 or more");
    return impl.search_events(experiment_id, std::chrono::milliseconds(timeout_ms));
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

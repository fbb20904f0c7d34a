#include "core/client/rest_client.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/client/rest_entries.h"
#include "core/client/rest_walk.h"
#include "core/client/sync.h"
#include "core/codec/unmanaged.h"
#include "core/config/secrets.h"
#include "core/master/rest/recover_rest_runs.h"

namespace det::client {

namespace {

constexpr const char *by_time = "SORT_BY_END_TIME";

bool is_uuid(const std::string &text) {
  static constexpr std::string_view form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::ranges::equal(text, form, [](char c, char wanted) {
    return wanted == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

Json list_page(const char *name, const engine::Page &page, Json entries,
               const codec::Pagination &pagination) {
  Json next = cursor_behind(page.after, entries.size(), pagination);
  return {{name, std::move(entries)}, {"next", std::move(next)}};
}

// Reads on until as many entries as a page wants match its filter. `read` gives a part of the list;
// null for an entry that does not match.
Json filter_page(const char *name, engine::Page page,
                 const std::function<ExperimentPart(const engine::Page &)> &read) {
  const int64_t limit = *part_of(page, "").limit;
  Json entries = Json::array();
  for (;;) {
    ExperimentPart part = read(page);
    int64_t taken = 0;
    for (Json &entry : part.entries) {
      if (static_cast<int64_t>(entries.size()) == limit) break;
      ++taken;
      if (!entry.is_null()) entries.push_back(std::move(entry));
    }
    Json next = cursor_behind(page.after, static_cast<size_t>(taken), part.pagination);
    if (next.is_null() || static_cast<int64_t>(entries.size()) == limit)
      return {{name, std::move(entries)}, {"next", std::move(next)}};
    page.after = next.get<int64_t>();
  }
}

Json entry_or_null(Json entry, const engine::Filter &filter) {
  return matches(entry, filter) ? std::move(entry) : Json();
}

ExperimentPart part_from(const codec::ListTrials::Answer &list, const codec::Experiment &experiment,
                         const engine::Filter &filter) {
  ExperimentPart part{{}, list.pagination};
  for (const codec::Trial &trial : list.trials)
    part.entries.push_back(entry_or_null(trial_entry(trial, experiment), filter));
  return part;
}

ExperimentPart part_from(const codec::CheckpointList &list) {
  ExperimentPart part{{}, list.pagination};
  for (const codec::Checkpoint &checkpoint : list.checkpoints)
    part.entries.push_back(checkpoint_entry(checkpoint));
  return part;
}

// Of every user.
Json list_all_trials(master::MasterSession &session, const engine::Page &page) {
  const auto ask = [&](const codec::Experiment &experiment, int64_t offset, int64_t limit) {
    return session.send(
        codec::ListTrials{experiment.id, part_of({offset, limit, page.descending}, sort_by_id)});
  };
  const auto read = [&](const codec::Experiment &experiment, const http::HttpAnswer &answer) {
    return part_from(session.read<codec::ListTrials>(answer), experiment, page.filter);
  };
  const auto count = [&](const codec::Experiment &of) {
    return matches(of, page.filter) ? of.trial_count : 0;
  };
  return walk_experiments(session, {"trials", count, ask, read}, page);
}

Json list_all_checkpoints(master::MasterSession &session, const engine::Page &page) {
  const auto ask = [&](const codec::Experiment &experiment, int64_t offset, int64_t limit) {
    return session.send(codec::ListExperimentCheckpoints{
        experiment.id, part_of({offset, limit, page.descending}, by_time)});
  };
  const auto read = [&](const codec::Experiment &, const http::HttpAnswer &answer) {
    return part_from(session.read<codec::ListExperimentCheckpoints>(answer));
  };
  engine::Page all = page;
  all.filter.archived = engine::Archived::with;
  return walk_experiments(
      session,
      {"checkpoints", [](const codec::Experiment &of) { return of.checkpoint_count; }, ask, read},
      all);
}

}  // namespace

RestClient::RestClient(std::shared_ptr<master::MasterSession> session,
                       std::shared_ptr<Logger> logger)
    : session_(std::move(session)),
      logger_(std::move(logger)),
      metrics_(session_),
      logs_(session_) {}

codec::Experiment RestClient::experiment(int64_t id, const std::string &tried) {
  try {
    return session_->call(codec::GetExperiment{id}).experiment;
  } catch (const Error &error) {
    if (error.http_status != 404) throw;
    throw_not_found(tried, "experiment", std::to_string(id), session_->url(), "det ls -e");
  }
}

codec::Trial RestClient::trial(int64_t id, const std::string &tried) {
  try {
    return session_->call(codec::GetTrial{id}).trial;
  } catch (const Error &error) {
    if (error.http_status != 404) throw;
    throw_not_found(tried, "trial", std::to_string(id), session_->url(), "det ls");
  }
}

Json RestClient::list_experiments(const engine::Page &page) {
  return filter_page("experiments", page, [&](const engine::Page &at) {
    const auto list = session_->call(codec::ListExperiments{.part = part_of(at, sort_by_id),
                                                            .archived = archived_of(page.filter)});
    ExperimentPart part{{}, list.pagination};
    for (const codec::Experiment &experiment : list.experiments)
      part.entries.push_back(matches(experiment, page.filter)
                                 ? entry_or_null(experiment_entry(experiment), page.filter)
                                 : Json());
    return part;
  });
}

Json RestClient::list_trials(int64_t experiment_id, const engine::Page &page) {
  if (page.by_metric) require_one_experiment(experiment_id);
  if (experiment_id == 0) return list_all_trials(*session_, page);
  const codec::Experiment experiment = this->experiment(experiment_id, "listing trials");
  engine::Filter filter = page.filter;
  if (filter.archived == engine::Archived::without) filter.archived = engine::Archived::with;
  if (!matches(experiment, filter)) return {{"trials", Json::array()}, {"next", nullptr}};
  if (page.by_metric) return list_trials_by_metric(experiment, page);
  return filter_page("trials", page, [&](const engine::Page &at) {
    return part_from(session_->call(codec::ListTrials{experiment_id, part_of(at, sort_by_id)}),
                     experiment, filter);
  });
}

std::string RestClient::metrics_text(int64_t trial_id, const std::optional<std::string> &group,
                                     const engine::Page &page) {
  engine::require_no_filter(page, "listing metrics");
  const codec::Trial trial = this->trial(trial_id, "listing metrics");
  const std::lock_guard guard(mutex_);
  return to_wire(metrics_.list(trial, group, page));
}

Json RestClient::list_metric_names(int64_t trial_id) {
  return metric_names(trial(trial_id, "listing the names of metrics"), INT64_MAX);
}

Json RestClient::list_checkpoints(int64_t trial_id, const engine::Page &page) {
  engine::require_no_filter(page, "listing checkpoints");
  if (trial_id == 0) return list_all_checkpoints(*session_, page);
  codec::CheckpointList list;
  try {
    list = session_->call(codec::ListTrialCheckpoints{trial_id, part_of(page, by_time)});
  } catch (const Error &error) {
    if (error.http_status != 404) throw;
    throw_not_found("listing checkpoints", "trial", std::to_string(trial_id), session_->url(),
                    "det ls");
  }
  return list_page("checkpoints", page, part_from(list).entries, list.pagination);
}

codec::Checkpoint RestClient::checkpoint(const std::string &id) {
  const auto not_found = [&] {
    throw_not_found("reading a checkpoint", "checkpoint", id, session_->url(), "det checkpoints");
  };
  if (!is_uuid(id)) not_found();  // masters fail on anything else
  try {
    return session_->call(codec::GetCheckpoint{id}).checkpoint;
  } catch (const Error &error) {
    if (error.http_status == 404) not_found();
    throw;
  }
}

Json RestClient::get_checkpoint(const std::string &id) {
  const codec::Checkpoint found = checkpoint(id);
  Json entry = checkpoint_entry(found);
  entry["storage"] = config::storage_with_masked_secrets(storage_of(found));
  return entry;
}

Json RestClient::checkpoint_storage(const std::string &id) { return storage_of(checkpoint(id)); }

Json RestClient::list_logs(int64_t trial_id, const engine::Page &page) {
  engine::require_no_filter(page, "listing logs");
  const std::lock_guard guard(mutex_);
  try {
    return logs_.list(trial_id, page);
  } catch (const Error &error) {
    if (error.http_status != 404) throw;
    throw_not_found("listing logs", "trial", std::to_string(trial_id), session_->url(), "det ls");
  }
}

Json RestClient::collect_garbage(int64_t experiment_id, bool) {
  throw Error(Code::unsupported, "deleting checkpoints of experiment " +
                                     std::to_string(experiment_id) + ": " + session_->url() +
                                     " does that by itself when an experiment ends");
}

Json RestClient::search_events(int64_t experiment_id, std::chrono::milliseconds) {
  throw Error(Code::unsupported, "reading the events of the search of experiment " +
                                     std::to_string(experiment_id) + " on " + session_->url() +
                                     ": only searches that `det run` runs can be decided here");
}

Json RestClient::post_operations(int64_t experiment_id, int64_t, const Json &) {
  throw Error(Code::unsupported, "posting operations to the search of experiment " +
                                     std::to_string(experiment_id) + " on " + session_->url() +
                                     ": only searches that `det run` runs can be decided here");
}

Json RestClient::sync() { return to_json(master::recover_rest_runs(session_, true, logger_)); }

}  // namespace det::client

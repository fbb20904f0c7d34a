// What a master tells as the JSON objects that answers are made of; docs/client.md has their keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/client/client.h"
#include "core/codec/lists.h"
#include "core/codec/logs.h"
#include "core/codec/reports.h"

namespace det::client {

// "RUNNING" for "STATE_RUNNING".
std::string state_name(const std::string &wire_name);
std::string state_name(codec::TrialState state);
bool is_over(const std::string &state_name);

Json experiment_entry(const codec::Experiment &experiment);
Json trial_entry(const codec::Trial &trial, const codec::Experiment &experiment);
Json checkpoint_entry(const codec::Checkpoint &checkpoint);
// Where it is; null where the master does not say.
Json storage_of(const codec::Checkpoint &checkpoint);
// What no master filters by itself, in every version.
bool matches(const codec::Experiment &experiment, const engine::Filter &filter);
// The states, of an entry of an experiment or a trial.
bool matches(const Json &entry, const engine::Filter &filter);
// For the parameter of the list of experiments.
std::optional<bool> archived_of(const engine::Filter &filter);

// The best first, as the experiment's searcher compares them.
void sort_by_metric(std::vector<Json> &trial_entries, const codec::Experiment &experiment);
Json log_entry(const codec::StoredLogLine &line);

// Of the groups training and validation; `group` says which.
Json report_entry(const char *group, const codec::StepMetrics &report);
Json report_entry(const codec::StoredReport &report);

// The master's word for a group in a trial's summary, as the name that the group has elsewhere.
std::string group_name(const std::string &summary_name);

constexpr const char *sort_by_id = "SORT_BY_ID";

// The part of a list that a page asks for.
codec::ListPart part_of(const engine::Page &page, const char *sort);
// The cursor behind `entries` that began at `after`; null at the end.
Json cursor_behind(int64_t after, size_t entries, const codec::Pagination &pagination);

[[noreturn]] void throw_not_found(const std::string &tried, const char *kind, const std::string &id,
                                  const std::string &url, const char *command);

}  // namespace det::client

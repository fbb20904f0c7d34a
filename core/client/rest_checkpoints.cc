#include "core/client/rest_checkpoints.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/client/rest_entries.h"
#include "core/client/rest_walk.h"
#include "core/config/secrets.h"
#include "core/engine/records/find.h"
#include "core/storage/storage.h"

namespace det::client {

namespace {

constexpr const char *by_time = "SORT_BY_END_TIME";

bool is_uuid(const std::string &text) {
  static constexpr std::string_view form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::ranges::equal(text, form, [](char c, char wanted) {
    return wanted == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

ListedPart part_from(const codec::CheckpointList &list) {
  ListedPart part{{}, list.pagination};
  for (const codec::Checkpoint &checkpoint : list.checkpoints)
    part.entries.push_back(checkpoint_entry(checkpoint));
  return part;
}

Json list_all_checkpoints(master::MasterSession &session, const engine::Page &page) {
  const auto ask = [&](const codec::Experiment &experiment, int64_t offset, int64_t limit) {
    return session.send(codec::ListExperimentCheckpoints{
        experiment.id, part_of({offset, limit, page.descending}, by_time)});
  };
  const auto read = [&](const codec::Experiment &, const http::HttpResponse &answer) {
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

Json RestCheckpoints::list(int64_t trial_id, const engine::Page &page) {
  engine::require_no_filter(page, "listing checkpoints");
  if (trial_id == 0) return list_all_checkpoints(session_, page);
  codec::CheckpointList list;
  try {
    list = session_.call(codec::ListTrialCheckpoints{trial_id, part_of(page, by_time)});
  } catch (const Error &error) {
    if (error.http_status != 404) throw;
    throw_not_found("listing checkpoints", "trial", std::to_string(trial_id), session_.url(),
                    "det ls");
  }
  ListedPart part = part_from(list);
  Json next = cursor_behind(page.after, part.entries.size(), part.pagination);
  return {{"checkpoints", std::move(part.entries)}, {"next", std::move(next)}};
}

codec::Checkpoint RestCheckpoints::read(const std::string &id) {
  const auto not_found = [&] {
    throw_not_found("reading a checkpoint", "checkpoint", id, session_.url(), "det checkpoints");
  };
  if (!is_uuid(id)) not_found();  // masters fail on anything else
  try {
    return session_.call(codec::GetCheckpoint{id}).checkpoint;
  } catch (const Error &error) {
    if (error.http_status == 404) not_found();
    throw;
  }
}

Json RestCheckpoints::get(const std::string &id) {
  const codec::Checkpoint found = read(id);
  Json entry = checkpoint_entry(found);
  entry["storage"] = config::storage_with_masked_secrets(client::storage_of(found));
  return entry;
}

Json RestCheckpoints::storage_of(const std::string &id) { return client::storage_of(read(id)); }

// A master looks for whole ids only: all checkpoints are read.
Json RestCheckpoints::find(const std::string &text) {
  try {
    return get(text);
  } catch (const Error &error) {
    if (error.code != Code::not_found) throw;
  }
  const std::string prefix = engine::checkpoint_prefix(text);
  std::vector<engine::FoundCheckpoint> found;
  engine::Page page;
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    const Json some = list(0, page);
    for (const Json &one : some.at("checkpoints")) {
      const auto uuid = one.at("uuid").get<std::string>();
      const Json &trial = one.at("trial_id"), &steps = one.at("steps_completed");
      if (uuid.starts_with(prefix))
        found.push_back({uuid, trial.is_null() ? 0 : trial.get<int64_t>(),
                         steps.is_null() ? 0 : steps.get<int64_t>()});
    }
    next = some.at("next");
  }
  return get(engine::only_checkpoint(text, found, session_.url()));
}

// Told first, since a master refuses what is in its registry of models; who is killed in between
// leaves files that nobody knows, which is better than a checkpoint without files.
Json RestCheckpoints::remove(const std::string &id) {
  const std::string tried = "deleting checkpoint " + id + ": ";
  const codec::Checkpoint found = read(id);
  const Json where = client::storage_of(found);
  if (!where.is_object())
    throw Error(Code::unsupported,
                tried + session_.url() + " does not say where it is; delete it there");
  if (!codec::has_call<codec::PatchCheckpoints>(session_.version()))
    throw Error(
        Code::unsupported,
        tried + session_.url() + " has no request for that; it deletes checkpoints by itself");
  const auto storage = storage::make_storage(where, std::nullopt, logger_);
  storage->withdraw(id);
  session_.call(codec::PatchCheckpoints{{{.uuid = id, .resources = codec::Sizes{}}}});
  storage->remove(id);
  storage->settle(id);
  storage->reclaim();
  return {{"uuid", id}, {"size", checkpoint_entry(found).at("size")}};
}

// No master counts that: all checkpoints are read.
Json RestCheckpoints::usage() {
  std::map<int64_t, Json> experiments;  // by id
  std::map<int64_t, int64_t> experiment_of;
  engine::Page page;
  page.limit = 1000;
  for (;;) {
    const Json some = list(0, page);
    for (const Json &one : some.at("checkpoints")) {
      if (one.at("state") == "DELETED" || !one.at("trial_id").is_number()) continue;
      const auto trial_id = one.at("trial_id").get<int64_t>();
      if (!experiment_of.contains(trial_id))
        experiment_of[trial_id] = trials_.find(trial_id, "counting checkpoints").experiment_id;
      Json &entry = experiments[experiment_of[trial_id]];
      if (entry.is_null())
        entry = {{"experiment_id", experiment_of[trial_id]},
                 {"name", experiments_.describe(experiment_of[trial_id]).at("name")},
                 {"checkpoints", 0},
                 {"size", 0}};
      entry["checkpoints"] = entry["checkpoints"].get<int64_t>() + 1;
      entry["size"] = entry["size"].get<int64_t>() + one.at("size").get<int64_t>();
    }
    if (some.at("next").is_null()) break;
    page.after = some.at("next").get<int64_t>();
  }
  std::vector<Json> sorted;
  for (auto &[id, entry] : experiments) sorted.push_back(std::move(entry));
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const Json &entry) { return entry.at("size").get<int64_t>(); });
  return {{"experiments", sorted}};
}

}  // namespace det::client

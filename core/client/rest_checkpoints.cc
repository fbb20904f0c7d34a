// Checkpoints of a master, beyond reading about them.
#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/client/rest_client.h"
#include "core/client/rest_entries.h"
#include "core/codec/checkpoints.h"
#include "core/storage/storage.h"

namespace det::client {

// Told first, since a master refuses what is in its registry of models; who is killed in between
// leaves files that nobody knows, which is better than a checkpoint without files.
Json RestClient::delete_checkpoint(const std::string &id) {
  const std::string tried = "deleting checkpoint " + id + ": ";
  const codec::Checkpoint found = checkpoint(id);
  const Json where = storage_of(found);
  if (!where.is_object())
    throw Error(Code::unsupported,
                tried + session_->url() + " does not say where it is; delete it there");
  if (!codec::has_call<codec::PatchCheckpoints>(session_->version()))
    throw Error(Code::unsupported, tried + session_->url() +
                                       " cannot be told of that; it deletes checkpoints by itself");
  const auto storage = storage::make_storage(where, std::nullopt, logger_);
  storage->withdraw(id);
  session_->call(codec::PatchCheckpoints{{{.uuid = id, .resources = codec::Sizes{}}}});
  storage->remove(id);
  storage->settle(id);
  storage->reclaim();
  return {{"uuid", id}, {"size", checkpoint_entry(found).at("size")}};
}

Json RestClient::pin_checkpoint(const std::string &id, bool pinned) {
  throw Error(Code::unsupported, std::string(pinned ? "pinning" : "unpinning") + " checkpoint " +
                                     id + ": " + session_->url() +
                                     " pins none; it keeps what is a version of a model in its "
                                     "registry, so register it there");
}

// No master counts that: all checkpoints are read.
Json RestClient::checkpoint_usage() {
  std::map<int64_t, Json> experiments;  // by id
  std::map<int64_t, int64_t> experiment_of;
  engine::Page page;
  page.limit = 1000;
  for (;;) {
    const Json list = list_checkpoints(0, page);
    for (const Json &one : list.at("checkpoints")) {
      if (one.at("state") == "DELETED" || !one.at("trial_id").is_number()) continue;
      const auto trial_id = one.at("trial_id").get<int64_t>();
      if (!experiment_of.contains(trial_id))
        experiment_of[trial_id] = trial(trial_id, "counting checkpoints").experiment_id;
      Json &entry = experiments[experiment_of[trial_id]];
      if (entry.is_null())
        entry = {{"experiment_id", experiment_of[trial_id]},
                 {"name", describe_experiment(experiment_of[trial_id]).at("name")},
                 {"checkpoints", 0},
                 {"size", 0}};
      entry["checkpoints"] = entry["checkpoints"].get<int64_t>() + 1;
      entry["size"] = entry["size"].get<int64_t>() + one.at("size").get<int64_t>();
    }
    if (list.at("next").is_null()) break;
    page.after = list.at("next").get<int64_t>();
  }
  std::vector<Json> sorted;
  for (auto &[id, entry] : experiments) sorted.push_back(std::move(entry));
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const Json &entry) { return entry.at("size").get<int64_t>(); });
  return {{"experiments", sorted}};
}

}  // namespace det::client

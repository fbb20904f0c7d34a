#include "core/engine/checkpoints/garbage.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/engine/checkpoints/checkpoint_records.h"
#include "core/engine/checkpoints/storages.h"
#include "core/engine/copied_store.h"
#include "core/engine/experiment.h"
#include "core/engine/runs/best_validation.h"
#include "core/engine/store.h"
#include "core/engine/store_places.h"
#include "core/storage/tree.h"

namespace det::engine {

namespace {

struct Candidate {
  StoredCheckpoint checkpoint;
  bool pinned = false;
  // Of the same trial and step.
  std::optional<int64_t> validation;
  Json metrics = Json::object();
  MetricRank metric;

  // Checkpoints without a validation are one partition.
  int64_t validated_trial() const { return validation ? checkpoint.trial_id : 0; }
};

Json experiment_config(Database &store, int64_t experiment_id) {
  Query found = store.query("SELECT config FROM experiments WHERE id=?", experiment_id);
  if (!found.next())
    throw Error(Code::not_found,
                "looking for checkpoints that are not kept: there is no "
                "experiment " +
                    std::to_string(experiment_id) + " in '" + store.path().string() +
                    "'; `det ls -e` shows the "
                    "ones there are");
  return read_config(store, experiment_id, found.view(0));
}

// Checkpoints but those that trials of any experiment start from. A row for each report of
// validation at the step of the checkpoint.
std::vector<Candidate> find_candidates(Database &store, const std::string &which, int64_t id) {
  std::vector<Candidate> candidates;
  Query rows = store.query(
      "SELECT checkpoints.id, uuid, checkpoints.trial_id, checkpoints.steps, size,"
      " checkpoints.state, resources, storage, registered, metrics.id, metrics"
      " FROM trials JOIN checkpoints ON checkpoints.trial_id=trials.id"
      " LEFT JOIN metrics ON metrics.trial_id=trials.id AND metric_group='validation'"
      "  AND metrics.steps=checkpoints.steps AND archived=0"
      " WHERE " +
          which +
          " AND NOT EXISTS (SELECT 1 FROM experiments WHERE source=uuid)"
          " ORDER BY checkpoints.id, metrics.id",
      id);
  while (rows.next()) {
    if (candidates.empty() || candidates.back().checkpoint.id != rows.integer(0))
      candidates.push_back({{rows.integer(0), rows.text(1), rows.integer(2), rows.integer(3),
                             rows.integer(4), rows.text(5), rows.text(6), rows.text(7)},
                            rows.integer(8) != 0,
                            rows.maybe_integer(9),
                            Json::object(),
                            {}});
    // Reports of one step together are the validation.
    if (!rows.is_null(10))
      candidates.back().metrics.update(parse_json_object(rows.view(10), "stored metrics"));
  }
  return candidates;
}

// As RANK() of SQL: 1 for the first of its part, and one for those that compare equal.
template <class Part, class Key>
std::vector<int64_t> ranks(const std::vector<Candidate> &candidates, Part part, Key key) {
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto place = [&](size_t i) { return std::pair(part(candidates[i]), key(candidates[i])); };
  std::ranges::sort(order, {}, place);
  std::vector<int64_t> ranks(candidates.size());
  size_t first = 0;  // of the part
  for (size_t i = 0; i < order.size(); ++i) {
    const bool same_part = i > 0 && place(order[i]).first == place(order[i - 1]).first;
    if (!same_part) first = i;
    const bool equal = same_part && place(order[i]).second == place(order[i - 1]).second;
    ranks[order[i]] = equal ? ranks[order[i - 1]] : static_cast<int64_t>(i - first) + 1;
  }
  return ranks;
}

// Those that the rule does not keep. `latest_part`: of what the newest are kept together.
template <class LatestPart>
std::vector<StoredCheckpoint> not_kept(std::vector<Candidate> candidates, const KeepRule &rule,
                                       const Json &config, LatestPart latest_part) {
  const auto metric = searcher_metric(config);
  for (Candidate &candidate : candidates)
    if (metric) candidate.metric = rank_of(searcher_value(candidate.metrics, *metric), *metric);
    else candidate.metric = rank_of(std::nullopt, {});

  const auto by_metric = [](const Candidate &of) { return std::pair(of.metric, of.validation); };
  const auto in_trial = [](const Candidate &of) { return of.validated_trial(); };
  const auto experiment_ranks = ranks(
      candidates, [](const Candidate &) { return 0; }, by_metric);
  const auto trial_ranks = ranks(candidates, in_trial, by_metric);
  const auto latest_ranks =
      ranks(candidates, latest_part, [](const Candidate &of) { return -of.checkpoint.steps; });

  std::vector<StoredCheckpoint> garbage;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const bool has_metric = candidates[i].metric.first < rank_of(std::nullopt, {}).first;
    const bool is_best = has_metric && (experiment_ranks[i] <= rule.experiment_best ||
                                        trial_ranks[i] <= rule.trial_best);
    const bool is_latest = latest_ranks[i] <= rule.trial_latest;
    if (!is_best && !is_latest && !candidates[i].pinned)
      garbage.push_back(std::move(candidates[i].checkpoint));
  }
  return garbage;
}

}  // namespace

KeepRule keep_rule(const Json &config) {
  const Json storage = config.value("checkpoint_storage", Json());
  KeepRule rule;
  const auto read = [&](const char *key, int64_t &count) {
    if (!storage.is_object()) return;
    if (const Json given = storage.value(key, Json()); given.is_number_integer())
      count = given.get<int64_t>();
  };
  read("save_experiment_best", rule.experiment_best);
  read("save_trial_best", rule.trial_best);
  read("save_trial_latest", rule.trial_latest);
  rule.latest_per_trial =
      storage.is_object() && storage.value("gc_latest_per_trial", Json()) == true;
  return rule;
}

std::vector<StoredCheckpoint> find_garbage(Database &store, int64_t experiment_id,
                                           const KeepRule &rule) {
  return not_kept(find_candidates(store, "experiment_id=?", experiment_id), rule,
                  experiment_config(store, experiment_id), [&](const Candidate &of) {
                    return rule.latest_per_trial ? of.checkpoint.trial_id : of.validated_trial();
                  });
}

namespace {

// Those that a search of a person's own may hand to other trials, or has handed: by what their
// trial told it, and by the hyperparameters of the others.
void leave_out_named(Database &store, int64_t experiment_id, int64_t trial_id,
                     std::vector<StoredCheckpoint> &checkpoints) {
  Query texts = store.query(
      "SELECT metric FROM operations WHERE trial_id=? AND metric IS NOT NULL UNION ALL"
      " SELECT hparams FROM trials WHERE experiment_id=? AND ended IS NULL",
      trial_id, experiment_id);
  while (!checkpoints.empty() && texts.next()) {
    const std::string_view text = texts.view(0);
    std::erase_if(checkpoints,
                  [&](const StoredCheckpoint &one) { return text.find(one.uuid) != text.npos; });
  }
}

// Told without reading them, which who keeps all would do at each commit.
bool keeps_all(Database &store, int64_t trial_id, const KeepRule &rule) {
  Query count = store.query(
      "SELECT COUNT(*), COUNT(*) FILTER (WHERE state<>'COMPLETED') FROM checkpoints"
      " WHERE trial_id=? AND state<>'DELETED'",
      trial_id);
  count.next();
  return count.integer(0) <= rule.trial_latest && count.integer(1) == 0;
}

}  // namespace

std::vector<StoredCheckpoint> find_superseded(Database &store, int64_t trial_id) {
  Query trial = store.query("SELECT experiment_id FROM trials WHERE id=?", trial_id);
  if (!trial.next()) return {};
  const int64_t experiment_id = trial.integer(0);
  const Json config = experiment_config(store, experiment_id);
  const KeepRule rule = keep_rule(config);
  if (keeps_all(store, trial_id, rule)) return {};
  // The best of the experiment are among as many best of their trials: those stay until its end.
  std::vector<Candidate> candidates =
      find_candidates(store, "trials.id=? AND checkpoints.state<>'DELETED'", trial_id);
  // What somebody began to delete counts no more, and is deleted to the end.
  std::vector<StoredCheckpoint> superseded;
  std::erase_if(candidates, [&](const Candidate &one) {
    if (one.checkpoint.state == "COMPLETED") return false;
    superseded.push_back(one.checkpoint);
    return true;
  });
  int64_t newest = 0;
  for (const Candidate &one : candidates) newest = std::max(newest, one.checkpoint.id);
  const auto latest = latest_checkpoint(store, trial_id);
  for (StoredCheckpoint &one :
       not_kept(std::move(candidates), rule, config, [&](const Candidate &of) {
         return !rule.latest_per_trial && of.validation.has_value();
       }))
    if (one.id != newest && (!latest || one.uuid != latest->uuid))
      superseded.push_back(std::move(one));
  const Json searcher = config.value("searcher", Json());
  const bool is_custom = searcher.is_object() && searcher.value("name", Json()) == "custom";
  if (is_custom) leave_out_named(store, experiment_id, trial_id, superseded);
  return superseded;
}

std::vector<StoredCheckpoint> find_garbage(Database &store, int64_t experiment_id) {
  std::vector<StoredCheckpoint> garbage =
      find_garbage(store, experiment_id, keep_rule(experiment_config(store, experiment_id)));
  std::erase_if(garbage, [](const StoredCheckpoint &one) {
    return one.state != "COMPLETED" && one.state != "PARTIALLY_DELETED";
  });
  return garbage;
}

namespace {

// What is announced as partially deleted before the first file goes is taken up again by whoever
// comes next, and nobody restores it meanwhile.
class Collector {
 public:
  Collector(Database store, Logger &logger)
      : store_(std::move(store)),
        logger_(logger),
        storages_(home_of(store_), logger),
        copied_(store_) {}

  Collected collect(int64_t experiment_id) {
    std::vector<StoredCheckpoint> garbage = find_garbage(store_, experiment_id);
    std::erase_if(garbage,
                  [&](const StoredCheckpoint &one) { return is_shared(one) || !is_there(one); });
    announce(garbage, experiment_id);
    for (StoredCheckpoint &one : garbage) remove(std::move(one));
    storages_.reclaim();
    return std::move(collected_);
  }

 private:
  void fail(const StoredCheckpoint &one, const std::exception &why) {
    ++collected_.failures;
    logger_.warning("deleting checkpoint " + one.uuid + " of trial " +
                    std::to_string(one.trial_id) + ", which is not kept: " + why.what());
  }

  void mark(const StoredCheckpoint &one, std::string_view state) {
    store_.run("UPDATE checkpoints SET state=? WHERE id=?", state, one.id);
  }

  storage::Storage &storage_of(const StoredCheckpoint &one) { return storages_.of(one.storage); }

  // Of a copied store, with the other one.
  bool is_shared(const StoredCheckpoint &one) const {
    return copied_.shares(one.id, parse_json(one.storage, "where a checkpoint is"));
  }

  // A checkpoint that somebody else removed is left as it is.
  bool is_there(const StoredCheckpoint &one) {
    try {
      storage_of(one).list(one.uuid);
      return true;
    } catch (const Error &e) {
      if (e.code == Code::not_found && one.state == "PARTIALLY_DELETED") return true;
      fail(one, e);
      return false;
    }
  }

  // Without what somebody has begun to need since it was found.
  void announce(std::vector<StoredCheckpoint> &garbage, int64_t experiment_id) {
    if (garbage.empty()) return;
    Transaction transaction(store_);
    std::set<int64_t> still;
    for (const StoredCheckpoint &one : find_garbage(store_, experiment_id)) still.insert(one.id);
    std::erase_if(garbage, [&](const StoredCheckpoint &one) { return !still.contains(one.id); });
    for (const StoredCheckpoint &one : garbage) mark(one, "PARTIALLY_DELETED");
    transaction.commit();
    logger_.debug("deleting " + std::to_string(garbage.size()) + " checkpoints that are not kept");
  }

  void remove(StoredCheckpoint one) {
    try {
      storage_of(one).remove(one.uuid);
    } catch (const Error &e) {
      fail(one, e);
      return record_remains(one);
    }
    logger_.debug("deleted the files of checkpoint " + one.uuid);
    mark(one, "DELETED");
    collected_.deleted.push_back(std::move(one));
  }

  void record_remains(const StoredCheckpoint &one) {
    try {
      storage::Resources remains = storage_of(one).list(one.uuid);
      const Json before = parse_json_object(one.resources, "stored resources");
      if (!before.contains(storage::metadata_name)) remains.erase(storage::metadata_name);
      if (Json(remains) == before && one.state == "COMPLETED") return mark(one, one.state);
      uint64_t size = 0;
      for (const auto &[path, bytes] : remains) size += bytes;
      store_.run("UPDATE checkpoints SET resources=?, size=? WHERE id=?", to_wire(Json(remains)),
                 size, one.id);
    } catch (const Error &e) {
      if (e.code == Code::not_found) mark(one, "DELETED");
    }
  }

  Database store_;
  Logger &logger_;
  Storages storages_;
  const CopiedStore copied_;
  Collected collected_;
};

}  // namespace

Collected delete_garbage(const std::filesystem::path &store_directory, int64_t experiment_id,
                         Logger &logger) {
  return Collector(open_store(store_directory, false, {}), logger).collect(experiment_id);
}

void collect_garbage(const std::filesystem::path &store_directory, int64_t experiment_id,
                     Logger &logger) {
  try {
    delete_garbage(store_directory, experiment_id, logger);
  } catch (const std::exception &e) {
    logger.warning("deleting the checkpoints of experiment " + std::to_string(experiment_id) +
                   " that are not kept: " + e.what() + "; `det gc " +
                   std::to_string(experiment_id) + "` tries again");
  }
}

}  // namespace det::engine

#include "core/engine/garbage.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/engine/best_validation.h"
#include "core/engine/experiment.h"

namespace det::engine {

namespace {

struct Candidate {
  StoredCheckpoint checkpoint;
  bool registered = false;
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

// All checkpoints of the experiment but those that trials of any experiment start from: the one
// that a configuration names, or the latest that the trial it names had by then. A row for each
// report of validation at the step of the checkpoint.
std::string candidates_with_reports(const Dialect &dialect) {
  return std::string("WITH sources AS (SELECT ") + dialect.source_checkpoint +
         " AS uuid FROM experiments UNION ALL"
         " SELECT (SELECT uuid FROM checkpoints WHERE trial_id=" +
         dialect.source_trial_id +
         R"sql(
              AND state='COMPLETED' AND time<=experiments.created
            ORDER BY steps DESC, time DESC, id DESC LIMIT 1) FROM experiments)
SELECT checkpoints.id, uuid, checkpoints.trial_id, checkpoints.steps, size, checkpoints.state,
  resources, storage, registered, metrics.id, metrics
FROM trials JOIN checkpoints ON checkpoints.trial_id=trials.id
LEFT JOIN metrics ON metrics.trial_id=trials.id AND metric_group='validation'
  AND metrics.steps=checkpoints.steps AND archived=0
WHERE experiment_id=? AND uuid NOT IN (SELECT uuid FROM sources WHERE uuid IS NOT NULL)
ORDER BY checkpoints.id, metrics.id
)sql";
}

std::vector<Candidate> find_candidates(Database &store, int64_t experiment_id) {
  std::vector<Candidate> candidates;
  Query rows = store.query(candidates_with_reports(store.dialect()), experiment_id);
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
  const auto metric = searcher_metric(experiment_config(store, experiment_id));
  std::vector<Candidate> candidates = find_candidates(store, experiment_id);
  for (Candidate &candidate : candidates)
    if (metric) candidate.metric = rank_of(searcher_value(candidate.metrics, *metric), *metric);
    else candidate.metric = rank_of(std::nullopt, {});

  const auto by_metric = [](const Candidate &of) { return std::pair(of.metric, of.validation); };
  const auto in_trial = [](const Candidate &of) { return of.validated_trial(); };
  const auto experiment_ranks = ranks(
      candidates, [](const Candidate &) { return 0; }, by_metric);
  const auto trial_ranks = ranks(candidates, in_trial, by_metric);
  const auto latest_ranks = ranks(
      candidates,
      [&](const Candidate &of) {
        return rule.latest_per_trial ? of.checkpoint.trial_id : of.validated_trial();
      },
      [](const Candidate &of) { return -of.checkpoint.steps; });

  std::vector<StoredCheckpoint> garbage;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const bool has_metric = candidates[i].metric.first < rank_of(std::nullopt, {}).first;
    const bool is_best = has_metric && (experiment_ranks[i] <= rule.experiment_best ||
                                        trial_ranks[i] <= rule.trial_best);
    const bool is_latest = latest_ranks[i] <= rule.trial_latest;
    if (!is_best && !is_latest && !candidates[i].registered)
      garbage.push_back(std::move(candidates[i].checkpoint));
  }
  return garbage;
}

std::vector<StoredCheckpoint> find_garbage(Database &store, int64_t experiment_id) {
  std::vector<StoredCheckpoint> garbage =
      find_garbage(store, experiment_id, keep_rule(experiment_config(store, experiment_id)));
  std::erase_if(garbage, [](const StoredCheckpoint &one) {
    return one.state != "COMPLETED" && one.state != "PARTIALLY_DELETED";
  });
  return garbage;
}

}  // namespace det::engine

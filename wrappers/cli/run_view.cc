#include "run_view.h"

#include <algorithm>

#include "core/engine/runs/searcher_metric.h"
#include "core/engine/states.h"
#include "core/search/search.h"
#include "field_text.h"

namespace det::cli {

namespace {

// Counting goes over all trials, and they may be many.
constexpr std::chrono::seconds between_counts{1};
// Before that, the time left is a guess of nothing.
constexpr double least_progress = 0.02;

std::string metric_name_of(const Json &config) {
  const auto metric = engine::searcher_metric(config);
  return metric ? metric->name : std::string();
}

double seconds_between(std::chrono::steady_clock::time_point start,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

int64_t planned_trials(const engine::ExperimentRecord &experiment) {
  const auto rules =
      experiment.launch.by_metrics ? search::SearchRules::metrics : search::SearchRules::operations;
  uint64_t trials = 0;
  for (const search::PlannedTrials &part : search::plan_search(experiment.config, rules))
    trials += part.trials;
  return static_cast<int64_t>(trials);
}

// A group has no type of its own.
void add_varied(const Json &space, const std::string &prefix, std::set<std::string> &names) {
  for (const auto &[name, value] : space.items()) {
    if (!value.is_object()) continue;
    const Json &type = field(value, "type");
    if (!type.is_string()) add_varied(value, prefix + name + ".", names);
    else if (type != "const") names.insert(prefix + name);
  }
}

std::set<std::string> varied_hparams(const Json &config) {
  std::set<std::string> names;
  if (const Json &space = field(config, "hyperparameters"); space.is_object())
    add_varied(space, "", names);
  return names;
}

}  // namespace

RunView::RunView(launcher::Supervisor &supervisor, engine::Experiments &experiments,
                 engine::Trials &trials)
    : supervisor_(supervisor),
      experiments_(experiments),
      trials_(trials),
      metric_name_(metric_name_of(supervisor.experiment().config)),
      first_progress_(supervisor.progress()),
      planned_(planned_trials(supervisor.experiment())),
      varied_(varied_hparams(supervisor.experiment().config)) {}

RunState RunView::now() {
  const Clock::time_point now = Clock::now();
  if (now >= next_count_ || supervisor_.ended() || supervisor_.at_rest()) {
    count_trials();
    next_count_ = now + between_counts;
  }
  RunState state;
  state.experiment_id = supervisor_.experiment().id;
  state.name = supervisor_.experiment().name;
  state.state = supervisor_.experiment().state;
  state.metric_name = metric_name_;
  state.progress = supervisor_.progress();
  state.seconds = seconds_between(start_, now);
  state.waits_for = paused_trial();
  const double done = state.progress - first_progress_;
  if (done >= least_progress && state.waits_for == 0)
    state.seconds_left = state.seconds * (1 - state.progress) / done;
  for (const int64_t id : supervisor_.running()) state.running.push_back(running(id));
  for (const int64_t id : supervisor_.take_left()) state.left.push_back(left(id));
  state.counts = counts_;
  const auto running = static_cast<int64_t>(state.running.size());
  state.counts["running"] = running;
  state.counts["waiting"] = std::max<int64_t>(state.counts["ACTIVE"] - running, 0);
  state.counts.erase("ACTIVE");
  int64_t made = 0;
  for (const auto &[name, count] : counts_) {
    made += count;
    if (engine::is_terminal(name)) state.over += count;
  }
  if (planned_ != 0) state.planned = std::max(planned_, made);
  state.best = best_;
  return state;
}

// Others that are paused do not matter while something is under way.
int64_t RunView::paused_trial() {
  if (supervisor_.experiment().state != engine::state::active || supervisor_.waiting() > 0 ||
      !supervisor_.running().empty())
    return 0;
  return experiments_.first_paused_trial(supervisor_.experiment().id).value_or(0);
}

RunningTrial RunView::running(int64_t trial_id) {
  const engine::TrialSummary summary = trials_.summary(trial_id);
  RunningTrial trial;
  trial.id = trial_id;
  trial.status = summary.status;
  trial.progress = summary.progress;
  trial.steps = summary.steps;
  trial.metric = metric_of(summary);
  trial.hparams = hparams_of(trial_id);
  return trial;
}

std::string RunView::hparams_of(int64_t trial_id) {
  if (varied_.empty()) return {};
  const auto known = hparams_of_running_.find(trial_id);
  if (known != hparams_of_running_.end()) return known->second;
  std::string text;
  for (const auto &[name, value] : flattened(trials_.get(trial_id).at("hparams")))
    if (varied_.contains(name)) text += (text.empty() ? "" : " ") + name + "=" + number_of(value);
  return hparams_of_running_[trial_id] = text;
}

LeftTrial RunView::left(int64_t trial_id) {
  const engine::TrialSummary summary = trials_.summary(trial_id);
  hparams_of_running_.erase(trial_id);
  const Json trial = trials_.get(trial_id);
  std::string exit;  // of the last run that has ended: the next one may have begun
  for (const Json &run : trial.at("runs"))
    if (!run.at("exit").is_null()) exit = text_of(run.at("exit"));
  return {trial_id, summary.state, metric_of(summary), exit == "error" || exit == "died"};
}

std::optional<double> RunView::metric_of(const engine::TrialSummary &trial) const {
  if (trial.validation.is_null() || metric_name_.empty()) return std::nullopt;
  return engine::searcher_value(trial.validation, {metric_name_, true});
}

void RunView::count_trials() {
  counts_ = experiments_.count_trials(supervisor_.experiment().id);
  const auto best = experiments_.best_trial(supervisor_.experiment().id);
  best_ = best ? std::optional(BestTrial{best->trial_id, best->value}) : std::nullopt;
}

RunSummary summary_of(Client &client, const RunState &state, const std::string &resume) {
  RunSummary summary;
  summary.experiment_id = state.experiment_id;
  summary.name = state.name;
  summary.state = state.state;
  summary.metric_name = state.metric_name;
  summary.seconds = state.seconds;
  summary.counts = state.counts;
  summary.best = state.best;
  summary.resume = resume;
  const Json best = client.best_trial(state.experiment_id);
  if (const Json &trial = field(best, "trial"); !trial.is_null())
    summary.hparams = field(trial, "hparams");
  const Json &checkpoint = field(best, "checkpoint");
  if (checkpoint.is_null()) return summary;
  summary.checkpoint = text_of(field(checkpoint, "uuid"));
  summary.checkpoint_steps = field(checkpoint, "steps_completed").get<int64_t>();
  if (const Json &directory = field(checkpoint, "directory"); !directory.is_null())
    summary.checkpoint_path = text_of(directory);
  return summary;
}

}  // namespace det::cli

#include "core/launcher/supervisor.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <exception>
#include <system_error>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/engine/checkpoints/garbage.h"
#include "core/engine/records/resume.h"
#include "core/engine/runs/recover_runs.h"
#include "core/launcher/runnable.h"
#include "core/storage/storage.h"
#include "core/storage/storage_location.h"
#include "core/tensorboard/event_file.h"
#include "core/tensorboard/files.h"
#include "core/tensorboard/hparams.h"

namespace det::launcher {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds between_looks_at_logs{500};
constexpr std::chrono::milliseconds between_looks_without_fifo{50};
constexpr std::chrono::seconds between_notes_of_progress{1};
constexpr std::chrono::seconds time_to_leave_after_refusal{10};

std::string name_of(const engine::ExperimentRecord &experiment) {
  return "experiment " + std::to_string(experiment.id);
}

}  // namespace

void SessionEnds::write(int64_t trial_id, bool succeeded) try {
  if (!directory_) directory_ = find_directory();
  if (directory_->empty()) return;
  const tensorboard::TensorboardPlace place{*directory_, cluster_id_, experiment_id_, trial_id,
                                            {},          0,           nullptr};
  std::error_code none;
  if (!fs::is_directory(*directory_ / tensorboard::tensorboard_path(cluster_id_, experiment_id_) /
                            "trial" / std::to_string(trial_id),
                        none))
    return;
  // TensorBoard reads the files of a trial by their names, which begin with the second, and keeps
  // the first end that it reads: that of the run, where that could tell.
  constexpr int64_t second_us = 1'000'000;
  const int64_t now = now_us();
  tensorboard::EventFile file(std::make_shared<tensorboard::TensorboardFiles>(
                                  tensorboard::TensorboardMode::automatic, place),
                              "", [now] { return now + second_us; });
  file.append(tensorboard::session_end_event(static_cast<double>(now) / 1e6, succeeded));
} catch (const std::exception &failure) {
  log_->warning("telling TensorBoard how trial ", std::to_string(trial_id),
                " ended: ", failure.what());
}

fs::path SessionEnds::find_directory() const {
  if (!storage::says_where(storage_)) return home_;
  const auto storage = storage_.is_string() ? storage::make_storage_from_uri(storage_, log_)
                                            : storage::make_storage(storage_, std::nullopt, log_);
  return storage->directory();
}

Supervisor::Supervisor(Options options, Launcher &launcher)
    : options_(std::move(options)),
      launcher_(launcher),
      records_(options_.store_directory, options_.experiment_id, options_.store),
      experiment_(records_.experiment()),
      policy_(run_policy(experiment_.config)),
      runs_(records_, launcher_, experiment_, options_.store_directory, options_.log),
      session_ends_(experiment_.config.value("checkpoint_storage", Json()),
                    options_.store_directory.parent_path(), records_.cluster_id(), experiment_.id,
                    options_.log) {
  const Json &config = experiment_.config;
  const bool by_metrics = experiment_.launch.by_metrics;
  // Whoever goes on with it is to put that right first; what is ending starts nothing.
  if (!engine::is_stopping(experiment_.state) && !ended())
    require_runnable(config, experiment_.launch, launcher_);
  records_.take_up(search::make_search(config, by_metrics ? search::SearchRules::metrics
                                                          : search::SearchRules::operations),
                   by_metrics ? std::optional(length_by_metrics(config)) : std::nullopt);
  take_over();
}

void Supervisor::take_over() {
  engine::recover_runs(options_.store_directory, *options_.log);
  for (const engine::OpenTrial &trial : records_.open_trials()) trials_.touch(trial.id);
  for (const engine::UnjudgedRun &run : records_.runs().unjudged()) runs_.take_over(run);
  if (!ended() && !engine::is_stopping(experiment_.state)) follow_up(records_.search().begin());
  trials_.touch_all();
}

void Supervisor::step() {
  records_.seat().drain();
  hear_people();
  for (const LaunchedExit &exit : launcher_.take_exits()) hear_exit(exit);
  hear_runs();
  if (records_.search().is_custom())
    for (const engine::SearchPost &post : records_.posts())
      follow_up(records_.search().answer(post));
  settle();
  runs_.kill_overdue(options_.now());
  start_waiting();
  settle();
  finish();
  note_progress();
}

void Supervisor::wait(int fd, std::chrono::milliseconds limit) {
  if (trials_.has_touched()) return;
  const Clock::time_point now = options_.now();
  Clock::time_point next = std::min(now + limit, runs_.next_deadline());
  if (runs_.size() > 0) next = std::min(next, now + between_looks_at_logs);
  if (records_.seat().wake_fd() < 0) next = std::min(next, now + between_looks_without_fifo);
  const auto pause = std::chrono::ceil<std::chrono::milliseconds>(next - now);
  std::array<pollfd, 3> news{
      {{records_.seat().wake_fd(), POLLIN, 0}, {launcher_.exit_fd(), POLLIN, 0}, {fd, POLLIN, 0}}};
  if (poll(news.data(), news.size(), static_cast<int>(std::max<int64_t>(pause.count(), 0))) < 0 &&
      errno != EINTR)
    OsFailure{errno}.raise("waiting for news of " + name_of(experiment_));
}

void Supervisor::change_state(std::string_view to) {
  records_.change_state(to);
  step();
}

bool Supervisor::ended() const { return engine::is_terminal(experiment_.state); }

bool Supervisor::at_rest() const {
  return runs_.size() == 0 && !trials_.has_touched() && experiment_.state == engine::state::paused;
}

double Supervisor::progress() const {
  const double progress = records_.search().progress();
  return std::isfinite(progress) ? std::clamp(progress, 0.0, 1.0) : 0;
}

// What they did to the experiment or to its trials.
void Supervisor::hear_people() {
  engine::ExperimentControl control = records_.control();
  experiment_.state = std::move(control.state);
  if (std::exchange(control_, control.count) != control.count) trials_.touch_all();
  if (trials_.all_touched()) trials_.compare(records_.open_trials());
}

void Supervisor::hear_runs() {
  const std::vector<int64_t> trials = running();
  for (const int64_t trial_id : trials) runs_.follow_log(trial_id);
  const std::vector<engine::TrialNews> news = records_.news(trials);
  for (size_t i = 0; i < trials.size(); ++i) hear(trials[i], news[i]);
}

void Supervisor::hear(int64_t trial_id, const engine::TrialNews &news) {
  const bool by_metrics = experiment_.launch.by_metrics;
  if (by_metrics)
    for (const engine::TrialValidation &validation : records_.new_validations(trial_id))
      follow_up(records_.search().validated(trial_id, validation));
  const double units = by_metrics ? 1 : static_cast<double>(news.length);
  records_.search().trial_progress(trial_id, news.metric ? units : news.progress * units);
  if (news.metric) {
    trials_.touch(trial_id);
    follow_up(records_.search().completed(trial_id, news.length, *news.metric));
  }
  if (news.refused) runs_.leave_by(trial_id, options_.now() + time_to_leave_after_refusal);
}

void Supervisor::hear_exit(const LaunchedExit &exit) {
  if (!runs_.record_end(exit)) return;
  hear(exit.trial_id, records_.news(exit.trial_id));  // what it completed last
  conclude_run(exit.trial_id, runs_.end_of(exit));
}

void Supervisor::follow_up(const engine::Decided &decided) {
  if (decided.failure)
    options_.log->error("searching in " + name_of(experiment_) + ": " + *decided.failure);
  if (decided.states_changed) trials_.touch_all();
  for (const int64_t trial_id : decided.trials) trials_.touch(trial_id);
}

void Supervisor::settle() {
  while (trials_.has_touched()) {
    if (trials_.all_touched()) hear_people();
    if (const auto trial_id = trials_.take_touched()) look_at(*trial_id);
  }
}

void Supervisor::look_at(int64_t trial_id) {
  const engine::TrialStanding now = records_.standing(trial_id);
  if (trials_.update(trial_id, now))
    runs_.carry_out(trial_id, order_for(now.state, experiment_.launch.by_metrics), options_.now());
  if (runs_.has(trial_id)) return;  // judged when it has left
  const Verdict verdict =
      judge_without_process({.state = now.state, .done = now.done, .closed = now.closed});
  if (!verdict.state.empty()) return conclude(trial_id, verdict, std::nullopt);
  if (trials_.wants_run(trial_id)) queue_.add(trial_id, now.turn);
}

void Supervisor::start_waiting() {
  const auto slots = static_cast<int>(policy_.slots_per_trial);
  while (experiment_.state == engine::state::active && policy_.allows_another(runs_.size()) &&
         launcher_.has_room(slots)) {
    const std::optional<int64_t> next = queue_.first();
    if (!next) return;
    // It may have been paused while it waited.
    if (trials_.wants_run(*next) && !runs_.has(*next)) {
      const Launched how = runs_.start(*next);
      if (how == Launched::no_room) return;
      if (how == Launched::failed) conclude_run(*next, {.failed = true, .unstartable = true});
    }
    queue_.remove(*next);
  }
}

void Supervisor::conclude_run(int64_t trial_id, const RunFacts &run) {
  const int64_t run_id = runs_.remove(trial_id);
  const Verdict verdict =
      judge(with_standing(run, records_.runs().standing(trial_id, run_id), policy_.max_restarts));
  // For one whose end is not on record: it never began, or nobody knows.
  const engine::RunExit how = run.unstartable ? engine::RunExit::error : engine::RunExit::died;
  const engine::JudgedRun judged{run_id, how, verdict.counts};
  if (!verdict.state.empty()) return conclude(trial_id, verdict, judged);
  records_.runs().judge(trial_id, judged);
  trials_.touch(trial_id);
  const bool is_short = verdict.waits_for_space;
  if ((!run.unstartable && !is_short) || experiment_.state != engine::state::active) return;
  options_.log->error(
      "pausing " + name_of(experiment_) +
      (is_short ? ": there is no space left (" + run.no_space +
                      "), and no trial can save; this counts as no restart. Make room, and resume "
                      "with `" +
                      engine::run_again_command(options_.store_directory, experiment_.id) + "`"
                : ", since its trials cannot be started"));
  records_.change_state(engine::state::paused);
  hear_people();
}

// The end of a trial, recorded with what the search makes of it.
void Supervisor::conclude(int64_t trial_id, const Verdict &verdict,
                          const std::optional<engine::JudgedRun> &run) {
  // One that refused its hyperparameters has told that itself; one that was canceled did neither.
  const bool refused = verdict.reason == search::ExitReason::invalid_hp;
  if (verdict.state == engine::state::error) session_ends_.write(trial_id, false);
  if (verdict.state == engine::state::completed && !refused) session_ends_.write(trial_id, true);
  follow_up(records_.search().end_trial(trial_id, verdict.state, verdict.reason, run));
  trials_.remove(trial_id);
}

// Where nothing is left to end, the experiment has ended. That is recorded when all is done that
// follows from it, which takes time: whoever is killed meanwhile is followed by one that goes on.
void Supervisor::finish() {
  if (ended() || !trials_.empty()) return;
  if (!engine::is_stopping(experiment_.state)) {
    if (experiment_.state == engine::state::active && !records_.search().is_custom())
      follow_up(records_.search().fail("it has no trial left and did not end"));
    return;
  }
  engine::recover_runs(options_.store_directory, *options_.log);
  engine::collect_garbage(options_.store_directory, experiment_.id, *options_.log);
  experiment_.state = records_.finish();
}

void Supervisor::note_progress() {
  const Clock::time_point now = options_.now();
  if (ended() || now < next_note_) return;
  next_note_ = now + between_notes_of_progress;
  if (const double reached = progress(); reached != std::exchange(noted_progress_, reached))
    records_.note_progress(reached);
}

}  // namespace det::launcher

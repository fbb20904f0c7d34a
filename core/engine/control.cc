// Pausing, activating, canceling and killing trials that programs started by themselves.
#include <set>

#include "core/base/error.h"
#include "core/engine/change.h"
#include "core/engine/engine.h"
#include "core/engine/kill_process.h"
#include "core/engine/ranks.h"
#include "core/engine/resume.h"
#include "core/engine/supervised.h"

namespace det::engine {

namespace {

namespace fs = std::filesystem;

struct Subject {
  int64_t trial_id = 0;
  std::string state;
  std::optional<RunRecord> run;  // the latest
  bool lives = false;
};

[[noreturn]] void refuse(Action action, const Subject &trial, const std::string &reason) {
  throw Error(Code::state,
              action_name(action) + " trial " + std::to_string(trial.trial_id) + ": " + reason);
}

// What the action makes of the state; nothing when there is nothing to do.
std::optional<std::string_view> next_state(Action action, const Subject &trial) {
  const bool over = is_terminal(trial.state);
  const bool canceling = trial.state == state::canceling;
  switch (action) {
    case Action::pause:
      if (over || canceling)
        refuse(action, trial, "it is " + trial.state + ", so there is nothing to pause");
      return state::paused;
    case Action::activate:
      if (over) refuse(action, trial, "it is " + trial.state + "; start its program again instead");
      if (canceling) refuse(action, trial, "it is being canceled; start it again when it has left");
      return state::active;
    case Action::cancel:
      if (over) return std::nullopt;
      return trial.lives ? state::canceling : state::canceled;
    case Action::kill:
      if (over) return std::nullopt;
      return state::canceled;
  }
  return std::nullopt;
}

// The chief and what runs with it on this machine; whoever launched them ends the rest.
void kill_run(Database &store, const Subject &trial) {
  const ProcessIdentity &chief = trial.run->process;
  if (!chief.is_local())
    refuse(Action::kill, trial,
           "it runs as process " + std::to_string(chief.pid) + " on host " + chief.host +
               " (or in another container); kill it there");
  for (const RankRecord &rank : ranks_of(store, trial.trial_id, trial.run->run_id))
    if (!rank.exit && rank.place.process.is_local()) kill_process(rank.place.process);
}

std::vector<Subject> subjects(Database &store, const fs::path &store_directory, Target target,
                              int64_t id) {
  std::vector<Subject> found;
  Query rows = store.query(target == Target::trial
                               ? "SELECT id, state FROM trials WHERE id=?"
                               : "SELECT id, state FROM trials WHERE experiment_id=? ORDER BY id",
                           id);
  while (rows.next()) found.push_back({rows.integer(0), rows.text(1), std::nullopt, false});
  for (Subject &trial : found) {
    trial.run = latest_run(store, trial.trial_id);
    trial.lives = trial.run && run_lives(store_directory, *trial.run);
  }
  return found;
}

// Whether the trial's run is signalled.
bool steer(Change &change, const Subject &trial, Action action, bool killed) {
  // A run that died without a word first becomes what it is.
  if (trial.run && !trial.run->exit && !trial.lives)
    record_run_end(change.records(), trial.trial_id, trial.run->run_id,
                   killed ? RunExit::killed : RunExit::died);
  const auto next = next_state(action, trial);
  if (!next) return false;
  set_trial_state(change.records(), trial.trial_id, *next);
  if (!trial.lives || (action != Action::pause && action != Action::cancel)) return false;
  change.signal(trial.trial_id, trial.run->run_id, action == Action::pause ? "pause" : "cancel");
  return true;
}

}  // namespace

std::string action_name(Action action) {
  switch (action) {
    case Action::pause:
      return "pausing";
    case Action::activate:
      return "activating";
    case Action::cancel:
      return "canceling";
    case Action::kill:
      return "killing";
  }
  throw Error(Code::invalid, "controlling a trial: no such action");
}

Json Engine::control(Target target, int64_t id, Action action) {
  const std::lock_guard guard(mutex_);
  if (supervised_experiment(records(), target, id))
    return control_supervised(store_, target, id, action);
  const bool one = target == Target::trial;
  if (state_of(records(), target, id).empty())
    throw Error(Code::not_found, action_name(action) + (one ? " trial " : " experiment ") +
                                     std::to_string(id) + ": there is none in '" +
                                     records().path().string() + "'; `det " +
                                     (one ? "ls" : "ls -e") + "` shows the ones there are");
  std::set<int64_t> killed;
  if (action == Action::kill) {
    // Before the write lock is taken: the process may hold it.
    for (const Subject &trial : subjects(records(), store_.directory(), target, id)) {
      if (!trial.lives) continue;
      kill_run(records(), trial);
      killed.insert(trial.trial_id);
    }
  }

  int64_t signalled = 0;
  Change change(store_);
  std::vector<Subject> trials = subjects(records(), store_.directory(), target, id);
  if (!one && trials.size() > 1)
    std::erase_if(trials, [](const Subject &trial) { return is_terminal(trial.state); });
  for (const Subject &trial : trials) {
    if (action == Action::kill && trial.lives)
      refuse(action, trial, "its process has not died yet; try again");
    if (steer(change, trial, action, killed.count(trial.trial_id) != 0)) ++signalled;
  }
  change.commit();
  const std::string state = state_of(records(), target, id);
  const bool resumable = trials.size() == 1 && !is_terminal(state) && state != state::canceling;
  Json answer{
      {"state", state}, {"signalled", signalled}, {"resume", nullptr}, {"resume_note", nullptr}};
  if (resumable) {
    const int64_t trial_id = trials.front().trial_id;
    answer["resume"] = resume_command(records(), store_.directory(), trial_id);
    answer["resume_note"] = resume_note(records(), store_.directory(), trial_id);
  }
  return answer;
}

}  // namespace det::engine

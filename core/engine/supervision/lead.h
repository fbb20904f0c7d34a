// What the supervisor of an experiment asks of its records and does to them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/engine/change.h"
#include "core/engine/experiment.h"
#include "core/engine/runs/run_info.h"
#include "core/engine/states.h"
#include "core/engine/store.h"
#include "core/engine/supervision/recorded_search.h"

namespace det::engine {

// What people make of an experiment.
struct ExperimentControl {
  std::string state;
  int64_t count = 0;  // grows with each thing they did
};

struct OpenTrial {
  int64_t id = 0;
  std::string state;
};

// A run that a supervisor started, and whose end none has judged.
struct LedRun {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  std::string leader;
};

// Whether a trial is to be started.
struct TrialStanding {
  std::string state;
  bool closed = false;
  bool done = true;  // no operation, or one that is completed and decided about
  int64_t turn = 0;  // when the search asked for its operation; 0: it is in the middle of it
};

// What a trial that runs has said.
struct TrialNews {
  bool refused = false;  // to go on
  double progress = 0;
  uint64_t length = 0;         // of its operation
  std::optional<Json> metric;  // of the operation, completed and not yet decided about
};

struct TrialValidation {
  int64_t row = 0;
  Json metrics;
};

// Decisions about a custom search, from outside.
struct SearchPost {
  int64_t id = 0, event_id = 0;
  std::string operations;
};

// What a run has said when its process is gone.
struct RunStanding {
  std::string trial_state;
  int64_t restarts = 0;
  bool closed = false;
  bool invalid_hp = false;
  bool acknowledged = false;  // that it leaves because it was asked to, or that it has no work
  bool done = false;
  bool restarts_forbidden = false;
};

struct JudgedRun {
  int64_t run_id = 0;
  RunExit exit = RunExit::ok;
  bool counts = false;  // as one of its trial's restarts
};

// What the search made of an event.
struct Decided {
  std::vector<int64_t> trials;  // that are new, have work, or have none any more
  bool states_changed = false;
  std::optional<std::string> failure;  // of the search: the experiment ends in an error
};

// Used by one thread. Throws what the store throws; then it is of no use any more.
class Lead {
 public:
  // Throws Code::busy when the experiment has a supervisor.
  Lead(const std::filesystem::path &store_directory, int64_t experiment_id,
       const StoreOptions &options);

  const SupervisorSeat &seat() const { return seat_; }

  ExperimentRecord experiment();
  std::string cluster_id();
  ExperimentControl control();
  // As if a person had asked for it. Throws Code::state where it may not become that.
  void change_state(std::string_view to);
  void note_progress(double progress);
  // Where it is stopping, it has ended now. Gives its state.
  std::string finish();

  std::vector<OpenTrial> open_trials();  // those that have not ended, in order
  std::vector<LedRun> led_runs();        // of those
  TrialStanding standing(int64_t trial_id);
  TrialNews news(int64_t trial_id);
  std::vector<TrialValidation> new_validations(int64_t trial_id);

  // The search, told all that is on record. Before anything of it that follows.
  void take_up(std::unique_ptr<search::Search> search, std::optional<uint64_t> length);
  bool is_custom() const { return search_->is_custom(); }
  double progress() const { return search_->progress(); }
  void trial_progress(int64_t trial_id, double units) { search_->trial_progress(trial_id, units); }

  // Each is one event with all that follows from it, recorded at once.
  Decided begin();
  Decided completed(int64_t trial_id, uint64_t length, const Json &metric);
  Decided validated(int64_t trial_id, const TrialValidation &validation);
  std::vector<SearchPost> posts();
  Decided answer(const SearchPost &post);
  Decided end_trial(int64_t trial_id, std::string_view state,
                    std::optional<search::ExitReason> reason, const std::optional<JudgedRun> &run);
  Decided fail(const std::string &why);

  RunInfo next_run(int64_t trial_id);
  // `leader` is what its launcher knows it by, the text of a JSON object: that of a process of a
  // machine is its ProcessIdentity.
  void start_run(const RunInfo &run, const std::string &leader);
  void ask_to_leave(int64_t trial_id, int64_t run_id, std::string_view reason);
  std::optional<std::string> run_exit(int64_t trial_id, int64_t run_id);
  // Whether its program has called the library.
  bool was_taken_up(int64_t trial_id, int64_t run_id);
  // As its process ended it; nothing where it said so itself.
  void end_run(int64_t trial_id, int64_t run_id, RunExit how);
  RunStanding run_standing(int64_t trial_id, int64_t run_id);
  void judge_run(int64_t trial_id, const JudgedRun &run);

  void log(int64_t trial_id, int64_t run_id, LogLevel level, const std::string &text);
  uint64_t log_offset(int64_t trial_id, int64_t run_id);
  // What it printed, with how far that was read, so that no line is lost or stored twice. Where a
  // line has what `policy` looks for, the trial is not started again when it fails: whether that is
  // new.
  bool log_output(int64_t trial_id, int64_t run_id, const std::vector<std::string> &lines,
                  uint64_t offset, const std::optional<std::string> &policy);

 private:
  Database &records() { return store_.database(); }
  Decided decide(const std::function<SearchChanges()> &event);
  void insert_line(int64_t trial_id, int64_t run_id, LogLevel level, const std::string &text);
  void record_judged(int64_t trial_id, const JudgedRun &run);
  std::string name() const { return "experiment " + std::to_string(experiment_id_); }

  Store store_;
  SupervisorSeat seat_;
  const int64_t experiment_id_;
  std::unique_ptr<RecordedSearch> search_;
};

}  // namespace det::engine

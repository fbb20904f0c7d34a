// Runs an experiment: tells its search what happens to the trials, carries out what it decides, and
// starts, watches and ends their processes. All it knows is in the store, so that one that was
// killed is followed by another that goes on where it was; trials that still run are taken over.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/base/log.h"
#include "core/engine/lead.h"
#include "core/launcher/launcher.h"
#include "core/launcher/log_follower.h"
#include "core/launcher/log_policies.h"
#include "core/launcher/verdict.h"

namespace det {

// Used by one thread. Throws what the store throws; then it is of no use any more, and what is on
// record is what counts.
class Supervisor {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::filesystem::path store_directory;
    int64_t experiment_id = 0;
    std::shared_ptr<Logger> log;
    std::function<Clock::time_point()> now = Clock::now;
    StoreOptions store;
  };

  // Throws Code::busy when the experiment has a supervisor.
  Supervisor(Options options, Launcher &launcher);

  // Does all there is to do now.
  void step();

  // Until there may be something to do, or `fd` is readable, or for `limit`.
  void wait(int fd, std::chrono::milliseconds limit);

  // As if a person had asked for it. Throws Code::state where it may not become that.
  void change_state(std::string_view to);
  // Ends all processes; their trials go on later, from their latest checkpoints.
  void kill_processes();

  const ExperimentRecord &experiment() const { return experiment_; }
  bool ended() const;
  // Nothing runs, and nothing will before somebody activates it.
  bool at_rest() const;
  double progress() const;
  std::vector<int64_t> running() const;
  size_t waiting() const { return waiting_.size(); }
  // The trials whose processes have left since this was asked last.
  std::vector<int64_t> take_left() { return std::exchange(left_, {}); }

 private:
  struct Trial {
    std::string state;
    bool closed = false;
    bool done = true;  // no operation, or a completed one
    // Of its process:
    int64_t run_id = 0;  // 0: it has none
    bool killed = false;
    bool queued = false;
    Clock::time_point kill_at = Clock::time_point::max();
    std::unique_ptr<LogFollower> log;
  };

  void take_over();
  void take_over_run(const LedRun &run);
  void read_control();
  void reload_states();
  void settle_touched();
  void refresh(int64_t id);
  void apply_state(int64_t id, Trial &trial);
  void ask_to_leave(int64_t id, Trial &trial, std::string_view reason);
  void look_at(int64_t id, Trial &trial);
  void hear_completion(int64_t id, Trial &trial, const TrialNews &news);
  void hear_validations(int64_t id);
  void hear_posts();
  void run_gone(const LaunchedExit &exit);
  bool shell_found_nothing(const LaunchedExit &exit);
  void tell_of_run(int64_t id, int64_t run_id, LogLevel level, const std::string &text);
  void conclude_run(int64_t id, Trial &trial, RunFacts facts, RunExit how);
  void conclude(int64_t id, const Verdict &verdict, const std::optional<JudgedRun> &run = {});
  void carry_on(const Decided &decided);
  void launch_waiting();
  void launch(int64_t id, Trial &trial);
  TrialLaunch describe(const RunInfo &run) const;
  std::filesystem::path log_file(int64_t trial_id, int64_t run_id) const;
  void enforce_deadlines();
  void follow_log(int64_t id, Trial &trial);
  void store_lines(int64_t id, int64_t run_id, const std::vector<std::string> &lines,
                   uint64_t read);
  void finish();
  void note_progress();
  std::string name_of(int64_t trial_id) const;

  const Options options_;
  Launcher &launcher_;
  Lead lead_;
  ExperimentRecord experiment_;
  int64_t control_ = -1;
  int64_t slots_per_trial_ = 1, max_slots_ = 0, max_restarts_ = 5;
  std::chrono::seconds preemption_timeout_{3600};
  const LogPolicies log_policies_;
  std::map<int64_t, Trial> trials_;  // those that have not ended
  std::set<int64_t> running_;
  std::vector<int64_t> left_;
  // With work and without a process, by when the search asked for it, so that the order is that of
  // any other supervisor. Those that were interrupted at it go first.
  std::set<std::pair<int64_t, int64_t>> waiting_;
  bool waits_for_others_ = false;
  std::deque<int64_t> touched_;  // to be looked at
  bool states_changed_ = false;
  double stored_progress_ = -1;
  Clock::time_point next_progress_{};
};

}  // namespace det

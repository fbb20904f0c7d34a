#include "core/launcher/local/local_launcher.h"

#include <sys/epoll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process/pidfd.h"
#include "core/base/process/process.h"
#include "core/launcher/launcher.h"
#include "core/launcher/local/held_process.h"
#include "core/launcher/local/process_environment.h"
#include "core/launcher/local/process_session.h"
#include "core/launcher/program.h"

namespace det::launcher {

namespace {

// How a child ended, without forgetting its number; of whose run is not filled in. Nothing while it
// lives.
std::optional<LaunchedExit> peek_exit(const Fd &child) {
  siginfo_t how{};
  if (waitid(by_pidfd, static_cast<id_t>(child.get()), &how, WEXITED | WNOHANG | WNOWAIT) != 0)
    // Somebody has the kernel forget children that end.
    return has_ended(child) ? std::optional(LaunchedExit{.kind = LaunchedExit::Kind::unknown})
                            : std::nullopt;
  if (how.si_pid == 0) return std::nullopt;
  const bool exited = how.si_code == CLD_EXITED;
  return LaunchedExit{.kind = exited ? LaunchedExit::Kind::exited : LaunchedExit::Kind::signaled,
                      .status = how.si_status};
}

// Waits for one that has ended, or is about to. Does nothing for the child of another.
void wait_for(const Fd &child) {
  siginfo_t how{};
  while (waitid(by_pidfd, static_cast<id_t>(child.get()), &how, WEXITED) != 0 && errno == EINTR) {
  }
}

struct TrialStart {
  Start start;
  std::exception_ptr defect;  // what keeps the command from starting; none where nothing does
};

Variables identity_variables(const TrialLaunch &launch) {
  return {{"DET_TRIAL_ID", std::to_string(launch.trial_id)},
          {"DET_TRIAL_RUN_ID", std::to_string(launch.run_id)}};
}

// What is to be started, and what else it needs in the environment.
void set_program(const TrialLaunch &launch, Variables &variables, Start &start) {
  if (launch.command.empty())
    throw Error(Code::invalid, "starting a trial: its command is empty; name a program");
  if (!std::filesystem::is_directory(start.directory))
    throw Error(Code::not_found, "starting a trial in '" + start.directory.string() +
                                     "': there is no such directory");
  start.program = find_program(launch.command[0], search_path(variables), start.directory);
  if (launch.slots > 1) {
    start.arguments = through_mpirun(launch.command, launch.slots, variables);
    start.program = find_program(start.arguments[0], search_path(variables), "/");
  }
}

// `of_slots` are the variables that tell which slots it has, `usual` those that it gets unless
// somebody said otherwise.
TrialStart trial_start(const TrialLaunch &launch, const Variables &of_slots,
                       const Variables &usual) {
  Variables variables = inherited_variables();
  variables.insert(usual.begin(), usual.end());
  for (const Variables &added : {launch.environment, identity_variables(launch), of_slots})
    for (const auto &[name, value] : added) variables[name] = value;
  TrialStart trial;
  trial.start.arguments = launch.command;
  trial.start.directory =
      launch.directory.empty() ? std::filesystem::current_path() : launch.directory;
  trial.start.log_file = launch.log_file;
  try {
    set_program(launch, variables, trial.start);
  } catch (const Error &) {
    trial.defect = std::current_exception();
  }
  trial.start.environment = assignments(variables);
  return trial;
}

// What every process of a run has in its environment, each "NAME=value".
std::vector<std::string> marks_of(const TrialLaunch &launch) {
  return assignments(identity_variables(launch));
}

std::vector<int> unknown_slots(int count) {
  return std::vector<int>(static_cast<size_t>(count), -1);
}

// The slots a process was started with, as Slots::variables() told it. Where it does not say, as
// many that are not among those of this machine: they still count.
std::vector<int> slots_held_by(pid_t pid, int count) {
  try {
    return parse_json(variable_of(pid, "DET_SLOT_IDS"), "DET_SLOT_IDS").get<std::vector<int>>();
  } catch (const std::exception &) {
    return unknown_slots(count);
  }
}

}  // namespace

namespace {

constexpr int64_t no_owner = -1;

void add_to_epoll(int epoll, int fd, int64_t owner) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<uint64_t>(owner);
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
    OsFailure{errno}.raise(owner == no_owner ? "watching for announcements"
                                             : "watching a process of " + trial_name(owner));
}

}  // namespace

ProcessWatch::ProcessWatch() : news_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!news_) OsFailure{errno}.raise("making an epoll");
  add_to_epoll(news_.get(), announced_.fd(), no_owner);
}

void ProcessWatch::add(const Fd &process, int64_t owner) {
  add_to_epoll(news_.get(), process.get(), owner);
}

void ProcessWatch::remove(const Fd &process) {
  epoll_ctl(news_.get(), EPOLL_CTL_DEL, process.get(), nullptr);
}

void ProcessWatch::announce(int64_t owner) {
  owners_announced_.insert(owner);
  announced_.set();
}

std::set<int64_t> ProcessWatch::take() {
  std::set<int64_t> owners;
  epoll_event events[64];
  const int count = std::max(epoll_wait(news_.get(), events, 64, 0), 0);
  for (const epoll_event &event : std::span(events, static_cast<size_t>(count))) {
    const auto owner = static_cast<int64_t>(event.data.u64);
    if (owner != no_owner) {
      owners.insert(owner);
      continue;
    }
    announced_.clear();
    owners.merge(std::exchange(owners_announced_, {}));
  }
  return owners;
}

void LocalLauncher::check(const TrialLaunch &launch) const {
  if (const std::exception_ptr defect = trial_start(launch, {}, {}).defect)
    std::rethrow_exception(defect);
}

std::string LocalLauncher::prepare(const TrialLaunch &launch) {
  check_is_new(launch.trial_id);
  Run run;
  run.run_id = launch.run_id;
  run.is_child = true;
  run.marks = marks_of(launch);
  run.slots = slots_.take(launch.slots);
  try {
    TrialStart trial = trial_start(launch, slots_.variables(run.slots),
                                   slots_.thread_variables(launch.slots_at_once));
    run.defect = trial.defect;
    trial.start.inherited = slots_.claims(run.slots);
    run.held.emplace(std::move(trial.start));
    run.leader = run.held->pid();
    run.process = open_process(run.leader);
  } catch (...) {
    slots_.give_back(run.slots);
    if (run.leader > 0) {
      run.held.reset();
      waitpid(run.leader, nullptr, 0);
    }
    throw;
  }
  const std::string identity = to_wire(ProcessIdentity::of(run.leader).to_json());
  add(launch.trial_id, std::move(run));
  return identity;
}

void LocalLauncher::go(int64_t trial_id) {
  const auto found = runs_.find(trial_id);
  if (found == runs_.end() || !found->second.held)
    throw Error(Code::state, "starting " + trial_name(trial_id) + ": nothing is prepared for it");
  try {
    if (found->second.defect) std::rethrow_exception(found->second.defect);
    found->second.held->go();
    found->second.held.reset();
  } catch (...) {
    discard(trial_id);
    throw;
  }
}

void LocalLauncher::adopt(const TrialLaunch &launch, const std::string &identity) {
  check_is_new(launch.trial_id);
  const ProcessIdentity leader =
      ProcessIdentity::from_json(parse_json_object(identity, "the process of a run"));
  Run run;
  run.run_id = launch.run_id;
  run.marks = marks_of(launch);
  run.process = open_process(static_cast<pid_t>(leader.pid));
  // What is held is the leader if that lives now: its number was its own all the time.
  const Liveness life = liveness(leader);
  if (life == Liveness::unknown)
    throw Error(Code::unsupported,
                "taking over " + trial_name(launch.trial_id) + ": process " +
                    std::to_string(leader.pid) + " of '" + leader.host +
                    "' cannot be judged from here; it was started on another machine, before this "
                    "one was started anew, in another container, or by another user");
  run.leader = static_cast<pid_t>(leader.pid);
  // Until its end is told nothing takes its place: its trial is the first to go on.
  if (life == Liveness::dead) {
    run.process = Fd();
    run.slots = unknown_slots(launch.slots);
  } else {
    run.slots = slots_held_by(run.leader, launch.slots);
  }
  slots_.take_held(run.slots);
  add(launch.trial_id, std::move(run));
}

void LocalLauncher::kill(int64_t trial_id) {
  const auto found = runs_.find(trial_id);
  if (found == runs_.end()) return;
  if (found->second.process) send_kill(found->second.process);
  kill_session_of(found->second);
}

std::vector<LaunchedExit> LocalLauncher::take_exits() {
  std::vector<LaunchedExit> exits;
  for (const int64_t trial_id : watch_.take()) {
    const auto found = runs_.find(trial_id);
    if (std::optional<LaunchedExit> exit = ended(trial_id, found->second)) {
      exits.push_back(*exit);
      discard(trial_id);
    }
  }
  return exits;
}

std::optional<LaunchedExit> LocalLauncher::ended(int64_t trial_id, Run &run) {
  // Without a process it was gone before it was adopted.
  LaunchedExit exit{.kind = LaunchedExit::Kind::unknown, .lost = !run.process};
  if (run.is_child) {
    const std::optional<LaunchedExit> how = peek_exit(run.process);
    if (!how) return std::nullopt;
    exit = *how;
  } else if (run.process && !has_ended(run.process)) {
    return std::nullopt;
  }
  exit.trial_id = trial_id;
  exit.run_id = run.run_id;
  // The leader has no more news; what it left has.
  if (run.process) watch_.remove(run.process);
  for (const Fd &process : run.left) watch_.remove(process);
  run.left = kill_session_of(run);
  for (const Fd &process : run.left) watch_.add(process, trial_id);
  return run.left.empty() ? std::optional(exit) : std::nullopt;
}

std::vector<Fd> LocalLauncher::kill_session_of(const Run &run) const {
  // As long as a child is not waited for, the number of its session cannot be another's.
  return kill_session(run.leader,
                      [&](pid_t pid) { return run.is_child || started_with(pid, run.marks); });
}

void LocalLauncher::discard(int64_t trial_id) {
  const auto found = runs_.find(trial_id);
  Run &run = found->second;
  run.held.reset();
  if (run.process) {
    watch_.remove(run.process);
    wait_for(run.process);
  }
  slots_.give_back(run.slots);
  runs_.erase(found);
}

void LocalLauncher::check_is_new(int64_t trial_id) const {
  if (runs_.contains(trial_id))
    throw Error(Code::state, "starting " + trial_name(trial_id) + ": it is running");
}

void LocalLauncher::add(int64_t trial_id, Run run) {
  const Run &added = runs_.emplace(trial_id, std::move(run)).first->second;
  try {
    if (added.process) watch_.add(added.process, trial_id);
    else watch_.announce(trial_id);
  } catch (...) {
    discard(trial_id);
    throw;
  }
}

}  // namespace det::launcher

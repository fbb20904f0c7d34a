#include "core/launcher/process_launcher.h"

#include <sys/epoll.h>
#include <sys/wait.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/base/pidfd.h"
#include "core/launcher/environment.h"
#include "core/launcher/program.h"
#include "core/launcher/session.h"

namespace det {

namespace {

constexpr int64_t no_trial = -1;

std::string trial_name(int64_t trial_id) { return "trial " + std::to_string(trial_id); }

Variables identity_variables(const TrialLaunch &launch) {
  return {{"DET_TRIAL_ID", std::to_string(launch.trial_id)},
          {"DET_TRIAL_RUN_ID", std::to_string(launch.run_id)}};
}

std::filesystem::path directory_of(const TrialLaunch &launch) {
  return launch.directory.empty() ? std::filesystem::current_path() : launch.directory;
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
    start.program = start.arguments[0];
  }
}

// How a child ended, without forgetting its number. Nothing while it lives.
std::optional<LaunchedExit> peek_exit(const Fd &child) {
  siginfo_t how{};
  if (waitid(P_PIDFD, static_cast<id_t>(child.get()), &how, WEXITED | WNOHANG | WNOWAIT) != 0)
    // Somebody has the kernel forget children that end.
    return has_ended(child) ? std::optional(LaunchedExit{0, 0, LaunchedExit::Kind::unknown, 0})
                            : std::nullopt;
  if (how.si_pid == 0) return std::nullopt;
  const bool exited = how.si_code == CLD_EXITED;
  return LaunchedExit{0, 0, exited ? LaunchedExit::Kind::exited : LaunchedExit::Kind::signaled,
                      how.si_status};
}

// For one that has ended, or is about to. Does nothing for the child of another.
void wait_for(const Fd &child) {
  siginfo_t how{};
  while (waitid(P_PIDFD, static_cast<id_t>(child.get()), &how, WEXITED) != 0 && errno == EINTR) {
  }
}

// The slots a process was started with, as Slots::variables() told it. Where it does not say, as
// many that are not among those of this machine: they still count.
std::vector<int> slots_held_by(pid_t pid, int count) {
  try {
    return parse_json(variable_of(pid, "DET_SLOT_IDS"), "DET_SLOT_IDS").get<std::vector<int>>();
  } catch (const std::exception &) {
    return std::vector<int>(static_cast<size_t>(count), -1);
  }
}

}  // namespace

ProcessLauncher::ProcessLauncher(Slots slots)
    : slots_(std::move(slots)), news_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!news_) OsFailure{errno}.raise("making an epoll");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<uint64_t>(no_trial);
  if (epoll_ctl(news_.get(), EPOLL_CTL_ADD, dead_on_arrival_.fd(), &event) != 0)
    OsFailure{errno}.raise("watching an eventfd");
}

void ProcessLauncher::check(const TrialLaunch &launch) const {
  Variables variables = inherited_variables();
  for (const auto &[name, value] : launch.environment) variables[name] = value;
  Start start{{}, launch.command, {}, directory_of(launch), {}};
  set_program(launch, variables, start);
}

ProcessIdentity ProcessLauncher::prepare(const TrialLaunch &launch) {
  check_is_new(launch.trial_id);
  Run run;
  run.run_id = launch.run_id;
  run.is_child = true;
  run.slots = slots_.take(launch.slots);
  try {
    Variables variables = inherited_variables();
    const Variables identity = identity_variables(launch);
    for (const Variables &added : {launch.environment, identity, slots_.variables(run.slots)})
      for (const auto &[name, value] : added) variables[name] = value;
    Start start{{}, launch.command, {}, directory_of(launch), launch.log_file};
    try {
      set_program(launch, variables, start);
    } catch (const Error &) {
      run.defect = std::current_exception();
    }
    start.environment = assignments(variables);
    start.inherited = slots_.claims(run.slots);
    run.marks = assignments(identity);
    run.held.emplace(std::move(start));
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
  const ProcessIdentity leader = ProcessIdentity::of(run.leader);
  add(launch.trial_id, std::move(run));
  return leader;
}

void ProcessLauncher::go(int64_t trial_id) {
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

void ProcessLauncher::adopt(const TrialLaunch &launch, const ProcessIdentity &leader) {
  check_is_new(launch.trial_id);
  Run run;
  run.run_id = launch.run_id;
  run.marks = assignments(identity_variables(launch));
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
  if (life == Liveness::dead) run.process = Fd();
  else run.slots = slots_held_by(run.leader, launch.slots);
  slots_.take_held(run.slots);
  add(launch.trial_id, std::move(run));
}

void ProcessLauncher::kill(int64_t trial_id) {
  const auto found = runs_.find(trial_id);
  if (found == runs_.end()) return;
  if (found->second.process) send_kill(found->second.process);
  kill_session_of(found->second);
}

std::vector<LaunchedExit> ProcessLauncher::take_exits() {
  std::vector<LaunchedExit> exits;
  for (const int64_t trial_id : trials_with_news()) {
    const auto found = runs_.find(trial_id);
    if (std::optional<LaunchedExit> exit = ended(trial_id, found->second)) {
      exits.push_back(*exit);
      discard(trial_id);
    }
  }
  return exits;
}

std::optional<LaunchedExit> ProcessLauncher::ended(int64_t trial_id, Run &run) {
  LaunchedExit exit{0, 0, LaunchedExit::Kind::unknown, 0};
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
  if (run.process) unwatch(run.process);
  for (const Fd &process : run.left) unwatch(process);
  run.left = kill_session_of(run);
  for (const Fd &process : run.left) watch(process, trial_id);
  return run.left.empty() ? std::optional(exit) : std::nullopt;
}

std::vector<Fd> ProcessLauncher::kill_session_of(const Run &run) const {
  // As long as a child is not waited for, the number of its session cannot be another's.
  return kill_session(run.leader,
                      [&](pid_t pid) { return run.is_child || started_with(pid, run.marks); });
}

void ProcessLauncher::discard(int64_t trial_id) {
  const auto found = runs_.find(trial_id);
  Run &run = found->second;
  run.held.reset();
  if (run.process) {
    unwatch(run.process);
    wait_for(run.process);
  }
  slots_.give_back(run.slots);
  runs_.erase(found);
}

void ProcessLauncher::check_is_new(int64_t trial_id) const {
  if (runs_.contains(trial_id))
    throw Error(Code::state, "starting " + trial_name(trial_id) + ": it is running");
}

void ProcessLauncher::add(int64_t trial_id, Run run) {
  if (run.process) {
    watch(run.process, trial_id);
  } else {
    dead_on_arrival_.set();
  }
  runs_.emplace(trial_id, std::move(run));
}

void ProcessLauncher::watch(const Fd &process, int64_t trial_id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<uint64_t>(trial_id);
  if (epoll_ctl(news_.get(), EPOLL_CTL_ADD, process.get(), &event) != 0)
    OsFailure{errno}.raise("watching " + trial_name(trial_id));
}

void ProcessLauncher::unwatch(const Fd &process) {
  epoll_ctl(news_.get(), EPOLL_CTL_DEL, process.get(), nullptr);
}

std::set<int64_t> ProcessLauncher::trials_with_news() {
  std::set<int64_t> trials;
  epoll_event events[64];
  const int count = epoll_wait(news_.get(), events, 64, 0);
  for (int i = 0; i < count; ++i) {
    const auto trial_id = static_cast<int64_t>(events[i].data.u64);
    if (trial_id != no_trial) {
      trials.insert(trial_id);
      continue;
    }
    dead_on_arrival_.clear();
    for (const auto &[id, run] : runs_)
      if (!run.process) trials.insert(id);
  }
  return trials;
}

}  // namespace det

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/json.h"
#include "core/base/process/command_line.h"
#include "core/base/process/fork_guard.h"
#include "core/base/process/process.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;

// Runs `body` in a child and gives its exit status.
int in_child(const std::function<int()> &body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A line of communication: a child tells that it has come somewhere, the parent lets it go on.
struct Pipe {
  int ends[2];
  Pipe() { assert_int_equal(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  void tell() const { assert_int_equal(write(ends[1], "x", 1), 1); }
  void wait() const {
    char byte = 0;
    assert_int_equal(read(ends[0], &byte, 1), 1);
  }
};

void second_process_finds_the_lock_busy(void **) {
  const TemporaryDirectory directory;
  const auto lock = OwnerLock::acquire(directory / "lock");
  assert_int_equal(owner_liveness(directory / "lock"), Liveness::alive);
  assert_int_equal(in_child([&] {
                     try {
                       OwnerLock::acquire(directory / "lock");
                       return 0;
                     } catch (const Error &e) {
                       return e.code == Code::busy ? 1 : 2;
                     }
                   }),
                   1);
  assert_false(OwnerLock::take_over(directory / "lock").has_value());
}

void a_second_owner_in_the_same_process_finds_it_busy(void **) {
  const TemporaryDirectory directory;
  const auto lock = OwnerLock::acquire(directory / "lock");
  expect_error(Code::busy, [&] { OwnerLock::acquire(directory / "lock"); });
}

void lock_of_a_dead_owner_is_taken_over(void **) {
  const TemporaryDirectory directory;
  assert_int_equal(in_child([&] {
                     new OwnerLock(OwnerLock::acquire(directory / "lock"));
                     return 0;
                   }),
                   0);
  assert_int_equal(owner_liveness(directory / "lock"), Liveness::dead);
  const auto taken = OwnerLock::take_over(directory / "lock");
  assert_true(taken.has_value());
  assert_int_equal(owner_liveness(directory / "lock"), Liveness::alive);
  assert_false(OwnerLock::take_over(directory / "lock").has_value());
}

// A worker that lives on must not hold the lock of the dead, nor give back that of the living.
void a_forked_child_has_no_lock_of_its_parent(void **) {
  const TemporaryDirectory directory;
  const Pipe until_the_end;
  assert_int_equal(in_child([&] {
                     new UnsharedFd(wait_for_lock(directory / "turn"));
                     if (fork() == 0) {
                       close(until_the_end.ends[1]);
                       char byte = 0;
                       _exit(static_cast<int>(read(until_the_end.ends[0], &byte, 1)));
                     }
                     return 0;
                   }),
                   0);
  auto held = std::make_unique<UnsharedFd>(wait_for_lock(directory / "turn"));  // at once
  assert_int_equal(in_child([&] {
                     held.reset();
                     return 0;
                   }),
                   0);
  const Fd other = open_file(directory / "turn", O_RDWR);
  assert_int_equal(flock(other.get(), LOCK_EX | LOCK_NB), -1);
}

// The process that a shell called `name` starts. It says its number when it has a command of its
// own.
std::optional<std::string> launcher_of_process_under(const std::string &name) {
  const std::string command = "exec bash -c 'exec -a \"" + name +
                              R"(" bash -c "sh -c \"echo \\\$\\\$; exec sleep 60\" & wait" -n 2')";
  const std::unique_ptr<FILE, int (*)(FILE *)> shell(popen(command.c_str(), "r"), pclose);
  int pid = 0;
  assert_int_equal(fscanf(shell.get(), "%d", &pid), 1);
  const auto found = launcher_command_line(pid);
  kill(pid, SIGKILL);
  return found;
}

void the_command_of_a_launcher_is_found(void **) {
  const auto found = launcher_of_process_under("/usr/bin/mpirun.openmpi");
  assert_true(found.has_value());
  assert_true(found->starts_with("/usr/bin/mpirun.openmpi -c '"));
  assert_true(found->ends_with(" -n 2"));
  assert_false(launcher_of_process_under("./train").has_value());
  // Forked, it has the command of its parent.
  assert_int_equal(in_child([] { return launcher_command_line() == command_line() ? 0 : 1; }), 0);
}

void a_released_lock_is_free_at_once(void **) {
  const TemporaryDirectory directory;
  { const auto lock = OwnerLock::acquire(directory / "lock"); }
  assert_int_equal(owner_liveness(directory / "lock"), Liveness::dead);
  const auto again = OwnerLock::acquire(directory / "lock");
  expect_error(Code::busy, [&] { OwnerLock::acquire(directory / "lock"); });
}

void an_absent_lock_can_be_taken(void **) {
  const TemporaryDirectory directory;
  assert_int_equal(owner_liveness(directory / "lock"), Liveness::dead);
  const auto taken = OwnerLock::take_over(directory / "lock");
  assert_true(taken.has_value());
}

void an_empty_or_damaged_lock_file_has_no_owner(void **) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "empty");
  std::ofstream(directory / "damaged") << "{\"pid\": \"text\"";
  assert_true(OwnerLock::take_over(directory / "empty").has_value());
  assert_true(OwnerLock::take_over(directory / "damaged").has_value());
}

// The owner forks and dies; its child lives on with the lock.
void lock_held_by_a_child_of_a_dead_owner_is_taken_over(void **) {
  const TemporaryDirectory directory;
  const Pipe ready;
  const Pipe go;
  const pid_t owner = fork();
  if (owner == 0) {
    const auto lock = OwnerLock::acquire(directory / "lock");
    if (fork() == 0) {
      ready.tell();
      go.wait();
      _exit(0);
    }
    pause();
  }
  ready.wait();
  assert_int_equal(owner_liveness(directory / "lock"), Liveness::alive);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  assert_int_equal(owner_liveness(directory / "lock"), Liveness::dead);
  const auto taken = OwnerLock::take_over(directory / "lock");
  assert_true(taken.has_value());
  assert_int_equal(owner_liveness(directory / "lock"), Liveness::alive);
  go.tell();
}

void a_zombie_counts_as_dead(void **) {
  const TemporaryDirectory directory;
  const Pipe ready;
  const Pipe go;
  const pid_t owner = fork();
  if (owner == 0) {
    new OwnerLock(OwnerLock::acquire(directory / "lock"));
    // Its child keeps the lock, so that only the owner's state tells.
    if (fork() == 0) {
      ready.tell();
      go.wait();
    }
    _exit(0);
  }
  ready.wait();
  siginfo_t info{};
  assert_int_equal(waitid(P_PID, static_cast<id_t>(owner), &info, WEXITED | WNOWAIT), 0);
  assert_int_equal(owner_liveness(directory / "lock"), Liveness::dead);
  assert_true(OwnerLock::take_over(directory / "lock").has_value());
  go.tell();
  waitpid(owner, nullptr, 0);
}

// Forks a process that takes `lock` and dies, while a child of its own lives on until `go`.
void leave_lock_to_a_child(const std::filesystem::path &lock, const Pipe &go) {
  const Pipe ready;
  const pid_t owner = fork();
  if (owner == 0) {
    new OwnerLock(OwnerLock::acquire(lock));
    if (fork() == 0) {
      ready.tell();
      go.wait();
    }
    _exit(0);
  }
  ready.wait();
  waitpid(owner, nullptr, 0);
}

void of_many_takers_exactly_one_wins(void **) {
  constexpr int takers = 6;
  for (int round = 0; round < 20; ++round) {
    const TemporaryDirectory directory;
    const Pipe go;
    leave_lock_to_a_child(directory / "lock", go);

    const Pipe start;
    const Pipe won;
    const Pipe tried;
    std::vector<pid_t> children;
    for (int i = 0; i < takers; ++i) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      start.wait();
      for (int attempt = 0; attempt < 10; ++attempt)
        if (auto taken = OwnerLock::take_over(directory / "lock")) {
          new OwnerLock(std::move(*taken));
          won.tell();
        }
      tried.tell();
      pause();  // winners hold on until all have tried
    }
    for (int i = 0; i < takers; ++i) start.tell();
    for (int i = 0; i < takers; ++i) tried.wait();
    int wins = 0;
    ioctl(won.ends[0], FIONREAD, &wins);
    assert_int_equal(wins, 1);
    assert_int_equal(owner_liveness(directory / "lock"), Liveness::alive);
    for (const pid_t child : children) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    go.tell();
  }
}

void a_lock_is_never_seen_without_its_owner(void **) {
  const TemporaryDirectory directory;
  const pid_t maker = fork();
  if (maker == 0)
    for (;;) {
      const auto lock = OwnerLock::acquire(directory / "lock");
      unlink((directory / "lock").c_str());
    }
  int seen = 0;
  while (seen < 50) {
    std::ifstream file(directory / "lock");
    if (!file) continue;
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    assert_int_equal(parse_json_object(text, "lock")["pid"].get<int>(), maker);
    ++seen;
  }
  kill(maker, SIGKILL);
  waitpid(maker, nullptr, 0);
}

void identities_read_back_the_same(void **) {
  const ProcessIdentity self = ProcessIdentity::current();
  const ProcessIdentity copy = ProcessIdentity::from_json(self.to_json());
  assert_int_equal(copy.pid, getpid());
  assert_int_equal(copy.start_ticks, self.start_ticks);
  assert_true(self.start_ticks != 0);
  assert_int_equal(liveness(copy), Liveness::alive);
}

void a_number_used_again_is_another_process(void **) {
  ProcessIdentity other = ProcessIdentity::current();
  other.start_ticks -= 1;
  assert_int_equal(liveness(other), Liveness::dead);
}

void processes_of_other_machines_cannot_be_judged(void **) {
  ProcessIdentity other = ProcessIdentity::current();
  other.boot_id = "elsewhere";
  assert_int_equal(liveness(other), Liveness::unknown);
  other = ProcessIdentity::current();
  other.pid_namespace += 1;
  assert_int_equal(liveness(other), Liveness::unknown);
  assert_int_equal(liveness({}), Liveness::unknown);
}

void a_forked_child_is_recognised(void **) {
  const ForkGuard guard;
  assert_false(guard.in_child());
  assert_int_equal(in_child([&] {
                     const bool seen = guard.in_child();
                     const ForkGuard own;
                     return seen && !own.in_child() ? 7 : 0;
                   }),
                   7);
  assert_false(guard.in_child());
  bool in_thread = true;
  std::thread([&] { in_thread = guard.in_child(); }).join();
  assert_false(in_thread);
}

void process_that_has_ended_is_dead_before_it_is_waited_for(void **) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t how{};
  assert_int_equal(waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT), 0);
  const ProcessIdentity zombie = ProcessIdentity::of(child);
  assert_int_equal(zombie.pid, child);
  assert_int_equal(static_cast<int>(liveness(zombie)), static_cast<int>(Liveness::dead));
  waitpid(child, nullptr, 0);
}

// Who took a process for gone that cannot be looked at would take its files.
void a_process_that_cannot_be_looked_at_is_not_taken_for_gone(void **) {
  const ProcessIdentity self = ProcessIdentity::current();
  rlimit before{};
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  std::vector<Fd> all;
  while (all.empty() || all.back().get() < 3) all.emplace_back(dup(STDIN_FILENO));
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int unknown = static_cast<int>(liveness(self));
  int code = 0;
  try {
    ProcessIdentity::current();
  } catch (const Error &error) {
    code = static_cast<int>(error.code);
  }
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(unknown, static_cast<int>(Liveness::unknown));
  assert_int_equal(code, static_cast<int>(Code::io));
}

}  // namespace

int test_process() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(second_process_finds_the_lock_busy),
      cmocka_unit_test(a_second_owner_in_the_same_process_finds_it_busy),
      cmocka_unit_test(lock_of_a_dead_owner_is_taken_over),
      cmocka_unit_test(a_forked_child_has_no_lock_of_its_parent),
      cmocka_unit_test(the_command_of_a_launcher_is_found),
      cmocka_unit_test(a_released_lock_is_free_at_once),
      cmocka_unit_test(an_absent_lock_can_be_taken),
      cmocka_unit_test(an_empty_or_damaged_lock_file_has_no_owner),
      cmocka_unit_test(lock_held_by_a_child_of_a_dead_owner_is_taken_over),
      cmocka_unit_test(a_zombie_counts_as_dead),
      cmocka_unit_test(of_many_takers_exactly_one_wins),
      cmocka_unit_test(a_lock_is_never_seen_without_its_owner),
      cmocka_unit_test(identities_read_back_the_same),
      cmocka_unit_test(a_number_used_again_is_another_process),
      cmocka_unit_test(processes_of_other_machines_cannot_be_judged),
      cmocka_unit_test(a_forked_child_is_recognised),
      cmocka_unit_test(process_that_has_ended_is_dead_before_it_is_waited_for),
      cmocka_unit_test(a_process_that_cannot_be_looked_at_is_not_taken_for_gone),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

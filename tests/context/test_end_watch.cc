// Each case is a process of its own, this program with the case's name: it writes into a file what
// it is told, and ends.
#include "core/context/process/end_watch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/base/file.h"
#include "core/context/process/signals.h"
#include "tests/cmocka.h"
#include "tests/sanitizer.h"
#include "tests/temporary_directory.h"
#include "tests/threads.h"

namespace {

using namespace det;
using namespace det::context;

// In the process of a case.

std::string file;
std::unique_ptr<EndWatch> watch;

void note(const std::string &text) {
  write_all(open_file(file, O_WRONLY | O_CREAT | O_APPEND).get(), text + " ", file);
}

EndWatch::Told note_as(const std::string &name) {
  return [name](int status) { note(name + std::to_string(status)); };
}

// A sanitizer's allocator does not survive a fork while another thread is inside it, as the watch's
// thread is when it begins.
pid_t fork_among_threads() {
  wait_until_other_threads_sleep();
  return fork();
}

int end_forked_child(int signal) {
  const pid_t child = fork_among_threads();
  if (child == 0) {
    if (signal == 0) std::exit(0);
    raise(signal);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// One way to end, with a watch; gives main()'s status.
int end_by(const std::string &how) {
  watch = std::make_unique<EndWatch>(note_as(""));
  if (how == "return 4") return 4;
  if (how == "exit 0") std::exit(0);
  if (how == "exit 3") std::exit(3);
  if (how == "exit in a thread") std::thread([] { std::exit(3); }).join();
  if (how == "_exit") _exit(3);
  if (how == "throw") throw std::runtime_error("uncaught");
  if (how == "abort") std::abort();
  if (how == "fault") {
    static volatile uintptr_t nowhere = 16;
    *reinterpret_cast<volatile int *>(nowhere) = 1;
  }
  if (how == "closed") watch.reset();
  if (how == "closed and killed") {
    watch.reset();
    raise(SIGTERM);
  }
  if (how == "two watches") {
    const EndWatch other(note_as("other"));
    raise(SIGINT);
    for (;;) pause();  // the program goes on
  }
  if (how == "two watches exit") {
    const EndWatch other(note_as("other"));
    std::exit(5);
  }
  if (how == "one of two closed") {
    { const EndWatch other(note_as("other")); }
    raise(SIGTERM);
  }
  if (how == "callback throws") {
    const EndWatch other([](int) { throw std::runtime_error("no"); });
    raise(SIGTERM);
  }
  if (how.starts_with("callback closes")) {
    watch = std::make_unique<EndWatch>([](int status) {
      watch.reset();
      note(std::to_string(status));
    });
    if (how == "callback closes at exit") std::exit(3);
    raise(SIGTERM);
  }
  if (how == "callback hangs") {
    watch.reset();
    const EndWatch hanging(
        [](int) {
          for (;;) pause();
        },
        std::chrono::milliseconds(50));
    raise(SIGTERM);
  }
  if (how == "callback crashes at exit") {
    watch = std::make_unique<EndWatch>([](int) { std::abort(); }, std::chrono::hours(1));
    std::exit(0);
  }
  if (how == "child exits") return end_forked_child(0);
  if (how == "child is killed") return WTERMSIG(end_forked_child(SIGTERM)) == SIGTERM ? 0 : 1;
  if (how == "child watches itself") {
    const pid_t child = fork_among_threads();
    if (child == 0) {
      const EndWatch own(note_as("child"));
      raise(SIGTERM);
      for (;;) pause();
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 0 : 1;
  }
  if (how == "hooked") {
    const Wake wake;
    const SignalHook hook(SIGTERM, wake);
    raise(SIGTERM);
    return hook.raised() ? 0 : 1;
  }
  if (how == "hook gone") {
    { const SignalHook hook(SIGTERM, Wake()); }
    raise(SIGTERM);
  }
  raise(std::atoi(how.c_str()));
  return 99;
}

int run_case(const std::string &how, const std::string &notes) {
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  file = notes;
  // Whatever we were started with, and sanitizers handle.
  for (int signal = 1; signal < 32; ++signal) std::signal(signal, SIG_DFL);
  if (how == "handled by the program") {
    std::signal(SIGTERM, [](int) { _exit(7); });
    return end_by(std::to_string(SIGTERM));
  }
  if (how == "ignored") {
    std::signal(SIGHUP, SIG_IGN);
    return end_by(std::to_string(SIGHUP));
  }
  if (how == "without trace") {
    struct sigaction action {};
    { const EndWatch watch(note_as("")); }
    sigaction(SIGTERM, nullptr, &action);
    return action.sa_handler == SIG_DFL ? 0 : 1;
  }
  return end_by(how);
}

// In the process of the tests.

struct Ended {
  int status;
  std::string told;
};

Ended end_of(const std::string &how) {
  const TemporaryDirectory directory;
  const std::string notes = directory / "notes";
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    dup2(open_file("/dev/null", O_WRONLY).get(), STDERR_FILENO);
    execl("/proc/self/exe", "test_end_watch", how.c_str(), notes.c_str(), nullptr);
    _exit(127);
  }
  Ended ended{};
  waitpid(child, &ended.status, 0);
  if (std::filesystem::exists(notes)) ended.told = read_file(notes);
  return ended;
}

// `end`: an exit status, or minus a signal.
void expect(const std::string &how, int end, const std::string &told) {
  const Ended ended = end_of(how);
  const int got = WIFSIGNALED(ended.status) ? -WTERMSIG(ended.status) : WEXITSTATUS(ended.status);
  if (got != end || ended.told != told) print_error("in the case '%s':\n", how.c_str());
  assert_int_equal(got, end);
  assert_string_equal(ended.told.c_str(), told.c_str());
}

void expect_exit(const std::string &how, int status, const std::string &told) {
  expect(how, status, told);
}

void expect_signal(const std::string &how, int signal, const std::string &told) {
  expect(how, -signal, told);
}

void exit_is_told_with_its_status(void **) {
  expect_exit("exit 0", 0, "0 ");
  expect_exit("exit 3", 3, "3 ");
  expect_exit("exit in a thread", 3, "3 ");
  expect_exit("return 4", 4, "4 ");
}

void deadly_signals_are_told(void **) {
  for (const int signal :
       {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGTERM})
    expect_signal(std::to_string(signal), signal, "-" + std::to_string(signal) + " ");
  expect_signal("abort", SIGABRT, "-6 ");
  expect_signal("throw", SIGABRT, "-6 ");
  expect_signal("fault", SIGSEGV, "-11 ");
}

void other_ends_are_not_told(void **) {
  expect_signal(std::to_string(SIGKILL), SIGKILL, "");
  expect_signal(std::to_string(SIGUSR1), SIGUSR1, "");
  expect_exit("_exit", 3, "");
}

void closed_watch_tells_nothing(void **) {
  expect_exit("without trace", 0, "");
  expect_signal("closed and killed", SIGTERM, "");
}

void every_watch_is_told(void **) {
  expect_exit("two watches exit", 5, "5 other5 ");
  const Ended ended = end_of("two watches");
  assert_int_equal(WTERMSIG(ended.status), SIGINT);
  assert_true(ended.told == "-2 other-2 " || ended.told == "other-2 -2 ");
  expect_signal("one of two closed", SIGTERM, "-15 ");
  expect_signal("callback throws", SIGTERM, "-15 ");
}

void callback_may_close_the_watch(void **) {
  expect_exit("callback closes at exit", 3, "3 ");
  expect_signal("callback closes by signal", SIGTERM, "-15 ");
}

void callback_that_does_not_return_ends_with_the_process(void **) {
  expect_signal("callback hangs", SIGTERM, "");
  expect_signal("callback crashes at exit", SIGABRT, "");
}

void signals_that_somebody_handles_are_left_alone(void **) {
  expect_exit("handled by the program", 7, "");
  expect_exit("ignored", 99, "99 ");
  expect_exit("hooked", 0, "0 ");
  expect_signal("hook gone", SIGTERM, "-15 ");
}

void forked_children_tell_nothing_of_their_parent(void **) {
  expect_exit("child exits", 0, "0 ");
  expect_exit("child is killed", 0, "0 ");
  // TSan never runs the handlers of a child that was forked beside threads.
  if (!under_tsan) expect_exit("child watches itself", 0, "child-15 0 ");
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 3) return run_case(argv[1], argv[2]);
  const CMUnitTest tests[] = {
      cmocka_unit_test(exit_is_told_with_its_status),
      cmocka_unit_test(deadly_signals_are_told),
      cmocka_unit_test(other_ends_are_not_told),
      cmocka_unit_test(closed_watch_tells_nothing),
      cmocka_unit_test(every_watch_is_told),
      cmocka_unit_test(callback_may_close_the_watch),
      cmocka_unit_test(callback_that_does_not_return_ends_with_the_process),
      cmocka_unit_test(signals_that_somebody_handles_are_left_alone),
      cmocka_unit_test(forked_children_tell_nothing_of_their_parent),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

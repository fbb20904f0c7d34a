// Handlers of the program before ours, after ours, and in between: each case in a process of its
// own.
#include "core/context/process/signals.h"

#include <csignal>
#include <cstdlib>
#include <optional>

#include "tests/context/child_process.h"
#include "tests/patience.h"
#include "tests/sanitizer.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::context;

// Gives the exit status, or minus the signal that ended the process.
template <class Body>
int end_of(Body body) {
  const TemporaryDirectory directory;
  const int status = test::run_in_child(directory.path(), [&] {
    std::signal(SIGTERM, SIG_DFL);  // whatever we were started with
    alarm(TEST_PATIENCE_SECONDS);
    return body();
  });
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// Of the program, each in two roles: `first` below everything, `chained` on top of ours.
int first_calls = 0, chained_calls = 0;

void first(int) { ++first_calls; }

struct sigaction below_chained;

void chained(int signal, siginfo_t *info, void *context) {
  ++chained_calls;
  if ((below_chained.sa_flags & SA_SIGINFO) != 0) below_chained.sa_sigaction(signal, info, context);
  else if (below_chained.sa_handler != SIG_DFL && below_chained.sa_handler != SIG_IGN)
    below_chained.sa_handler(signal);
}

void put_chained_on_top() {
  struct sigaction action {};
  action.sa_sigaction = chained;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTERM, &action, &below_chained);
}

// What came of one signal, as decimal digits: hook, chained, first.
int raised(const SignalHook *hook) {
  first_calls = chained_calls = 0;
  std::raise(SIGTERM);
  return (hook != nullptr && hook->raised() ? 100 : 0) + 10 * chained_calls + first_calls;
}

void one_after_the_other_with_a_handler_in_between_comes_to_an_end(void **) {
  const int end = end_of([] {
    const Wake wake;
    std::signal(SIGTERM, first);
    {
      const SignalHook hook(SIGTERM, wake);
      put_chained_on_top();
      if (raised(&hook) != 111) return 1;
    }
    if (raised(nullptr) != 11) return 2;
    for (int round = 0; round < 40; ++round) {
      const SignalHook hook(SIGTERM, wake);
      if (raised(&hook) != 111) return 3;
    }
    return raised(nullptr) == 11 ? 0 : 4;
  });
  assert_int_equal(end, 0);
}

void a_handler_that_is_put_on_top_each_time_comes_to_an_end(void **) {
  const int end = end_of([] {
    const Wake wake;
    std::signal(SIGTERM, first);
    for (int round = 0; round < 40; ++round) {
      const SignalHook hook(SIGTERM, wake);
      put_chained_on_top();
      const int came = raised(&hook);
      // From the second time on it has itself below.
      if (came != 111 && came != 121) return 1 + round;
    }
    return 0;
  });
  assert_int_equal(end, 0);
}

void a_handler_that_was_taken_away_leaves_ours_on_top(void **) {
  const int end = end_of([] {
    const Wake wake;
    {
      const SignalHook hook(SIGTERM, wake);
      put_chained_on_top();
    }
    sigaction(SIGTERM, &below_chained, nullptr);  // ours
    {
      const SignalHook hook(SIGTERM, wake);
      if (raised(&hook) != 100) return 1;
    }
    struct sigaction now {};
    sigaction(SIGTERM, nullptr, &now);
    return now.sa_handler == SIG_DFL ? 0 : 2;
  });
  assert_int_equal(end, 0);
}

void ours_left_alone_on_top_does_what_was_there_before(void **) {
  const int end = end_of([] {
    {
      const SignalHook hook(SIGTERM, Wake());
      put_chained_on_top();
    }
    sigaction(SIGTERM, &below_chained, nullptr);
    std::raise(SIGTERM);
    return 0;
  });
  assert_int_equal(end, -SIGTERM);
}

void ours_left_behind_does_not_end_a_program_that_handles_the_signal(void **) {
  const int end = end_of([] {
    {
      const SignalHook hook(SIGTERM, Wake());
      put_chained_on_top();
    }
    return raised(nullptr) == 10 ? 0 : 1;
  });
  assert_int_equal(end, 0);
}

std::optional<SignalHook> hook_of_the_process;

void handler_below_may_end_the_process(void **) {
  const int end = end_of([] {
    std::signal(SIGTERM, [](int) { std::exit(3); });
    static const Wake wake;
    hook_of_the_process.emplace(SIGTERM, wake);
    std::atexit([] { hook_of_the_process.reset(); });
    std::raise(SIGTERM);
    return 0;
  });
  // TSan reports exit() in a handler, which is what this handler does, with a status of its own.
  if (!under_tsan) assert_int_equal(end, 3);
}

// Schedulers send more than one, and the last may come when the program is about to leave.
void a_process_that_stops_as_it_was_asked_to_is_not_ended_by_the_next_signal(void **) {
  const int end = end_of([] {
    SignalHooks hooks({SIGTERM, SIGUSR1});
    std::raise(SIGTERM);
    hooks.release();
    for (int i = 0; i < 50; ++i) std::raise(SIGTERM);
    return std::raise(SIGUSR1);  // of which there was none
  });
  assert_int_equal(end, -SIGUSR1);
}

// A forked child of one that has hooks; gives its exit status, or minus the signal that ended it.
template <class Body>
int end_of_forked(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void a_forked_child_does_what_it_would_do_without_us(void **) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    const int end = end_of([&] {
      const Wake wake;
      const SignalHook hook(signal, wake);
      const StackTraceHook trace(SIGUSR2);
      for (const int each : {signal, SIGUSR2})
        if (end_of_forked([&] { return std::raise(each); }) != -each) return 1;
      if (hook.raised() || wake.poll(std::chrono::milliseconds(0))) return 2;
      std::raise(signal);
      return hook.raised() && wake.poll(std::chrono::milliseconds(0)) ? 0 : 3;
    });
    assert_int_equal(end, 0);
  }
}

void a_forked_child_has_the_handler_before_ours(void **) {
  const int end = end_of([] {
    std::signal(SIGTERM, first);
    const SignalHook hook(SIGTERM, Wake());
    put_chained_on_top();
    return end_of_forked([] { return raised(nullptr) == 11 ? 0 : 1; });
  });
  assert_int_equal(end, 0);
}

void a_forked_child_may_have_hooks_of_its_own(void **) {
  const int end = end_of([] {
    const Wake wake;
    const SignalHook hook(SIGTERM, wake);
    const int of_child = end_of_forked([] {
      const Wake own;
      {
        const SignalHook mine(SIGTERM, own);
        std::raise(SIGTERM);
        if (!mine.raised() || !own.poll(std::chrono::milliseconds(0))) return 1;
      }
      return std::raise(SIGTERM);
    });
    if (of_child != -SIGTERM) return 1;
    return hook.raised() || wake.poll(std::chrono::milliseconds(0)) ? 2 : 0;
  });
  assert_int_equal(end, 0);
}

}  // namespace

int test_signal_table() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(one_after_the_other_with_a_handler_in_between_comes_to_an_end),
      cmocka_unit_test(a_handler_that_is_put_on_top_each_time_comes_to_an_end),
      cmocka_unit_test(a_handler_that_was_taken_away_leaves_ours_on_top),
      cmocka_unit_test(ours_left_alone_on_top_does_what_was_there_before),
      cmocka_unit_test(ours_left_behind_does_not_end_a_program_that_handles_the_signal),
      cmocka_unit_test(handler_below_may_end_the_process),
      cmocka_unit_test(a_process_that_stops_as_it_was_asked_to_is_not_ended_by_the_next_signal),
      cmocka_unit_test(a_forked_child_does_what_it_would_do_without_us),
      cmocka_unit_test(a_forked_child_has_the_handler_before_ours),
      cmocka_unit_test(a_forked_child_may_have_hooks_of_its_own),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// Calls of the system that fail once, each in its turn: what was reported is stored all the same.
#include <sqlite3.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <functional>
#include <utility>

#include "core/base/uuid.h"
#include "tests/cmocka.h"
#include "tests/engine/home.h"
#include "tests/failing_memory.h"
#include "tests/sanitizer.h"

namespace {

enum class Call { none, random, lock, unlock, make, open, read, write };

// The call that fails next, and those before it that do not.
struct Fault {
  std::atomic<Call> call{Call::none};
  std::atomic<int> os_errno{0};
  std::atomic<int> before{0};
  std::atomic<int> times{0};
} fault;

bool fails(Call call) {
  if (fault.call != call || fault.before-- > 0 || fault.times-- <= 0) return false;
  errno = fault.os_errno;
  return true;
}

int failing_fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  if (command == F_SETLK &&
      fails(static_cast<flock *>(argument)->l_type == F_UNLCK ? Call::unlock : Call::lock))
    return -1;
  return fcntl(fd, command, argument);
}

int failing_open(const char *path, int flags, int mode) {
  return fails(Call::open) ? -1 : open(path, flags, mode);
}
ssize_t failing_read(int fd, void *data, size_t size) {
  return fails(Call::read) ? -1 : read(fd, data, size);
}
ssize_t failing_write(int fd, const void *data, size_t size) {
  return fails(Call::write) ? -1 : write(fd, data, size);
}
// Where SQLite was built to use these.
ssize_t failing_pread(int fd, void *data, size_t size, off_t at) {
  return fails(Call::read) ? -1 : pread(fd, data, size, at);
}
ssize_t failing_pwrite(int fd, const void *data, size_t size, off_t at) {
  return fails(Call::write) ? -1 : pwrite(fd, data, size, at);
}

}  // namespace

// Stand before getrandom(2) and mknod(2) in this program.
extern "C" int __real_mknod(const char *path, mode_t mode, dev_t device);
extern "C" int __wrap_mknod(const char *path, mode_t mode, dev_t device) {
  return fails(Call::make) ? -1 : __real_mknod(path, mode, device);
}
extern "C" ssize_t __real_getrandom(void *bytes, size_t size, unsigned flags);
extern "C" ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags) {
  return fails(Call::random) ? -1 : __real_getrandom(bytes, size, flags);
}

namespace det::test {
namespace {

constexpr int never_reached = 100'000;

// SQLite has a place for tests to put other calls in.
int replace_calls(void **) {
  sqlite3_vfs *system = sqlite3_vfs_find(nullptr);
  const auto put = [&](const char *name, auto call) {
    if (system->xGetSystemCall(system, name) != nullptr)
      system->xSetSystemCall(system, name, reinterpret_cast<sqlite3_syscall_ptr>(call));
  };
  put("fcntl", failing_fcntl);
  put("open", failing_open);
  put("read", failing_read);
  put("write", failing_write);
  for (const char *name : {"pread", "pread64"}) put(name, failing_pread);
  for (const char *name : {"pwrite", "pwrite64"}) put(name, failing_pwrite);
  return 0;
}
int restore_calls(void **) {
  sqlite3_vfs *system = sqlite3_vfs_find(nullptr);
  return system->xSetSystemCall(system, nullptr, nullptr);
}

void arm(Call call, int os_errno, int before, int times = 1) {
  fault.os_errno = os_errno;
  fault.before = before;
  fault.times = times;
  fault.call = call;
}
// Whether it has failed.
bool disarm() {
  fault.call = Call::none;
  return fault.times <= 0;
}

// The test itself has memory, also where the library is to have none.
int64_t allocations_to_fail_there = 0;
struct Scarcity {
  Scarcity() { std::swap(allocations_to_fail, allocations_to_fail_there); }
  ~Scarcity() { std::swap(allocations_to_fail, allocations_to_fail_there); }
};

// As who called would do: again, until it goes well.
template <class Action>
auto insist(const Action &action) {
  std::string last;
  for (int attempt = 0; attempt < 20; ++attempt) {
    try {
      const Scarcity here;
      return action();
    } catch (const std::exception &e) {
      last = e.what();
    }
  }
  fail_msg("it goes on failing: %s", last.c_str());
  return action();
}

const Json searching{{"searcher", {{"name", "single"}, {"metric", "loss"}, {"max_length", 9}}}};

// The life of a run with one fault in it; everything is in the store afterwards. `arm_at_start`
// tells whether its beginning may fail too.
void live(const Home &home, const std::function<void()> &start_faults,
          const std::function<void()> &end_faults, bool arm_at_start) {
  engine::RunRequest asked = home.request();
  asked.config = searching;
  if (arm_at_start) start_faults();
  const auto run = insist([&] { return engine::start_live_run(asked); });
  if (!arm_at_start) start_faults();
  std::vector<std::string> conflicts;
  for (uint64_t step = 1; step <= 3; ++step) {
    const auto steps = static_cast<int64_t>(step);
    const std::string loss = R"({"loss": )" + std::to_string(10 - steps) + R"(, "x": NaN})";
    const std::vector<Report> reports{metrics_json(4 * step, "training", steps, loss),
                                      metrics_json(4 * step + 1, "validation", steps, loss),
                                      metrics(4 * step + 2, "gpu", steps, {{"load", NAN}})};
    const Delivery delivery = insist([&] { return deliver(*run, reports); });
    conflicts.insert(conflicts.end(), delivery.conflicts.begin(), delivery.conflicts.end());
  }
  insist([&] {
    run->checkpoints().report({"c", {{"steps_completed", 3}}, {}, Json::object()});
    return 0;
  });
  const auto best = insist([&] { return run->best_validation(); });
  insist([&] {
    if (!run->operations().current().completed) run->operations().complete(9, 0.5);
    return 0;
  });
  insist([&] {
    run->end_run(engine::RunEnd::ok);
    return 0;
  });
  end_faults();
  for (const std::string &conflict : conflicts) print_error("%s\n", conflict.c_str());
  assert_int_equal(conflicts.size(), 0);
  assert_equal(best, 7.0);
  const std::string of_trial = " WHERE trial_id=" + std::to_string(run->info().trial_id);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics" + of_trial), 9);
  assert_int_equal(home.count("SELECT COUNT(*) FROM checkpoints" + of_trial), 1);
  assert_string_equal(home.text("SELECT exit FROM runs" + of_trial).c_str(), "ok");
}

// One run for each call of the kind that there is in a run.
void sweep(Call call, std::initializer_list<int> errors, bool arm_at_start) {
  for (const int os_errno : errors) {
    bool has_failed = true;
    int before = 0;
    for (; has_failed && before < never_reached; ++before) {
      const Home home;
      live(
          home, [&] { arm(call, os_errno, before); }, [&] { has_failed = disarm(); }, arm_at_start);
    }
    if (before < 2) fail_msg("no call of kind %d is made", static_cast<int>(call));
  }
}

void a_failure_of_getrandom_loses_no_report(void **) {
  sweep(Call::random, {EIO, EINTR, EMFILE}, true);
}
void a_lock_that_fails_loses_no_report(void **) {
  sweep(Call::lock, {EIO, EINTR, EACCES, ENOLCK}, false);
}
void a_lock_that_is_not_given_back_loses_no_report(void **) {
  sweep(Call::unlock, {EINTR, EACCES}, false);
}
void a_file_that_cannot_be_opened_loses_no_report(void **) {
  sweep(Call::open, {EIO, EMFILE, EACCES}, true);
}
void a_disk_that_fails_loses_no_report(void **) {
  sweep(Call::write, {EIO, ENOSPC}, false);
  sweep(Call::read, {EIO}, true);
}

void too_few_descriptors_are_told_as_such(void **) {
  const Home home;
  engine::open_store(home.store(), true, {});
  arm(Call::open, EMFILE, 0, never_reached);
  std::string message;
  assert_int_equal(
      static_cast<int>(code_of([&] { engine::open_store(home.store(), false, {}); }, &message)),
      static_cast<int>(Code::io));
  disarm();
  if (!contains(message, "ulimit -n")) fail_msg("%s", message.c_str());
}

void a_store_that_cannot_be_made_or_opened_says_why(void **) {
  const auto failure_of = [](const Home &home, bool create) {
    try {
      engine::open_store(home.store(), create, {});
    } catch (const Error &error) {
      return error;
    }
    return Error(Code::internal, "it went well");
  };
  const Home home;
  arm(Call::make, ENOSPC, 0);
  const Error full = failure_of(home, true);
  assert_int_equal(static_cast<int>(full.code), static_cast<int>(Code::full));
  assert_int_equal(full.os_errno, ENOSPC);
  engine::open_store(home.store(), true, {});
  for (const int times : {1, never_reached}) {
    arm(Call::open, ESTALE, 0, times);
    const Error stale = failure_of(home, false);
    disarm();
    assert_int_equal(static_cast<int>(stale.code), static_cast<int>(Code::io));
    assert_int_equal(stale.os_errno, times == 1 ? 0 : ESTALE);
  }
  engine::open_store(home.store(), false, {});
}

[[maybe_unused]] void memory_that_is_not_there_loses_no_report(void **) {
  bool has_failed = true;
  for (int64_t before = 0; has_failed; before += 1 + before / 40) {
    const Home home;
    live(
        home,
        [&] {
          allocations_before = before;
          allocations_to_fail_there = 1;
        },
        [&] { has_failed = std::exchange(allocations_to_fail_there, 0) == 0; }, false);
  }
}

}  // namespace
}  // namespace det::test

int main() {
  using namespace det::test;
  const CMUnitTest tests[] = {
    cmocka_unit_test(a_failure_of_getrandom_loses_no_report),
    cmocka_unit_test(a_lock_that_fails_loses_no_report),
    cmocka_unit_test(a_lock_that_is_not_given_back_loses_no_report),
    cmocka_unit_test(a_file_that_cannot_be_opened_loses_no_report),
    cmocka_unit_test(a_disk_that_fails_loses_no_report),
    cmocka_unit_test(too_few_descriptors_are_told_as_such),
    cmocka_unit_test(a_store_that_cannot_be_made_or_opened_says_why),
#if !DET_TEST_UNDER_ASAN  // the JSON library leaks then
    cmocka_unit_test(memory_that_is_not_there_loses_no_report),
#endif
  };
  return cmocka_run_group_tests_name("failing_calls", tests, replace_calls, restore_calls);
}

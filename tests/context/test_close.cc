// Closing when a step fails: the others are done all the same, and nothing is lost.
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>

#include "core/client/client.h"
#include "core/context/core.h"
#include "tests/cmocka.h"
#include "tests/context/child_process.h"
#include "tests/context/hanging_call.h"
#include "tests/patience.h"
#include "tests/sanitizer.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::context;

struct PlainHome {
  PlainHome() {
    char name[] = "/tmp/detcore-close-XXXXXX";
    path = mkdtemp(name);
  }
  ~PlainHome() { std::filesystem::remove_all(path); }
  std::string path;
};

// Another process in the middle of a long transaction.
struct LockedStore {
  explicit LockedStore(const PlainHome &home) {
    assert_int_equal(sqlite3_open((home.path + "/.detcore/store.db").c_str(), &database), 0);
    assert_int_equal(sqlite3_exec(database, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), 0);
  }
  ~LockedStore() { sqlite3_close(database); }
  sqlite3 *database = nullptr;
};

void a_store_that_stays_locked_leaves_the_reports_for_later(void **) {
  const PlainHome home;
  CoreOptions options;
  options.master = home.path;
  options.log_level = LogLevel::error;
  options.log = [](const LogLine &) {};
  options.close_limit = std::chrono::milliseconds(100);
  {
    const std::shared_ptr<Core> core = Core::start(options);
    const LockedStore locked(home);
    const journal::NamedValue loss{"loss", 0.125};
    core->train().report_training(1, &loss, 1);
    try {
      core->close(engine::RunEnd::ok);
      fail_msg("the lock was not noticed");
    } catch (const Error &e) {
      assert_int_equal(static_cast<int>(e.code), static_cast<int>(Code::timeout));
      assert_non_null(strstr(e.what(), "det sync"));
    }
    core->close(engine::RunEnd::ok);  // a repeat does nothing
  }
  const std::unique_ptr<client::Client> client = client::open_client(home.path);
  assert_int_equal(client->list_metrics(1, std::nullopt, {})["metrics"].size(), 0);
  client->sync();
  const Json metrics = client->list_metrics(1, std::nullopt, {})["metrics"];
  assert_int_equal(metrics.size(), 1);
  assert_equal(metrics[0]["metrics"]["loss"], 0.125);
}

// As code does that makes a daemon of its process.
void a_host_that_closes_our_descriptors_holds_up_nothing_for_ever(void **) {
  if (under_tsan) return;  // which takes a number that means another file by now for a race
  for (const bool reused : {false, true}) {
    const PlainHome home;
    const TemporaryDirectory directory;
    const int status = test::run_in_child(directory.path(), [&] {
      CoreOptions options;
      options.master = home.path;
      options.log = [](const LogLine &) {};
      options.close_limit = std::chrono::milliseconds(500);
      options.close_at_end = options.capture_output = true;
      options.preempt_signals = {SIGTERM};
      const std::shared_ptr<Core> core = Core::start(options);
      const journal::NamedValue loss{"loss", 0.125};
      core->train().report_training(1, &loss, 1);
      close_range(3, ~0U, 0);
      for (int i = 0; reused && i < 200; ++i)
        if (open("/dev/null", O_RDWR) < 0) return 1;
      alarm(TEST_PATIENCE_SECONDS);
      const clock_t before = clock();
      usleep(500'000);
      if (clock() - before > CLOCKS_PER_SEC / 10) return 2;  // of this process
      raise(SIGTERM);
      try {
        core->close(engine::RunEnd::ok);
      } catch (const std::exception &) {  // what it could not do
      }
      // Threads that the host's doing left behind are none of what an orderly end looks for.
      return raise(SIGKILL);
    });
    assert_int_equal(status, SIGKILL);
  }
}

void a_storage_that_hangs_under_event_files_holds_up_nothing_for_ever(void **) {
  const PlainHome home;
  const TemporaryDirectory directory;
  const int status = test::run_in_child(directory.path(), [&] {
    alarm(TEST_PATIENCE_SECONDS);
    CoreOptions options;
    options.master = home.path;
    options.log = [](const LogLine &) {};
    options.close_limit = std::chrono::milliseconds(200);
    std::shared_ptr<Core> core;
    std::thread([&] {
      // As an event file is made.
      test::hang_call(SYS_openat, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC);
      core = Core::start(options);
    }).join();
    const journal::NamedValue loss{"loss", 0.125};
    core->train().report_training(1, &loss, 1);
    try {
      core->close(engine::RunEnd::ok);
      return 1;
    } catch (const Error &) {  // that not all was delivered
    }
    core.reset();
    return raise(SIGKILL);  // with a thread that nobody joins
  });
  assert_int_equal(status, SIGKILL);
  const std::unique_ptr<client::Client> client = client::open_client(home.path);
  client->sync();
  assert_int_equal(client->list_metrics(1, std::nullopt, {})["metrics"].size(), 1);
}

}  // namespace

int test_close() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_store_that_stays_locked_leaves_the_reports_for_later),
      cmocka_unit_test(a_storage_that_hangs_under_event_files_holds_up_nothing_for_ever),
      cmocka_unit_test(a_host_that_closes_our_descriptors_holds_up_nothing_for_ever),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

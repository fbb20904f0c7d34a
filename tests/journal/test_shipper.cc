// From the journal to a master that fails in every way.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/journal/recovery.h"
#include "core/journal/shipper.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/failing_memory.h"
#include "tests/journal/journal.h"
#include "tests/journal/recording_sink.h"
#include "tests/patience.h"
#include "tests/threads.h"

namespace det::journal {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds long_enough{600'000};

// Quick retries and small batches.
ShipperOptions quick() {
  ShipperOptions options;
  options.interval = milliseconds(1);
  options.retry_first = milliseconds(1);
  options.retry_limit = milliseconds(4);
  options.batch_reports = 16;
  return options;
}

struct Log {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::shared_ptr<Logger> logger =
      std::make_shared<Logger>(LogLevel::info, [this](LogLevel level, const std::string &message) {
        const std::lock_guard lock(mutex);
        lines.push_back(std::string(log_level_name(level)) + " " + message);
      });
  size_t count(const std::string &part) {
    const std::lock_guard lock(mutex);
    size_t found = 0;
    for (const std::string &line : lines) found += contains(line, part) ? 1 : 0;
    return found;
  }
};

// Steps 0 to count - 1, each once and in order.
void assert_steps(const std::vector<KeptReport> &kept, int64_t count) {
  assert_int_equal(kept.size(), count);
  for (int64_t i = 0; i < count; ++i) assert_int_equal(kept[static_cast<size_t>(i)].steps, i);
}

void reports_arrive_in_order_and_files_go(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  for (int64_t i = 0; i < 1000; ++i) report_step(*spool, i);
  assert_true(shipper.stop(long_enough));
  assert_true(shipper.stop(long_enough));
  assert_steps(sink.kept(), 1000);
  assert_int_equal(sink.key.trial_id, 7);
  assert_string_equal(sink.key.journal_id.c_str(), journal.key.journal_id.c_str());
  assert_true(journal.files().empty());
  assert_true(log.lines.empty());
}

void failed_deliveries_lose_and_repeat_nothing(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.failures_left = 5;
  sink.answers_to_lose = 5;
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  for (int64_t i = 0; i < 1000; ++i) report_step(*spool, i);
  shipper.flush(spool->last_sequence(), std::nullopt);
  assert_steps(sink.kept(), 1000);
  assert_true(shipper.last_failure().empty());
  // One line for each outage, not for each attempt.
  assert_int_equal(log.count("WARNING delivering reports: the store is locked"), 1);
  assert_int_equal(log.count("INFO the master takes reports again"), 1);
  assert_true(shipper.stop(long_enough));
}

void failure_that_does_not_pass_is_an_error_in_the_log_and_retried(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.fail_with(Code::invalid, "no such trial");
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  report_step(*spool, 0);
  wait_until([&] { return sink.attempts >= 4; });
  assert_int_equal(log.count("ERROR delivering reports: no such trial"), 1);
  sink.succeed();
  shipper.flush(spool->last_sequence(), std::nullopt);
  assert_steps(sink.kept(), 1);
}

void threads_appending_at_once_arrive_in_their_own_order(void **) {
  constexpr int threads = 4;
  constexpr int64_t each = 3000;
  const Journal journal;
  const auto spool = journal.open({.limit_bytes = 64 << 20, .segment_bytes = 8192});
  RecordingSink sink;
  sink.failures_left = 3;
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t)
    writers.emplace_back([&, t] {
      for (int64_t i = 0; i < each; ++i) {
        report_step(*spool, i, t);
        if (i % 1000 == 0) shipper.flush(spool->last_sequence(), std::nullopt);
      }
    });
  for (std::thread &writer : writers) writer.join();
  assert_true(shipper.stop(long_enough));
  std::vector<int64_t> next(threads, 0);
  for (const KeptReport &report : sink.kept())
    assert_int_equal(report.steps, next[static_cast<size_t>(report.values[0].second)]++);
  for (const int64_t count : next) assert_int_equal(count, each);
}

void flush_that_times_out_says_why(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.fail_with(Code::unavailable, "connecting to 'http://m:8080': refused");
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  report_step(*spool, 0);
  wait_until([&] { return !shipper.last_failure().empty(); });
  const std::string message =
      expect_error(Code::timeout, [&] { shipper.flush(spool->last_sequence(), milliseconds(20)); });
  assert_true(contains(message, "connecting to 'http://m:8080': refused"));
  assert_true(contains(message, "20 ms"));
  sink.succeed();
  shipper.flush(spool->last_sequence(), std::nullopt);
  assert_steps(sink.kept(), 1);
}

// Nobody but a person makes room on a disk: whoever waits is told at once.
void flush_does_not_wait_for_a_full_disk(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.fail_with(Code::full, "using the store: database or disk is full");
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  report_step(*spool, 0);
  const std::string message =
      expect_error(Code::full, [&] { shipper.flush(spool->last_sequence(), std::nullopt); });
  assert_true(contains(message, "disk is full"));
  sink.succeed();
  shipper.flush(spool->last_sequence(), std::nullopt);
  assert_steps(sink.kept(), 1);
}

// The file system of the store is not mounted any more.
void flush_does_not_wait_for_a_store_that_is_gone(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.fail_with(Code::io, "using the store: stale file handle", ESTALE);
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  report_step(*spool, 0);
  const std::string message = expect_error(
      Code::io, [&] { shipper.flush(spool->last_sequence(), milliseconds(TEST_PATIENCE_MS)); });
  assert_true(contains(message, "stale file handle"));
  assert_false(shipper.stop(long_enough));
  assert_int_equal(journal.files().size(), 1);
}

void stop_does_not_wait_for_a_full_disk(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.fail_with(Code::full, "using the store: database or disk is full");
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  report_step(*spool, 0);
  assert_false(shipper.stop(long_enough));
  assert_int_equal(journal.files().size(), 1);
}

// A master that leaves no memory for what follows its answer.
class GreedySink : public ReportSink {
 public:
  explicit GreedySink(RecordingSink &sink) : sink_(sink) {}
  Delivery deliver(const JournalKey &journal, std::span<const Report> reports) override {
    if (++deliveries_ % 2 == 0) return sink_.deliver(journal, reports);
    const Error error(Code::busy, "a reason that is too long to be kept without memory");
    test::allocations_to_fail = 2;
    throw error;
  }

 private:
  RecordingSink &sink_;
  int deliveries_ = 0;
};

void lack_of_memory_loses_no_report(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  GreedySink greedy(sink);
  Log log;
  Shipper shipper(*spool, greedy, log.logger, nullptr, quick());
  for (int64_t i = 0; i < 100; ++i) report_step(*spool, i);
  shipper.flush(spool->last_sequence(), std::nullopt);
  assert_true(shipper.stop(long_enough));
  assert_steps(sink.kept(), 100);
}

void flush_cuts_the_pause_between_attempts(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.failures_left = 1;
  Log log;
  ShipperOptions slow = quick();
  slow.retry_first = slow.retry_limit = long_enough;
  Shipper shipper(*spool, sink, log.logger, nullptr, slow);
  report_step(*spool, 0);
  wait_until([&] { return !shipper.last_failure().empty(); });
  shipper.flush(spool->last_sequence(), std::nullopt);
  assert_steps(sink.kept(), 1);
}

void flush_of_an_empty_journal_returns(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  Log log;
  Shipper shipper(*spool, sink, log.logger);
  shipper.flush(spool->last_sequence(), std::nullopt);
  assert_true(shipper.stop(long_enough));
  assert_int_equal(sink.attempts, 0);
}

void stop_in_vain_keeps_everything_for_recovery(void **) {
  const Journal journal;
  RecordingSink sink;
  sink.answers_to_lose = 1;  // the first 16 are stored
  {
    const auto spool = journal.open();
    Log log;
    Shipper shipper(*spool, sink, log.logger, nullptr, quick());
    for (int64_t i = 0; i < 500; ++i) {
      report_step(*spool, i);
      if (i == 15) {
        wait_until([&] { return sink.attempts > 0; });
        sink.fail_with(Code::unavailable, "away");
      }
    }
    wait_until([&] { return contains(shipper.last_failure(), "away"); });
    assert_false(shipper.stop(milliseconds(10)));
    assert_false(shipper.stop(long_enough));
    expect_error(Code::state, [&] { report_step(*spool, 500); });
    assert_true(contains(
        expect_error(Code::state, [&] { shipper.flush(spool->last_sequence(), std::nullopt); }),
        "away"));
  }
  sink.succeed();
  recover_spool(journal.directory.path(), sink);
  assert_steps(sink.kept(), 500);
  assert_true(journal.files().empty());
}

void destruction_does_not_wait_for_a_master_that_is_away(void **) {
  const Journal journal;
  RecordingSink sink;
  sink.fail_with(Code::unavailable, "away");
  {
    const auto spool = journal.open();
    Log log;
    ShipperOptions slow = quick();
    slow.retry_first = slow.retry_limit = long_enough;
    const Shipper shipper(*spool, sink, log.logger, nullptr, slow);
    report_step(*spool, 0);
    wait_until([&] { return sink.attempts > 0; });
  }
  sink.succeed();
  recover_spool(journal.directory.path(), sink);
  assert_steps(sink.kept(), 1);
}

void conflicts_are_warnings_and_told_once(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.conflicts = {"first", "second", "third"};
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  report_step(*spool, 0);
  shipper.flush(spool->last_sequence(), std::nullopt);
  const std::optional<std::string> conflict = shipper.take_told();
  assert_true(conflict.has_value());
  assert_string_equal(conflict->c_str(), "first (and 2 more)");
  assert_false(shipper.take_told().has_value());
  assert_int_equal(log.count("WARNING second"), 1);
}

void reports_that_are_set_aside_are_counted_at_each_flush_and_in_the_end(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  const auto told_of = [&](Delivery delivery) {
    sink.tell(std::move(delivery));
    report_step(*spool, 0);
    shipper.flush(spool->last_sequence(), std::nullopt);
    return shipper.take_told().value_or("");
  };
  assert_string_equal(told_of({.conflicts = {"no"}, .set_aside = 3, .set_aside_in = "F"}).c_str(),
                      "no; reports of this run that the master has refused: 3, kept in 'F'; "
                      "`det sync` offers them to it again");
  // Without another word of why.
  assert_true(contains(told_of({.set_aside = 2, .lost = 1, .set_aside_in = "F"}),
                       "refused: 5, of which 1 are lost, kept in 'F'"));
  assert_string_equal(told_of({}).c_str(), "");
  assert_true(shipper.stop(long_enough));
  assert_int_equal(log.count("WARNING reports of this run that the master has refused: 5"), 1);
}

void what_a_failing_delivery_tells_is_not_lost(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.failures_left = 1;
  sink.tell({.conflicts = {"no"}, .set_aside = 1, .set_aside_in = "F"});
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  report_step(*spool, 0);
  shipper.flush(spool->last_sequence(), std::nullopt);
  assert_true(contains(shipper.take_told().value_or(""), "refused: 1"));
  assert_int_equal(log.count("WARNING no"), 1);
}

// Each attempt gets one report through, so the next one does not wait longer than the first.
void attempts_that_get_on_keep_their_pace(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.is_slow_going = true;
  Log log;
  ShipperOptions options = quick();
  options.retry_limit = milliseconds(TEST_PATIENCE_MS);
  Shipper shipper(*spool, sink, log.logger, nullptr, options);
  for (int64_t i = 0; i < 16; ++i) report_step(*spool, i);
  assert_true(shipper.stop(milliseconds(TEST_PATIENCE_MS)));
}

void observer_sees_each_report_once_also_in_an_outage(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  sink.fail_with(Code::unavailable, "away");
  Log log;
  std::atomic<int64_t> seen{0};
  ShipperOptions options = quick();
  options.batch_reports = 8192;
  const auto observe = [&](std::span<const Report> reports) {
    for (const Report &report : reports) assert_int_equal(report.steps, seen++);
    throw std::runtime_error("no space for plots");
  };
  Shipper shipper(*spool, sink, log.logger, observe, options);
  report_step(*spool, 0);
  wait_until([&] { return seen == 1 && sink.attempts > 3; });
  sink.succeed();
  for (int64_t i = 1; i < 100; ++i) report_step(*spool, i);
  assert_true(shipper.stop(long_enough));
  assert_int_equal(seen, 100);
  assert_steps(sink.kept(), 100);
  assert_true(log.count("WARNING writing reports for plots: no space for plots") > 0);
}

void full_journal_refuses_while_the_master_is_away_and_works_again(void **) {
  const Journal journal;
  const auto spool =
      journal.open({.limit_bytes = 16384, .segment_bytes = 4096, .wait = std::chrono::hours(1)});
  RecordingSink sink;
  sink.fail_with(Code::unavailable, "away");
  Log log;
  Shipper shipper(*spool, sink, log.logger, nullptr, quick());
  int64_t step = 0;
  expect_error(Code::full, [&] {
    for (;; ++step) report_step(*spool, step);
  });
  assert_true(step > 50);
  sink.succeed();
  shipper.flush(spool->last_sequence(), std::nullopt);
  const int64_t end = step + 1000;
  for (; step < end; ++step) report_step(*spool, step);
  assert_true(shipper.stop(long_enough));
  assert_steps(sink.kept(), end);
}

// The interval is beyond the test's life: only the need for room wakes the shipper in time.
void full_journal_waits_for_a_master_that_keeps_up(void **) {
  const Journal journal;
  const auto spool =
      journal.open({.limit_bytes = 8192, .segment_bytes = 4096, .wait = std::chrono::hours(1)});
  RecordingSink sink;
  Log log;
  ShipperOptions options = quick();
  options.interval = long_enough;
  Shipper shipper(*spool, sink, log.logger, nullptr, options);
  for (int64_t i = 0; i < 2000; ++i) report_step(*spool, i);
  assert_true(shipper.stop(long_enough));
  assert_steps(sink.kept(), 2000);
}

void report_wakes_a_sleeping_shipper(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  Log log;
  ShipperOptions options = quick();
  options.idle = milliseconds(0);  // sleeps whenever there is nothing
  Shipper shipper(*spool, sink, log.logger, nullptr, options);
  for (int64_t i = 0; i < 500; ++i) {
    report_step(*spool, i);
    if (i % 3 != 0) wait_until([&] { return sink.kept().size() == static_cast<size_t>(i) + 1; });
  }
  assert_true(shipper.stop(long_enough));
  assert_steps(sink.kept(), 500);
}

void periodic_call_is_made_while_there_is_nothing_to_ship(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  Log log;
  ShipperOptions options = quick();
  options.idle = milliseconds(0);
  Shipper shipper(*spool, sink, log.logger, nullptr, options);
  std::atomic<int64_t> calls{0};
  shipper.call_every(milliseconds(1), [&] {
    report_step(*spool, calls);
    if (++calls == 2) throw Error(Code::full, "no room");
  });
  while (calls < 5) std::this_thread::yield();
  assert_true(shipper.stop(long_enough));
  const int64_t made = calls;
  assert_true(made >= 5);
  assert_steps(sink.kept(), made);
  assert_int_equal(log.count("no room"), 1);
}

void forked_child_is_refused_and_the_parent_goes_on(void **) {
  const Journal journal;
  auto spool = journal.open();
  RecordingSink sink;
  Log log;
  auto shipper = std::make_unique<Shipper>(*spool, sink, log.logger, nullptr, quick());
  report_step(*spool, 0);
  const pid_t child = fork();
  if (child == 0) {
    int refused = 0;
    try {
      shipper->flush(1, std::nullopt);
    } catch (const Error &error) {
      refused += error.code == Code::state ? 1 : 0;
    }
    refused += shipper->stop(long_enough) ? 0 : 1;
    shipper.reset();
    spool.reset();
    _exit(refused == 2 ? 0 : 1);
  }
  int status = 1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  for (int64_t i = 1; i < 500; ++i) report_step(*spool, i);
  assert_true(shipper->stop(long_enough));
  assert_steps(sink.kept(), 500);
}

void thread_has_a_name(void **) {
  const Journal journal;
  const auto spool = journal.open();
  RecordingSink sink;
  Log log;
  const Shipper shipper(*spool, sink, log.logger);
  wait_until([] { return count_threads("det-shipper") == 1; });
}

}  // namespace
}  // namespace det::journal

int test_shipper() {
  using namespace det::journal;
  const CMUnitTest tests[] = {
      cmocka_unit_test(reports_arrive_in_order_and_files_go),
      cmocka_unit_test(failed_deliveries_lose_and_repeat_nothing),
      cmocka_unit_test(failure_that_does_not_pass_is_an_error_in_the_log_and_retried),
      cmocka_unit_test(threads_appending_at_once_arrive_in_their_own_order),
      cmocka_unit_test(flush_that_times_out_says_why),
      cmocka_unit_test(flush_does_not_wait_for_a_full_disk),
      cmocka_unit_test(flush_does_not_wait_for_a_store_that_is_gone),
      cmocka_unit_test(stop_does_not_wait_for_a_full_disk),
      cmocka_unit_test(lack_of_memory_loses_no_report),
      cmocka_unit_test(flush_cuts_the_pause_between_attempts),
      cmocka_unit_test(flush_of_an_empty_journal_returns),
      cmocka_unit_test(stop_in_vain_keeps_everything_for_recovery),
      cmocka_unit_test(destruction_does_not_wait_for_a_master_that_is_away),
      cmocka_unit_test(conflicts_are_warnings_and_told_once),
      cmocka_unit_test(reports_that_are_set_aside_are_counted_at_each_flush_and_in_the_end),
      cmocka_unit_test(what_a_failing_delivery_tells_is_not_lost),
      cmocka_unit_test(attempts_that_get_on_keep_their_pace),
      cmocka_unit_test(observer_sees_each_report_once_also_in_an_outage),
      cmocka_unit_test(full_journal_refuses_while_the_master_is_away_and_works_again),
      cmocka_unit_test(full_journal_waits_for_a_master_that_keeps_up),
      cmocka_unit_test(report_wakes_a_sleeping_shipper),
      cmocka_unit_test(periodic_call_is_made_while_there_is_nothing_to_ship),
      cmocka_unit_test(forked_child_is_refused_and_the_parent_goes_on),
      cmocka_unit_test(thread_has_a_name),
  };
  return cmocka_run_group_tests_name("shipper", tests, nullptr, nullptr);
}

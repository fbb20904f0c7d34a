// The journal without its shipper: the test is the reader.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "core/journal/spool.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/journal/journal.h"
#include "tests/journal/recording_sink.h"

namespace {
std::atomic<bool> disk_is_full{false};
std::atomic<bool> disk_is_stuck{false};
std::atomic<int> writers_stuck{0};
}  // namespace

// Stands before writev(2) in this program.
extern "C" ssize_t __real_writev(int fd, const iovec *parts, int count);
extern "C" ssize_t __wrap_writev(int fd, const iovec *parts, int count) {
  ++writers_stuck;
  while (disk_is_stuck) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  --writers_stuck;
  if (!disk_is_full) return __real_writev(fd, parts, count);
  errno = ENOSPC;
  return -1;
}

// Stands before msync(2) in this program.
namespace {
std::atomic<bool> disk_fails{false};
std::atomic<const char *> synced_begin{nullptr}, synced_end{nullptr};
}  // namespace
extern "C" int __real_msync(void *at, size_t size, int flags);
extern "C" int __wrap_msync(void *at, size_t size, int flags) {
  assert_int_equal(flags, MS_SYNC);
  synced_begin = static_cast<const char *>(at);
  synced_end = static_cast<const char *>(at) + size;
  if (!disk_fails) return __real_msync(at, size, flags);
  errno = EIO;
  return -1;
}

namespace det::journal {
namespace {

// Reads what there is and gives the steps.
std::vector<int64_t> drain(Spool &spool) {
  std::vector<int64_t> steps;
  std::vector<Report> batch;
  while (const size_t count = spool.read(batch, 10, 1000)) {
    for (size_t i = 0; i < count; ++i) steps.push_back(batch[i].steps);
    spool.release();
  }
  spool.release();
  return steps;
}

std::vector<int64_t> numbers(int64_t begin, int64_t end) {
  std::vector<int64_t> all;
  for (int64_t i = begin; i < end; ++i) all.push_back(i);
  return all;
}

void reports_come_back_in_order_over_many_files(void **) {
  const Journal journal;
  const auto spool = journal.open();
  for (int64_t round = 0; round < 20; ++round) {
    for (int64_t i = 0; i < 100; ++i) report_step(*spool, round * 100 + i);
    assert_equal(drain(*spool), numbers(round * 100, round * 100 + 100));
    assert_true(journal.files().size() <= 2);
  }
}

void sequences_grow_and_are_those_of_the_reports(void **) {
  const Journal journal;
  const auto spool = journal.open();
  std::vector<uint64_t> sequences;
  for (int64_t i = 0; i < 300; ++i) {
    sequences.push_back(report_step(*spool, i));
    assert_true(spool->last_sequence() >= sequences.back());
    if (i > 0) assert_true(sequences[i] > sequences[i - 1]);
  }
  assert_true(sequences[0] > 0);
  std::vector<Report> batch;
  assert_int_equal(spool->read(batch, 1000, 1'000'000), 300);
  for (size_t i = 0; i < 300; ++i) assert_int_equal(batch[i].sequence, sequences[i]);
  assert_true(spool->read_position() > spool->last_sequence());
}

void threads_appending_at_once_lose_nothing(void **) {
  constexpr int threads = 4;
  constexpr int64_t each = 5000;
  const Journal journal;
  const auto spool = journal.open({.limit_bytes = 64 << 20, .segment_bytes = 4096});
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t)
    writers.emplace_back([&spool, t] {
      for (int64_t i = 0; i < each; ++i) report_step(*spool, i, t);
    });
  std::vector<int64_t> next(threads, 0);
  std::vector<Report> batch;
  uint64_t last = 0;
  for (int64_t seen = 0; seen < threads * each;) {
    const size_t count = spool->read(batch, 100, 10'000);
    for (size_t i = 0; i < count; ++i, ++seen) {
      assert_true(batch[i].sequence > last);
      last = batch[i].sequence;
      assert_int_equal(batch[i].steps, next[static_cast<size_t>(batch[i].values[0].value)]++);
    }
    spool->release();
    spool->prepare();
  }
  for (std::thread &writer : writers) writer.join();
  assert_int_equal(spool->damaged_bytes(), 0);
}

void report_larger_than_a_file_keeps_its_place(void **) {
  const Journal journal;
  const auto spool = journal.open();
  const std::string text = "{\"text\":\"" + std::string(100'000, 'x') + "\"}";
  for (int round = 0; round < 3; ++round) {
    spool->prepare();
    report_step(*spool, 0);
    spool->append_metrics_json("training", 1, text, "");
    report_step(*spool, 2);
    std::vector<Report> batch;
    assert_int_equal(spool->read(batch, 10, 1'000'000), 3);
    assert_int_equal(batch[0].steps, 0);
    assert_equal(batch[1].text, text);
    assert_int_equal(batch[2].steps, 2);
    spool->release();
  }
}

void report_beyond_the_limit_of_size_is_refused(void **) {
  const Journal journal;
  const auto spool = journal.open({.limit_bytes = 1 << 20, .segment_bytes = 4096});
  const std::string text(max_record_size, 'x');
  expect_error(Code::invalid, [&] { spool->append_status(text); });
  // It would fit a record, but never this journal.
  assert_true(
      contains(expect_error(Code::invalid, [&] { spool->append_status(text.substr(0, 2 << 20)); }),
               "raise its limit"));
  report_step(*spool, 1);
  assert_equal(drain(*spool), numbers(1, 2));
}

// Appends until the journal refuses; gives how many it took.
int64_t fill(Spool &spool) {
  for (int64_t i = 0;; ++i) {
    try {
      report_step(spool, i);
    } catch (const Error &error) {
      assert_int_equal(static_cast<int>(error.code), static_cast<int>(Code::full));
      return i;
    }
  }
}

void full_journal_refuses_records_nothing_and_works_again(void **) {
  const Journal journal;
  const auto spool = journal.open({.limit_bytes = 20'000, .segment_bytes = 4096, .wait = {}});
  for (int round = 0; round < 3; ++round) {
    const int64_t taken = fill(*spool);
    assert_true(taken > 50);
    assert_true(contains(expect_error(Code::full, [&] { report_step(*spool, 0); }), "limit"));
    assert_equal(drain(*spool), numbers(0, taken));
  }
}

void full_journal_waits_for_a_reader_that_keeps_up(void **) {
  const Journal journal;
  const auto spool =
      journal.open({.limit_bytes = 8192, .segment_bytes = 4096, .wait = std::chrono::hours(1)});
  std::thread writer([&] {
    for (int64_t i = 0; i < 1000; ++i) report_step(*spool, i);
  });
  std::vector<int64_t> seen;
  while (seen.size() < 1000)
    for (const int64_t step : drain(*spool)) seen.push_back(step);
  writer.join();
  assert_equal(seen, numbers(0, 1000));
}

void full_journal_does_not_wait_while_deliveries_fail(void **) {
  const Journal journal;
  const auto spool =
      journal.open({.limit_bytes = 8192, .segment_bytes = 4096, .wait = std::chrono::hours(1)});
  std::atomic<bool> refused{false};
  std::thread writer([&] {
    fill(*spool);  // waits until it is told
    refused = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  assert_false(refused);
  spool->set_keeping_up(false);
  writer.join();
  expect_error(Code::full, [&] { report_step(*spool, 0); });
}

void full_disk_is_an_error_and_the_journal_stays_readable(void **) {
  const Journal journal;
  const auto spool = journal.open();
  int64_t taken = 0;
  disk_is_full = true;
  try {
    for (;; ++taken) report_step(*spool, taken);
  } catch (const Error &error) {
    assert_int_equal(static_cast<int>(error.code), static_cast<int>(Code::full));
    assert_int_equal(error.os_errno, ENOSPC);
  }
  spool->prepare();
  expect_error(Code::full, [&] { report_step(*spool, taken); });
  expect_error(Code::full, [&] { spool->append_status(std::string(10'000, 'x')); });
  disk_is_full = false;
  assert_true(taken > 20);
  report_step(*spool, taken);
  assert_equal(drain(*spool), numbers(0, taken + 1));
  assert_int_equal(journal.files().size(), 1);
}

void full_disk_at_the_start_leaves_no_file(void **) {
  const Journal journal;
  disk_is_full = true;
  expect_error(Code::full, [&] { journal.open(); });
  disk_is_full = false;
  assert_true(journal.files().empty());
}

// The next file is made while others report, ask and close.
void nobody_waits_for_the_next_file_before_it_is_needed(void **) {
  const Journal journal;
  const auto spool = journal.open();
  disk_is_stuck = true;
  std::thread reader([&] { spool->prepare(); });
  wait_until([] { return writers_stuck > 0; });
  const uint64_t sequence = report_step(*spool, 1);
  assert_true(spool->last_sequence() >= sequence);
  spool->ring();
  spool->close();
  disk_is_stuck = false;
  reader.join();
  assert_equal(drain(*spool), numbers(1, 2));
  assert_true(journal.files().empty());
}

void reports_that_need_the_next_file_wait_for_it(void **) {
  const Journal journal;
  const auto spool = journal.open();
  disk_is_stuck = true;
  std::thread reader([&] { spool->prepare(); });
  wait_until([] { return writers_stuck > 0; });
  spool->set_keeping_up(false);  // there is room all the same
  std::vector<std::thread> writers;
  for (int i = 0; i < 3; ++i)
    writers.emplace_back([&] {
      for (int64_t step = 0; step < 100; ++step) report_step(*spool, step);
    });
  writers.emplace_back([&] { spool->append_status(std::string(10'000, 'x')); });
  disk_is_stuck = false;
  reader.join();
  for (std::thread &writer : writers) writer.join();
  assert_int_equal(drain(*spool).size(), 301);
}

void more_files_are_ready_where_one_was_not_enough(void **) {
  const Journal journal;
  const auto spool = journal.open();
  spool->prepare();
  assert_int_equal(journal.files().size(), 2);
  int64_t steps = 0;
  while (journal.files().size() < 5) report_step(*spool, steps++);
  spool->prepare();
  assert_in_range(journal.files().size(), 7, 5 + 8);
  spool->append_status(std::string(10'000, 'x'));
  report_step(*spool, steps);
  assert_int_equal(drain(*spool).size(), steps + 2);
  assert_int_equal(journal.files().size(), 1);
}

void second_journal_in_a_directory_is_refused(void **) {
  const Journal journal;
  const auto spool = journal.open();
  report_step(*spool, 1);
  assert_true(contains(expect_error(Code::busy, [&] { journal.open(); }), "1.spool"));
  report_step(*spool, 2);
  assert_equal(drain(*spool), numbers(1, 3));
}

void closed_journal_refuses(void **) {
  const Journal journal;
  const auto spool = journal.open();
  report_step(*spool, 1);
  spool->close();
  spool->close();
  expect_error(Code::state, [&] { report_step(*spool, 2); });
  expect_error(Code::state, [&] { spool->append_status(std::string(10'000, 'x')); });
  assert_false(spool->drained());
  assert_equal(drain(*spool), numbers(1, 2));
  assert_true(spool->drained());
  assert_true(journal.files().empty());
}

void files_stay_only_for_reports_that_were_not_released(void **) {
  const Journal journal;
  journal.open().reset();
  assert_true(journal.files().empty());
  {
    const auto spool = journal.open();
    report_step(*spool, 1);
    spool->prepare();
    drain(*spool);
  }
  assert_true(journal.files().empty());
  {
    const auto spool = journal.open();
    report_step(*spool, 1);
    std::vector<Report> batch;
    assert_int_equal(spool->read(batch, 1, 1), 1);  // read, but not released
  }
  assert_int_equal(journal.files().size(), 1);
}

void forked_child_cannot_append_and_the_parent_goes_on(void **) {
  const Journal journal;
  auto spool = journal.open();
  for (int64_t i = 0; i < 10; ++i) report_step(*spool, i);
  const pid_t child = fork();
  if (child == 0) {
    int refused = 0;
    try {
      report_step(*spool, 100);
    } catch (const Error &error) {
      refused += error.code == Code::state ? 1 : 0;
    }
    spool->close();
    spool.reset();
    _exit(refused == 1 ? 0 : 1);
  }
  int status = 1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  for (int64_t i = 10; i < 500; ++i) report_step(*spool, i);
  assert_equal(drain(*spool), numbers(0, 500));
}

void durable_reports_are_on_disk_when_they_return(void **) {
  const Journal journal;
  const auto relaxed = journal.open();
  report_step(*relaxed, 1);
  assert_null(synced_begin.load());
  std::filesystem::remove(journal.directory / "1.spool");
  const auto spool = journal.open({.segment_bytes = 4096, .durable = true});
  const std::string large(3 * 4096, 'x');
  for (int64_t step = 1; step <= 200; ++step) {  // over several files
    synced_begin = synced_end = nullptr;
    if (step == 100) spool->append_status(large);
    else report_step(*spool, step);
    assert_non_null(synced_begin.load());
    assert_true(synced_end.load() - synced_begin.load() >= (step == 100 ? 3 * 4096 : 56));
  }
  disk_fails = true;
  expect_error(Code::io, [&] { report_step(*spool, 201); });
  disk_fails = false;
  std::vector<Report> batch;
  int64_t last = 0;
  while (const size_t count = spool->read(batch, 64, 1 << 20)) last = batch[count - 1].steps;
  assert_int_equal(last, 201);  // recorded all the same
}

void a_report_keeps_its_time_and_rank(void **) {
  const Journal journal;
  const auto spool = journal.open();
  const NamedValue value{"loss", 1};
  for (const int rank : {0, 1, 255, 256, 65535})
    spool->append_metrics("training", rank, &value, 1, {.time_us = 1000 + rank, .rank = rank});
  spool->append_metrics_json("mine", 5, "{}", "", {.time_us = 7, .rank = 300});
  std::vector<Report> batch;
  assert_int_equal(spool->read(batch, 64, 1 << 20), 6);
  for (int i = 0; i < 5; ++i) {
    assert_int_equal(batch[i].rank, batch[i].steps);
    assert_int_equal(batch[i].time_us, 1000 + batch[i].steps);
    assert_int_equal(batch[i].level, 0);
  }
  assert_int_equal(batch[5].rank, 300);
  assert_int_equal(batch[5].time_us, 7);
}

void append_rings_a_sleeping_reader(void **) {
  const Journal journal;
  const auto spool = journal.open({.limit_bytes = 64 << 20, .segment_bytes = 4096});
  constexpr int64_t all = 2000;
  std::atomic<int64_t> seen{0};
  std::thread reader([&] {
    while (seen < all) {
      seen += static_cast<int64_t>(drain(*spool).size());
      if (seen < all) spool->sleep();
    }
  });
  // Each round appends at about the instant at which the reader falls asleep.
  for (int64_t i = 0; i < all; ++i) {
    report_step(*spool, i);
    if (i % 2 == 0) wait_until([&] { return seen > i; });
  }
  reader.join();
  assert_int_equal(seen, all);
}

void record_overwritten_by_the_host_costs_only_itself(void **) {
  const Journal journal;
  const auto spool = journal.open();
  report_step(*spool, 0);
  const uint64_t offset = report_step(*spool, 1);  // the first file begins at sequence 0
  report_step(*spool, 2);
  const Fd file = open_file(journal.directory / "1.spool", O_RDWR);
  assert_int_equal(pwrite(file.get(), "overwritten!", 12, static_cast<off_t>(offset) + 30), 12);
  assert_equal(drain(*spool), (std::vector<int64_t>{0, 2}));
  const uint64_t damaged = spool->damaged_bytes();
  assert_true(damaged > 0);
  for (int64_t i = 3; i < 200; ++i) report_step(*spool, i);  // into further files
  assert_equal(drain(*spool), numbers(3, 200));
  assert_int_equal(spool->damaged_bytes(), damaged);
}

}  // namespace
}  // namespace det::journal

int main() {
  using namespace det::journal;
  const CMUnitTest tests[] = {
      cmocka_unit_test(reports_come_back_in_order_over_many_files),
      cmocka_unit_test(sequences_grow_and_are_those_of_the_reports),
      cmocka_unit_test(threads_appending_at_once_lose_nothing),
      cmocka_unit_test(report_larger_than_a_file_keeps_its_place),
      cmocka_unit_test(report_beyond_the_limit_of_size_is_refused),
      cmocka_unit_test(full_journal_refuses_records_nothing_and_works_again),
      cmocka_unit_test(full_journal_waits_for_a_reader_that_keeps_up),
      cmocka_unit_test(full_journal_does_not_wait_while_deliveries_fail),
      cmocka_unit_test(full_disk_is_an_error_and_the_journal_stays_readable),
      cmocka_unit_test(full_disk_at_the_start_leaves_no_file),
      cmocka_unit_test(nobody_waits_for_the_next_file_before_it_is_needed),
      cmocka_unit_test(reports_that_need_the_next_file_wait_for_it),
      cmocka_unit_test(more_files_are_ready_where_one_was_not_enough),
      cmocka_unit_test(second_journal_in_a_directory_is_refused),
      cmocka_unit_test(closed_journal_refuses),
      cmocka_unit_test(files_stay_only_for_reports_that_were_not_released),
      cmocka_unit_test(forked_child_cannot_append_and_the_parent_goes_on),
      cmocka_unit_test(durable_reports_are_on_disk_when_they_return),
      cmocka_unit_test(a_report_keeps_its_time_and_rank),
      cmocka_unit_test(append_rings_a_sleeping_reader),
      cmocka_unit_test(record_overwritten_by_the_host_costs_only_itself),
  };
  return cmocka_run_group_tests_name("spool", tests, nullptr, nullptr);
}

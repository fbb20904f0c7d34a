// What a process left behind: whole, torn, damaged, or killed at any instant.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/journal/recovery.h"
#include "core/journal/shipper.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/journal/journal.h"
#include "tests/journal/recording_sink.h"

namespace det::journal {
namespace {

void leave_behind(const Journal &journal, int64_t count) {
  const auto spool = journal.open();
  for (int64_t i = 0; i < count; ++i) report_step(*spool, i);
}

void patch(const std::filesystem::path &path, off_t at, std::string_view bytes) {
  const Fd file = open_file(path, O_RDWR);
  assert_int_equal(pwrite(file.get(), bytes.data(), bytes.size(), at), bytes.size());
}

bool exists(const Journal &journal, const std::string &name) {
  return std::filesystem::exists(journal.directory / name);
}

void everything_left_behind_is_delivered_once(void **) {
  const Journal journal;
  leave_behind(journal, 300);
  RecordingSink sink;
  const RecoveredSpool recovered = recover_spool(journal.directory.path(), sink);
  assert_int_equal(recovered.reports, 300);
  assert_int_equal(recovered.lost_bytes, 0);
  assert_true(recovered.damaged.empty());
  assert_int_equal(recovered.key.trial_id, 7);
  assert_int_equal(recovered.key.run_id, 2);
  assert_int_equal(recovered.key.rank, 1);
  assert_string_equal(recovered.key.journal_id.c_str(), journal.key.journal_id.c_str());
  assert_int_equal(sink.kept().size(), 300);
  for (int64_t i = 0; i < 300; ++i) assert_int_equal(sink.kept()[static_cast<size_t>(i)].steps, i);
  assert_true(journal.files().empty());
  assert_int_equal(recover_spool(journal.directory.path(), sink).reports, 0);
}

void missing_directory_is_an_empty_journal(void **) {
  const Journal journal;
  RecordingSink sink;
  assert_int_equal(recover_spool(journal.directory / "none", sink).reports, 0);
  assert_int_equal(count_waiting_reports(journal.directory / "none").reports, 0);
}

void failed_delivery_leaves_the_rest_for_the_next_attempt(void **) {
  const Journal journal;
  leave_behind(journal, 300);
  RecordingSink sink;
  sink.answers_to_lose = 1;
  expect_error(Code::unavailable, [&] { recover_spool(journal.directory.path(), sink); });
  recover_spool(journal.directory.path(), sink);
  assert_int_equal(sink.kept().size(), 300);
  for (int64_t i = 0; i < 300; ++i) assert_int_equal(sink.kept()[static_cast<size_t>(i)].steps, i);
}

void counting_touches_nothing(void **) {
  const Journal journal;
  const auto spool = journal.open();
  uint64_t tenth = 0;
  for (int64_t i = 0; i < 300; ++i) {
    const uint64_t sequence = report_step(*spool, i);
    if (i == 9) tenth = sequence;
  }
  const size_t files = journal.files().size();
  assert_int_equal(count_waiting_reports(journal.directory.path()).reports, 300);
  assert_int_equal(count_waiting_reports(journal.directory.path(), tenth).reports, 290);
  assert_int_equal(journal.files().size(), files);
}

void damaged_header_sets_the_file_aside_and_delivers_the_others(void **) {
  for (const off_t at : {0, 16, 40, 100, 255}) {
    const Journal journal;
    leave_behind(journal, 300);
    patch(journal.directory / "2.spool", at, "\x5A");
    RecordingSink sink;
    const RecoveredSpool recovered = recover_spool(journal.directory.path(), sink);
    assert_int_equal(recovered.damaged.size(), 1);
    assert_equal(recovered.damaged[0], journal.directory / "2.spool.damaged");
    assert_equal(journal.files(), std::vector<std::string>{"2.spool.damaged"});
    assert_true(recovered.reports > 100 && recovered.reports < 300);
    assert_int_equal(sink.kept().back().steps, 299);
  }
}

void what_was_damaged_and_what_is_in_conflict_is_told(void **) {
  const Journal journal;
  leave_behind(journal, 300);
  patch(journal.directory / "2.spool", 0, "\x5A");
  RecordingSink sink;
  sink.conflicts = {"the first conflict", "the second"};
  std::vector<std::string> told;
  Logger logger(LogLevel::warning,
                [&](LogLevel, const std::string &line) { told.push_back(line); });
  warn_of(recover_spool(journal.directory.path(), sink), logger);
  assert_int_equal(told.size(), 2);
  assert_string_equal(told[0].c_str(), "recovering reports: the first conflict (and 1 more)");
  assert_true(contains(told[1], (journal.directory / "2.spool.damaged").string()));
}

void what_was_told_before_a_delivery_that_fails_is_told(void **) {
  struct FailsLater : RecordingSink {
    Delivery deliver(const JournalKey &journal, std::span<const Report> reports) override {
      if (attempts > 0) throw Error(Code::unavailable, "away");
      return RecordingSink::deliver(journal, reports);
    }
  };
  const Journal journal;
  leave_behind(journal, 300);
  FailsLater sink;
  sink.conflicts = {"the first conflict"};
  std::vector<std::string> told;
  Logger logger(LogLevel::warning,
                [&](LogLevel, const std::string &line) { told.push_back(line); });
  expect_error(Code::unavailable, [&] { recover_spool(journal.directory.path(), sink, logger); });
  assert_equal(told, std::vector<std::string>{"recovering reports: the first conflict"});
}

std::vector<std::string> told_of(const RecoveredSpool &recovered) {
  std::vector<std::string> told;
  Logger logger(LogLevel::warning,
                [&](LogLevel, const std::string &line) { told.push_back(line); });
  warn_of(recovered, logger);
  return told;
}

// Records of report_step(): 72 bytes behind the header.
constexpr off_t first_record = 256;

void bytes_that_are_damaged_are_told(void **) {
  const Journal journal;
  leave_behind(journal, 3);
  patch(journal.directory / "1.spool", first_record + 72 + 40, "\x5A");
  RecordingSink sink;
  const RecoveredSpool recovered = recover_spool(journal.directory.path(), sink);
  assert_int_equal(recovered.reports, 2);
  assert_int_equal(recovered.lost_bytes, 72);
  assert_int_equal(recovered.unfinished_bytes, 0);
  const std::vector<std::string> told = told_of(recovered);
  assert_int_equal(told.size(), 1);
  assert_true(contains(told[0], "72 bytes in the journal of rank 1 of run 2 of trial 7"));
  assert_true(contains(told[0], "damaged"));
}

// As by a process that is killed before an append publishes: its record has no mark yet.
void record_that_was_never_finished_is_told_as_such(void **) {
  for (const int record : {1, 2}) {
    const Journal journal;
    leave_behind(journal, 3);
    patch(journal.directory / "1.spool", first_record + off_t{72} * record, std::string(8, '\0'));
    RecordingSink sink;
    const RecoveredSpool recovered = recover_spool(journal.directory.path(), sink);
    assert_int_equal(recovered.reports, 2);
    assert_true(recovered.lost_bytes > 0);
    assert_int_equal(recovered.unfinished_bytes, recovered.lost_bytes);
    const std::vector<std::string> told = told_of(recovered);
    assert_int_equal(told.size(), 1);
    assert_true(contains(told[0], "were being written when its process ended"));
    assert_false(contains(told[0], "damaged"));
  }
}

// The first never finished, the second finished and damaged: they are skipped together.
void damage_behind_what_was_never_finished_is_told_as_damage(void **) {
  const Journal journal;
  leave_behind(journal, 3);
  patch(journal.directory / "1.spool", first_record, std::string(8, '\0'));
  patch(journal.directory / "1.spool", first_record + 72 + 40, "\x5A");
  RecordingSink sink;
  const RecoveredSpool recovered = recover_spool(journal.directory.path(), sink);
  assert_int_equal(recovered.reports, 1);
  assert_int_equal(recovered.lost_bytes, 144);
  assert_int_equal(recovered.unfinished_bytes, 0);
}

void file_of_another_byte_order_is_refused_and_kept(void **) {
  const Journal journal;
  leave_behind(journal, 10);
  patch(journal.directory / "1.spool", 12, std::string_view("\x01\x02\x03\x04", 4));
  RecordingSink sink;
  const std::string message =
      expect_error(Code::unsupported, [&] { recover_spool(journal.directory.path(), sink); });
  assert_true(contains(message, "byte order"));
  assert_true(exists(journal, "1.spool"));
}

void file_of_another_version_is_refused_and_kept(void **) {
  const Journal journal;
  leave_behind(journal, 10);
  std::string text = read_file(journal.directory / "1.spool");
  text[8] = 99;
  const uint64_t checksum = checksum64(text.data(), 248);
  text.replace(248, 8, reinterpret_cast<const char *>(&checksum), 8);
  std::ofstream(journal.directory / "1.spool", std::ios::binary) << text;
  RecordingSink sink;
  const std::string message =
      expect_error(Code::unsupported, [&] { recover_spool(journal.directory.path(), sink); });
  assert_true(contains(message, "version 99"));
  assert_true(exists(journal, "1.spool"));
}

void file_whose_writer_died_making_it_is_removed(void **) {
  const Journal journal;
  leave_behind(journal, 10);
  std::ofstream(journal.directory / "2.spool").flush();
  RecordingSink sink;
  assert_int_equal(recover_spool(journal.directory.path(), sink).reports, 10);
  assert_true(journal.files().empty());
}

void files_of_others_are_left_alone(void **) {
  const Journal journal;
  leave_behind(journal, 10);
  for (const char *name : {"01.spool", "x.spool", "1.spool.damaged", "owner.lock"})
    std::ofstream(journal.directory / name) << "mine";
  RecordingSink sink;
  const RecoveredSpool recovered = recover_spool(journal.directory.path(), sink);
  assert_int_equal(recovered.reports, 10);
  assert_true(recovered.damaged.empty());
  assert_int_equal(journal.files().size(), 4);
}

void truncated_file_gives_what_is_whole(void **) {
  const Journal journal;
  leave_behind(journal, 10);
  const std::string whole = read_file(journal.directory / "1.spool");
  // 72 bytes each behind the header: the length does not matter, only that it only grows.
  uint64_t before = 0;
  for (size_t size = 256; size <= 256 + 10 * 80; ++size) {
    std::ofstream(journal.directory / "1.spool", std::ios::binary) << whole.substr(0, size);
    const uint64_t reports = count_waiting_reports(journal.directory.path()).reports;
    assert_true(reports == before || reports == before + 1);
    before = reports;
  }
  assert_int_equal(before, 10);
}

// Shared with a child that is killed: what its calls have returned for, and what its master has.
struct Shared {
  std::atomic<int64_t> acknowledged[2];  // by thread
  std::atomic<int64_t> stored[2];
};

// Outlives the process, as a store would.
class SharedSink : public ReportSink {
 public:
  explicit SharedSink(Shared &shared) : shared_(shared) {}
  Delivery deliver(const JournalKey &, std::span<const Report> reports) override {
    for (const Report &report : reports) {
      std::atomic<int64_t> &stored = shared_.stored[static_cast<size_t>(report.values[0].value)];
      if (report.steps <= stored) continue;
      if (report.steps != stored + 1) gap = true;
      stored = report.steps;
    }
    return {};
  }
  bool gap = false;

 private:
  Shared &shared_;
};

[[noreturn]] void report_until_killed(const Journal &journal, Shared &shared, bool ship) {
  const auto spool = journal.open({.limit_bytes = 256 << 20, .segment_bytes = 16384});
  SharedSink sink(shared);
  std::unique_ptr<journal::Shipper> shipper;
  journal::ShipperOptions options;
  options.interval = std::chrono::milliseconds(1);
  if (ship)
    shipper = std::make_unique<journal::Shipper>(*spool, sink, std::make_shared<Logger>(), nullptr,
                                                 options);
  const auto loop = [&](int thread) {
    for (int64_t i = 1;; ++i) {
      report_step(*spool, i, thread);
      shared.acknowledged[thread] = i;
    }
  };
  std::thread other(loop, 1);
  loop(0);
  _exit(0);
}

void kill_at_any_instant_loses_no_acknowledged_report(void **) {
  std::minstd_rand random(20240607);
  void *memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  int64_t reports = 0;
  for (int round = 0; round < 60; ++round) {
    const Journal journal;
    Shared &shared = *new (memory) Shared{};
    const pid_t child = fork();
    if (child == 0) report_until_killed(journal, shared, round % 2 == 0);
    const int64_t begin = round % 3 == 0 ? 0 : 100;
    wait_until([&] { return shared.acknowledged[round / 2 % 2] >= begin; });
    usleep(std::uniform_int_distribution<useconds_t>(0, 15'000)(random));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, nullptr, 0), child);
    SharedSink sink(shared);
    recover_spool(journal.directory.path(), sink);
    assert_false(sink.gap);
    for (int t = 0; t < 2; ++t) {
      reports += shared.stored[t];
      assert_true(shared.stored[t] >= shared.acknowledged[t]);
      assert_true(shared.stored[t] <= shared.acknowledged[t] + 1);
    }
    assert_true(journal.files().empty());
  }
  assert_true(reports > 10'000);
  munmap(memory, sizeof(Shared));
}

}  // namespace
}  // namespace det::journal

int test_recovery() {
  using namespace det::journal;
  const CMUnitTest tests[] = {
      cmocka_unit_test(everything_left_behind_is_delivered_once),
      cmocka_unit_test(missing_directory_is_an_empty_journal),
      cmocka_unit_test(failed_delivery_leaves_the_rest_for_the_next_attempt),
      cmocka_unit_test(counting_touches_nothing),
      cmocka_unit_test(damaged_header_sets_the_file_aside_and_delivers_the_others),
      cmocka_unit_test(what_was_told_before_a_delivery_that_fails_is_told),
      cmocka_unit_test(what_was_damaged_and_what_is_in_conflict_is_told),
      cmocka_unit_test(bytes_that_are_damaged_are_told),
      cmocka_unit_test(record_that_was_never_finished_is_told_as_such),
      cmocka_unit_test(damage_behind_what_was_never_finished_is_told_as_damage),
      cmocka_unit_test(file_of_another_byte_order_is_refused_and_kept),
      cmocka_unit_test(file_of_another_version_is_refused_and_kept),
      cmocka_unit_test(file_whose_writer_died_making_it_is_removed),
      cmocka_unit_test(files_of_others_are_left_alone),
      cmocka_unit_test(truncated_file_gives_what_is_whole),
      cmocka_unit_test(kill_at_any_instant_loses_no_acknowledged_report),
  };
  return cmocka_run_group_tests_name("recovery", tests, nullptr, nullptr);
}

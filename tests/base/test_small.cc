// The parts of core/base and core/comm that are a few lines each.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <set>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log/log.h"
#include "core/base/process/environment.h"
#include "core/base/process/fifo.h"
#include "core/base/process/unshared_fd.h"
#include "core/base/text/utf8.h"
#include "core/base/thread.h"
#include "core/base/uuid.h"
#include "core/base/wake.h"
#include "core/comm/communicator.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;

void times_are_iso8601_in_utc_with_microseconds(void **) {
  setenv("TZ", "Asia/Kathmandu", 1);
  assert_string_equal(iso8601(0).c_str(), "1970-01-01T00:00:00.000000+00:00");
  assert_string_equal(iso8601(1'769'860'800'000'001).c_str(), "2026-01-31T12:00:00.000001+00:00");
  assert_string_equal(iso8601(-1).c_str(), "1969-12-31T23:59:59.999999+00:00");
  unsetenv("TZ");
}

void times_are_read_in_every_form_of_iso8601(void **) {
  const std::pair<const char *, int64_t> table[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"1969-12-31T23:59:59.999999+00:00", -1},
      {"2026-01-31T12:00:00.000001Z", 1'769'860'800'000'001},
      {"2026-01-31T17:45:00.5+05:45", 1'769'860'800'500'000},
      {"2026-01-31T08:30:00.123456789-03:30", 1'769'860'800'123'456},
      {"2024-02-29T00:00:00Z", 1'709'164'800'000'000}};
  for (const auto &[text, time] : table) assert_int_equal(parse_iso8601(text).value_or(-2), time);
  for (const char *text :
       {"", "yesterday", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z",
        "2026-02-29T12:00:00Z", "2026-13-01T12:00:00Z", "2026-01-31T24:00:00Z",
        "2026-01-31T12:00:60Z", "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00.1",
        "2026-01-31T12:00:00+0100", "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00Zx",
        "-026-01-31T12:00:00Z", "2026-01-31T12:00:0xZ", "2026-1a-31T12:00:00Z"})
    assert_false(parse_iso8601(text).has_value());
}

void now_lies_between_2025_and_2200(void **) {
  assert_in_range(now_us(), 1'735'689'600'000'000, 7'258'118'400'000'000);
}

void uuids_are_of_version_4_and_differ(void **) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = make_uuid();
    assert_int_equal(uuid.size(), 36);
    assert_equal(uuid[8], '-');
    assert_equal(uuid[13], '-');
    assert_equal(uuid[18], '-');
    assert_equal(uuid[23], '-');
    assert_equal(uuid[14], '4');
    assert_true(std::string("89ab").find(uuid[19]) != std::string::npos);
    assert_equal(uuid.find_first_not_of("0123456789abcdef-"), uuid.npos);
    seen.insert(uuid);
  }
  assert_int_equal(seen.size(), 1000);
}

bool is_set(const Wake &wake) {
  pollfd waiting{wake.fd(), POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

void wake_stays_set_until_cleared(void **) {
  const Wake wake;
  assert_false(is_set(wake));
  wake.clear();
  wake.set();
  wake.set();
  assert_true(is_set(wake));
  wake.clear();
  assert_false(is_set(wake));
}

// A host may close what is not its own, and open something under the same number.
void a_wake_whose_descriptor_is_taken_still_wakes_and_writes_nowhere(void **) {
  const Wake wake;
  FILE *file = tmpfile();
  assert_true(dup2(fileno(file), wake.fd()) >= 0);
  assert_false(wake.poll(std::chrono::milliseconds(0)));
  std::thread setter = start_thread("setter", [&] { wake.set(); });
  assert_true(wake.poll(std::chrono::hours(1)));
  setter.join();
  close(wake.fd());
  assert_true(wake.poll(std::chrono::hours(1)));
  wake.clear();
  assert_false(wake.poll(std::chrono::milliseconds(10)));
  struct stat about {};
  assert_int_equal(fstat(fileno(file), &about), 0);
  assert_int_equal(about.st_size, 0);
  fclose(file);
}

// A pipe of the host with a byte in it, so that it is always ready.
struct PipeOfHost {
  PipeOfHost() {
    std::array<int, 2> ends{};
    assert_int_equal(pipe(ends.data()), 0);
    reading = Fd(ends[0]);
    writing = Fd(ends[1]);
    assert_int_equal(write(writing.get(), "x", 1), 1);
  }
  // Under this number, from now on.
  void take(int number) const { assert_int_equal(dup2(reading.get(), number), number); }
  bool has_byte() const {
    pollfd waiting{reading.get(), POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
  }

  Fd reading, writing;
};

void a_wait_is_idle_while_others_use_the_number_of_the_descriptor(void **) {
  const PipeOfHost pipe;
  Fd of_host;
  {
    const Wake wake, second;
    pipe.take(wake.fd());
    pipe.take(second.fd());
    of_host = Fd(wake.fd());
    const Fd too(second.fd());
    const clock_t before = clock();
    assert_false(wake.poll({}, std::chrono::milliseconds(300), &second));
    assert_true(clock() - before < CLOCKS_PER_SEC / 10);
    std::thread setter = start_thread("setter", [&] { second.set(); });
    assert_false(wake.poll({}, std::chrono::hours(1), &second));
    setter.join();
  }
  assert_true(fcntl(of_host.get(), F_GETFD) >= 0);
}

void nothing_of_a_host_is_drained_or_closed_in_the_place_of_a_fifo(void **) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "fifo";
  assert_true(make_fifo(path));
  const PipeOfHost pipe;
  Fd of_host;
  {
    const KnownFd fifo = open_fifo(path);
    assert_true(wake_fifo(path));
    assert_int_equal(fifo.get(), fifo.number());
    pipe.take(fifo.number());
    of_host = Fd(fifo.number());
    assert_int_equal(fifo.get(), -1);
    drain_fifo(fifo);
    assert_true(pipe.has_byte());
  }
  assert_true(fcntl(of_host.get(), F_GETFD) >= 0);
}

void what_others_have_under_the_number_of_an_unshared_descriptor_stays_open(void **) {
  std::array<int, 2> pipe_of_host{};
  assert_int_equal(pipe(pipe_of_host.data()), 0);
  const Fd reading(pipe_of_host[0]), writing(pipe_of_host[1]);
  int number = -1;
  {
    const UnsharedFd ours(Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)));
    number = ours.get();
    assert_int_equal(dup2(reading.get(), number), number);
    const pid_t child = fork();
    if (child == 0) _exit(fcntl(number, F_GETFD) >= 0 ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  const Fd of_host(number);
  assert_true(fcntl(number, F_GETFD) >= 0);
}

void flags_wait_until_one_is_set(void **) {
  Flags flags;
  assert_int_equal(flags.wait(std::chrono::milliseconds(5)), 0);
  std::thread setter = start_thread("setter", [&] { flags.set(2); });
  assert_int_equal(flags.wait(), 2);
  setter.join();
  assert_int_equal(flags.wait(std::chrono::hours(1)), 2);
}

void wake_ends_a_wait_in_another_thread(void **) {
  const Wake wake;
  std::thread waiter = start_thread("waiter", [&] {
    pollfd waiting{wake.fd(), POLLIN, 0};
    while (poll(&waiting, 1, -1) != 1) {
    }
  });
  wake.set();
  waiter.join();
}

void background_threads_take_no_signals(void **) {
  bool blocked = false;
  start_thread("blocked", [&] {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    blocked = sigismember(&mask, SIGTERM) == 1;
  }).join();
  assert_true(blocked);
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  assert_int_equal(sigismember(&mask, SIGTERM), 0);
}

void log_lines_below_the_threshold_are_dropped(void **) {
  std::vector<std::string> lines;
  Logger logger(LogLevel::warning, [&](LogLevel level, const std::string &text) {
    lines.push_back(std::string(log_level_name(level)) + " " + text);
  });
  logger.debug("a");
  logger.info("b");
  logger.warning("c");
  logger.error("d");
  assert_equal(lines, std::vector<std::string>{"WARNING c", "ERROR d"});
}

void system_errors_become_codes_with_a_remedy(void **) {
  const std::pair<int, Code> table[] = {
      {ENOSPC, Code::full},      {EDQUOT, Code::full},          {EACCES, Code::access},
      {EROFS, Code::access},     {ENOENT, Code::not_found},     {ENOTDIR, Code::invalid},
      {ENOMEM, Code::no_memory}, {ENAMETOOLONG, Code::invalid}, {EIO, Code::io}};
  for (const auto &[number, code] : table) {
    const auto message = expect_error(code, [n = number] { OsFailure{n}.raise("writing '/a'"); });
    assert_true(message.starts_with("writing '/a': "));
  }
}

void variables_are_read_as_text_and_integer(void **) {
  setenv("DET_TEST", "12", 1);
  assert_string_equal(environment_variable("DET_TEST").c_str(), "12");
  assert_int_equal(environment_integer("DET_TEST").value(), 12);
  for (const char *text : {"12x", "x", " 1", "1.5", "99999999999999999999"}) {
    setenv("DET_TEST", text, 1);
    const auto message = expect_error(Code::invalid, [] { environment_integer("DET_TEST"); });
    assert_true(contains(message, "DET_TEST"));
  }
  setenv("DET_TEST", "", 1);
  assert_false(environment_integer("DET_TEST").has_value());
  unsetenv("DET_TEST");
  assert_false(environment_integer("DET_TEST").has_value());
  assert_string_equal(environment_variable("DET_TEST").c_str(), "");
}

void utf8_is_told_from_other_bytes(void **) {
  for (const char *text :
       {"", "a", "\u00e9", "\u20ac", "\U0001f600", "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf"})
    assert_true(is_utf8(text));
  for (const char *text :
       {"\xff", "\x80", "a\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf",
        "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xc3("})
    assert_false(is_utf8(text));
}

void bytes_that_are_not_utf8_are_replaced_one_by_one(void **) {
  assert_string_equal(to_utf8("plain").c_str(), "plain");
  assert_string_equal(to_utf8("\u00f6\xFF\xE2\x82z").c_str(), "\u00f6\uFFFD\uFFFD\uFFFDz");
  assert_string_equal(to_utf8("\xED\xA0\x80").c_str(), "\uFFFD\uFFFD\uFFFD");
}

void a_job_of_one_gives_every_message_back(void **) {
  const auto job = comm::make_single_communicator();
  assert_true(job->is_chief() && job->is_local_chief());
  assert_int_equal(job->ranks().size, 1);
  for (const comm::Message &message :
       {comm::Message(), comm::Message(""), comm::Message(std::string(2 << 20, 'x'))}) {
    assert_equal(job->broadcast(message), message);
    assert_equal(job->broadcast_local(message), message);
    const std::vector<comm::Message> list{message};
    assert_equal(job->allgather(message), list);
    assert_equal(job->allgather_local(message), list);
    assert_equal(job->gather(message), list);
    assert_equal(job->gather_local(message), list);
  }
}

void impossible_ranks_are_refused_with_their_numbers(void **) {
  comm::check_ranks({3, 4, 1, 2, 1, 2});
  for (const comm::Ranks &ranks : {comm::Ranks{4, 4, 0, 1, 0, 1}, comm::Ranks{-1, 4, 0, 1, 0, 1},
                                   comm::Ranks{0, 0, 0, 1, 0, 1}, comm::Ranks{0, 4, 2, 2, 0, 1},
                                   comm::Ranks{0, 4, 0, 1, 1, 1}, comm::Ranks{0, 1, 0, 2, 0, 1}})
    expect_error(Code::invalid, [&] { comm::check_ranks(ranks); });
  assert_true(contains(expect_error(Code::invalid,
                                    [] {
                                      comm::check_ranks({7, 4, 0, 1, 0, 1});
                                    }),
                       "7 of 4"));
}

}  // namespace

int test_small() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(times_are_iso8601_in_utc_with_microseconds),
      cmocka_unit_test(times_are_read_in_every_form_of_iso8601),
      cmocka_unit_test(now_lies_between_2025_and_2200),
      cmocka_unit_test(uuids_are_of_version_4_and_differ),
      cmocka_unit_test(wake_stays_set_until_cleared),
      cmocka_unit_test(a_wake_whose_descriptor_is_taken_still_wakes_and_writes_nowhere),
      cmocka_unit_test(a_wait_is_idle_while_others_use_the_number_of_the_descriptor),
      cmocka_unit_test(nothing_of_a_host_is_drained_or_closed_in_the_place_of_a_fifo),
      cmocka_unit_test(what_others_have_under_the_number_of_an_unshared_descriptor_stays_open),
      cmocka_unit_test(flags_wait_until_one_is_set),
      cmocka_unit_test(wake_ends_a_wait_in_another_thread),
      cmocka_unit_test(background_threads_take_no_signals),
      cmocka_unit_test(log_lines_below_the_threshold_are_dropped),
      cmocka_unit_test(system_errors_become_codes_with_a_remedy),
      cmocka_unit_test(variables_are_read_as_text_and_integer),
      cmocka_unit_test(utf8_is_told_from_other_bytes),
      cmocka_unit_test(bytes_that_are_not_utf8_are_replaced_one_by_one),
      cmocka_unit_test(a_job_of_one_gives_every_message_back),
      cmocka_unit_test(impossible_ranks_are_refused_with_their_numbers),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

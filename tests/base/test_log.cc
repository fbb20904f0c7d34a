// Log lines to a host that is slow, that never answers, or that takes them when it likes.
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <string>
#include <vector>

#include "core/base/log/log_queue.h"
#include "core/base/log/log_relay.h"
#include "core/base/thread.h"
#include "tests/cmocka.h"

namespace {

using namespace det;
using std::chrono::milliseconds;

constexpr milliseconds long_enough{60'000};

// A callback that can be held up.
class Host {
 public:
  LogCallback callback() {
    return [this](const LogLine &line) {
      std::unique_lock lock(mutex_);
      if (++inside_ > 1) overlapped_ = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !held_; });
      lines_ += line.text + " ";
      threads_.push_back(std::this_thread::get_id());
      --inside_;
    };
  }
  void hold() { set_held(true); }
  void let_go() { set_held(false); }
  void wait_until_inside() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return inside_ > 0; });
  }
  std::string lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  bool overlapped() const { return overlapped_; }
  std::vector<std::thread::id> threads() {
    const std::lock_guard lock(mutex_);
    return threads_;
  }

 private:
  void set_held(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  int inside_ = 0;
  std::atomic<bool> overlapped_{false};
  std::string lines_;
  std::vector<std::thread::id> threads_;
};

// On a thread of the library, until it is done.
template <class Body>
void in_background(Body body) {
  start_thread("test", std::move(body)).join();
}

void a_thread_of_the_host_is_called_back_at_once(void **) {
  Host host;
  LogRelay relay(host.callback());
  relay.write(LogLevel::info, "a", {});
  relay.write(LogLevel::info, "b", {});
  assert_string_equal(host.lines().c_str(), "a b ");
  for (const std::thread::id thread : host.threads())
    assert_equal(thread, std::this_thread::get_id());
}

void threads_of_the_library_do_not_wait_for_the_host(void **) {
  Host host;
  LogRelay relay(host.callback());
  host.hold();
  in_background([&] { relay.write(LogLevel::info, "a", {}); });
  host.wait_until_inside();
  in_background([&] { relay.write(LogLevel::info, "b", {}); });
  relay.write(LogLevel::info, "c", {});  // nor does a thread of the host
  assert_string_equal(host.lines().c_str(), "");
  host.let_go();
  relay.flush(long_enough);
  assert_string_equal(host.lines().c_str(), "a b c ");
}

void lines_come_in_order_and_one_at_a_time(void **) {
  Host host;
  std::string expected;
  {
    LogRelay relay(host.callback());
    for (int i = 0; i < 1000; ++i) {
      const std::string line = std::to_string(i);
      if (i % 3 == 0) relay.write(LogLevel::info, line, {});
      else in_background([&] { relay.write(LogLevel::info, line, {}); });
      expected += line + " ";
    }
  }
  assert_string_equal(host.lines().c_str(), expected.c_str());
  assert_false(host.overlapped());
}

void a_callback_that_never_returns_is_left_alone(void **) {
  static Host host;  // the thread stays inside
  host.hold();
  {
    LogRelay relay(host.callback());
    in_background([&] { relay.write(LogLevel::info, "a", {}); });
    host.wait_until_inside();
    relay.write(LogLevel::info, "never", {});
    relay.flush(milliseconds(1));
    relay.end(milliseconds(1));
    relay.write(LogLevel::info, "never", {});
  }
  host.let_go();
  while (host.lines() != "a ") std::this_thread::yield();
}

void callback_that_throws_gets_the_next_line(void **) {
  std::string lines;
  {
    LogRelay relay([&](const LogLine &line) {
      lines += line.text;
      throw std::runtime_error("no");
    });
    in_background([&] { relay.write(LogLevel::info, "a", {}); });
    relay.flush(long_enough);
    relay.write(LogLevel::info, "b", {});
  }
  assert_string_equal(lines.c_str(), "ab");
}

bool is_readable(int fd) {
  pollfd watched = {fd, POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

void queue_is_readable_while_lines_wait(void **) {
  LogQueue queue;
  assert_false(is_readable(queue.fd()));
  assert_false(queue.take().has_value());
  queue.write(LogLevel::info, "a", {});
  queue.write(LogLevel::error, "b", {});
  assert_true(is_readable(queue.fd()));
  assert_string_equal(queue.take()->text.c_str(), "a");
  assert_true(is_readable(queue.fd()));
  const auto last = queue.take();
  assert_string_equal(last->text.c_str(), "b");
  assert_int_equal(static_cast<int>(last->level), static_cast<int>(LogLevel::error));
  assert_false(is_readable(queue.fd()));
}

void queue_that_nobody_takes_from_leaves_lines_out(void **) {
  LogQueue queue;
  const std::string line(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) queue.write(LogLevel::info, line, {});
  size_t whole = 0;
  std::string last;
  while (const auto taken = queue.take()) {
    whole += taken->text == line;
    last = taken->text;
  }
  assert_int_equal(whole, 7);
  assert_string_equal(last.c_str(), "13 lines of the log were left out: nobody took them");
  assert_false(is_readable(queue.fd()));
}

}  // namespace

int test_log() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_thread_of_the_host_is_called_back_at_once),
      cmocka_unit_test(threads_of_the_library_do_not_wait_for_the_host),
      cmocka_unit_test(lines_come_in_order_and_one_at_a_time),
      cmocka_unit_test(a_callback_that_never_returns_is_left_alone),
      cmocka_unit_test(callback_that_throws_gets_the_next_line),
      cmocka_unit_test(queue_is_readable_while_lines_wait),
      cmocka_unit_test(queue_that_nobody_takes_from_leaves_lines_out),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

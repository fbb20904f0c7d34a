// Many requests at a time, and their early ends.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/http/server.h"
#include "tests/patience.h"

namespace {

using namespace det;
using namespace det::http;
using std::chrono::milliseconds;

// Waits until the server has noticed `count` connections that were dropped while it waited.
void expect_dropped(const Server &by, int count) {
  for (int i = 0; i < TEST_PATIENCE_MS / 10 && by.stats()["dropped"] != count; ++i) usleep(10'000);
  assert_int_equal(by.stats()["dropped"].get<int>(), count);
}

void cancel_ends_a_long_poll_and_its_connection(void **) {
  const Server own;
  HttpClient client({}, std::make_shared<Logger>());
  HttpCall poll = client.send({.url = own.url("/hang")});
  while (own.seen("/hang") == 0) usleep(1000);
  assert_false(poll.wait_for(milliseconds{0}));
  poll.cancel();
  expect_error(Code::state, [&] { static_cast<void>(poll.wait()); });
  expect_dropped(own, 1);
  assert_int_equal(client.perform(get("/echo")).status, 200);
}

void answer_is_given_while_the_wake_is_not_set(void **) {
  HttpClient client({}, std::make_shared<Logger>());
  const Wake wake;
  HttpCall call = client.send(get("/echo"));
  const std::optional<HttpResponse> answer = call.wait_unless(wake);
  assert_true(answer.has_value());
  assert_int_equal(answer->status, 200);
}

void failure_is_thrown_while_the_wake_is_not_set(void **) {
  HttpClient client({}, std::make_shared<Logger>());
  const Wake wake;
  HttpCall call = client.send(get("/silent"));
  expect_error(Code::unavailable, [&] { static_cast<void>(call.wait_unless(wake)); });
}

void answer_that_has_come_is_given_whatever_the_wake(void **) {
  HttpClient client({}, std::make_shared<Logger>());
  const Wake wake;
  wake.set();
  HttpCall call = client.send(get("/echo"));
  assert_true(call.wait_for(milliseconds{TEST_PATIENCE_MS}));
  assert_true(call.wait_unless(wake).has_value());
}

void wake_ends_a_long_poll_and_its_connection(void **) {
  const Server own;
  HttpClient client({}, std::make_shared<Logger>());
  const Wake wake;
  HttpCall poll = client.send({.url = own.url("/hang")});
  std::thread waker([&] {
    while (own.seen("/hang") == 0) usleep(1000);
    wake.set();
  });
  const std::optional<HttpResponse> answer = poll.wait_unless(wake);
  waker.join();
  assert_false(answer.has_value());
  expect_error(Code::state, [&] { static_cast<void>(poll.wait()); });
  expect_dropped(own, 1);
}

void close_ends_requests_and_waits_for_retries(void **) {
  HttpClient client({}, std::make_shared<Logger>());
  HttpCall poll = client.send(get("/hang"));
  HttpRequest again = get("/status/503/x?after=3000");
  again.replay = Replay::safe;
  HttpCall retried = client.send(again);
  assert_false(poll.wait_for(milliseconds{50}));
  client.close();
  client.close();
  expect_error(Code::state, [&] { static_cast<void>(poll.wait()); });
  expect_error(Code::state, [&] { static_cast<void>(retried.wait()); });
  expect_error(Code::state, [&] { static_cast<void>(client.send(get("/echo"))); });
}

void cancel_all_ends_those_sent_so_far(void **) {
  HttpClient client({}, std::make_shared<Logger>());
  std::vector<HttpCall> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(client.send(get("/hang")));
  HttpRequest again = get("/status/503/y?after=3000");
  again.replay = Replay::safe;
  calls.push_back(client.send(again));
  assert_false(calls.back().wait_for(milliseconds{50}));
  client.cancel_all();
  for (HttpCall &call : calls) expect_error(Code::state, [&] { static_cast<void>(call.wait()); });
  for (int i = 0; i < 20; ++i) {
    client.cancel_all();
    assert_int_equal(client.perform(get("/echo")).status, 200);
  }
}

void close_ends_the_waits_of_other_threads(void **) {
  HttpOptions options;
  options.open_limit = 1;
  HttpClient client(options, std::make_shared<Logger>());
  const Wake never;
  HttpCall poll = client.send(get("/hang"));
  std::atomic<int> ended = 0;
  const auto ends = [&](auto action) {
    return std::thread([&ended, action] {
      try {
        action();
      } catch (const Error &error) {
        ended += error.code == Code::state;
      }
    });
  };
  std::thread threads[] = {
      ends([&] { static_cast<void>(poll.wait_unless(never)); }),
      ends([&] { static_cast<void>(client.send(get("/echo"))); }),  // there is no room
      ends([&] { static_cast<void>(client.send(get("/echo"))); }),
  };
  usleep(20'000);
  client.close();
  for (std::thread &thread : threads) thread.join();
  assert_int_equal(ended.load(), 3);
}

void threads_share_a_client_with_little_room(void **) {
  HttpOptions options;
  options.open_limit = 4;
  HttpClient client(options, std::make_shared<Logger>());
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) good += client.perform(get("/echo")).status == 200;
    });
  for (std::thread &thread : threads) thread.join();
  assert_int_equal(good.load(), 160);
}

void forked_child_leaves_the_client_alone(void **) {
  auto client = std::make_unique<HttpClient>(HttpOptions(), std::make_shared<Logger>());
  HttpCall poll = client->send(get("/hang"));
  const pid_t child = fork();
  if (child == 0) {
    bool refused = false;
    try {
      client->perform(get("/echo"));
    } catch (const Error &e) {
      refused = e.code == Code::state;
    }
    poll.cancel();
    client.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  assert_false(poll.wait_for(milliseconds{0}));
  assert_int_equal(client->perform(get("/echo")).status, 200);
}

}  // namespace

int test_calls() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(cancel_ends_a_long_poll_and_its_connection),
      cmocka_unit_test(answer_is_given_while_the_wake_is_not_set),
      cmocka_unit_test(failure_is_thrown_while_the_wake_is_not_set),
      cmocka_unit_test(answer_that_has_come_is_given_whatever_the_wake),
      cmocka_unit_test(wake_ends_a_long_poll_and_its_connection),
      cmocka_unit_test(close_ends_requests_and_waits_for_retries),
      cmocka_unit_test(cancel_all_ends_those_sent_so_far),
      cmocka_unit_test(close_ends_the_waits_of_other_threads),
      cmocka_unit_test(threads_share_a_client_with_little_room),
      cmocka_unit_test(forked_child_leaves_the_client_alone),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

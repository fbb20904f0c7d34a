#include "core/storage/pool.h"

#include <atomic>

#include "tests/storage/fixture.h"

namespace det::storage {

namespace {

void every_task_runs_once(void **) {
  for (const size_t workers : {1, 2, 8}) {
    std::atomic<int> sum{0};
    Buffer buffer;
    Pool pool(workers);
    for (int i = 1; i <= 1000; ++i) pool.submit([&sum, i](Buffer &) { sum += i; }, buffer);
    pool.wait(buffer);
    assert_int_equal(sum, 500500);
  }
}

void tasks_may_submit_tasks(void **) {
  std::atomic<int> count{0};
  Buffer buffer;
  Pool pool(4);
  for (int i = 0; i < 20; ++i)
    pool.submit(
        [&](Buffer &own) {
          for (int k = 0; k < 50; ++k) pool.submit([&](Buffer &) { ++count; }, own);
        },
        buffer);
  pool.wait(buffer);
  assert_int_equal(count, 1000);
}

void first_failure_is_thrown_and_the_rest_dropped(void **) {
  std::atomic<int> ran{0};
  Buffer buffer;
  Pool pool(1);
  pool.submit([](Buffer &) { throw Error(Code::full, "no room"); }, buffer);
  for (int i = 0; i < 100; ++i) pool.submit([&](Buffer &) { ++ran; }, buffer);
  assert_throws(Code::full, "no room", [&] { pool.wait(buffer); });
  assert_int_equal(ran, 0);
  pool.submit([&](Buffer &) { ++ran; }, buffer);
  assert_throws(Code::full, "no room", [&] { pool.wait(buffer); });
  assert_int_equal(ran, 0);
}

// Two tasks for two threads: that of the other one ends only once the waiting one has ticked.
void wait_ticking(const std::function<void()> &tick) {
  std::atomic<bool> inside{false}, ticked{false};
  Buffer buffer;
  Pool pool(2);
  for (int i = 0; i < 2; ++i)
    pool.submit(
        [&, caller = std::this_thread::get_id()](Buffer &) {
          if (std::this_thread::get_id() == caller) return inside.wait(false);
          inside = true;
          inside.notify_all();
          ticked.wait(false);
        },
        buffer);
  pool.wait(buffer, std::chrono::milliseconds(1), [&] {
    ticked = true;
    ticked.notify_all();
    tick();
  });
}

void the_waiting_thread_ticks_and_may_stop_the_rest(void **) {
  int ticks = 0;
  wait_ticking([&] { ++ticks; });
  assert_true(ticks > 0);
  assert_throws(Code::callback, "enough",
                [&] { wait_ticking([] { throw Error(Code::callback, "enough"); }); });
}

void pool_that_is_not_waited_for_ends(void **) {
  std::atomic<int> ran{0};
  {
    Buffer buffer;
    Pool pool(3);
    for (int i = 0; i < 100; ++i) pool.submit([&](Buffer &) { ++ran; }, buffer);
  }
  assert_in_range(ran, 0, 100);
}

}  // namespace

}  // namespace det::storage

int test_pool() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_task_runs_once),
      cmocka_unit_test(tasks_may_submit_tasks),
      cmocka_unit_test(first_failure_is_thrown_and_the_rest_dropped),
      cmocka_unit_test(the_waiting_thread_ticks_and_may_stop_the_rest),
      cmocka_unit_test(pool_that_is_not_waited_for_ends),
  };
  return cmocka_run_group_tests_name("storage pool", tests, nullptr, nullptr);
}

#include <thread>

#include "core/engine/runs/signal_watch.h"
#include "core/journal/run_directory.h"
#include "tests/cmocka.h"
#include "tests/engine/home.h"

namespace det::test {
namespace {

void ask_to_stop(const Home &home, const engine::RunBackend &run) {
  engine::Database store = home.look();
  engine::Transaction transaction(store);
  engine::record_signal(store, run.info().trial_id, run.info().run_id, "pause");
  transaction.commit();
}

void wake_it(const Home &home, const engine::RunBackend &run) {
  journal::wake_ranks(home.store(), run.info().trial_id, run.info().run_id);
}

// What wait_preemption() answers, while `meanwhile` happens.
template <class Meanwhile>
bool wait_while(engine::RunBackend &run, const Wake &wake, const Meanwhile &meanwhile) {
  bool answer = false;
  std::thread waiter([&] { answer = run.preemption().wait(wake); });
  meanwhile();
  waiter.join();
  return answer;
}

void a_signal_given_before_is_seen_at_once(void **) {
  const Home home;
  const auto run = home.start();
  ask_to_stop(home, *run);
  const Wake wake;
  assert_true(run->preemption().wait(wake));
}

void a_signal_wakes_the_run_that_waits(void **) {
  const Home home;
  const auto run = home.start();
  const Wake wake;
  assert_true(wait_while(*run, wake, [&] {
    ask_to_stop(home, *run);
    wake_it(home, *run);
  }));
}

void the_end_of_the_program_wakes_it_too(void **) {
  const Home home;
  const auto run = home.start();
  const Wake wake;
  assert_false(wait_while(*run, wake, [&] { wake.set(); }));
}

void a_stray_byte_is_no_signal(void **) {
  const Home home;
  const auto run = home.start();
  const Wake wake;
  assert_false(wait_while(*run, wake, [&] {
    wake_it(home, *run);
    wake.set();
  }));
}

void the_signal_of_another_run_is_not_ours(void **) {
  const Home home;
  const auto first = home.start();
  const auto second = home.start();
  ask_to_stop(home, *first);
  const Wake wake;
  wake.set();
  assert_false(second->preemption().wait(wake));
}

void without_its_fifo_a_run_still_learns_of_a_signal(void **) {
  const Home home;
  engine::RunRequest asked = home.request();
  asked.options.recheck = std::chrono::milliseconds(5);
  const auto run = engine::start_live_run(asked);
  std::filesystem::remove(journal::signal_file(run->run_directory()));
  const Wake wake;
  assert_true(wait_while(*run, wake, [&] {
    wake_it(home, *run);  // goes nowhere
    ask_to_stop(home, *run);
  }));
}

void a_signal_of_the_process_itself_counts(void **) {
  const Home home;
  const auto run = home.start();
  const Wake wake;
  assert_true(wait_while(*run, wake, [&] { run->preemption().note("SIGTERM"); }));
  assert_string_equal(home.text("SELECT reason FROM signals").c_str(), "SIGTERM");
}

void the_first_reason_stays(void **) {
  const Home home;
  const auto run = home.start();
  ask_to_stop(home, *run);
  run->preemption().note("SIGTERM");
  assert_string_equal(home.text("SELECT reason FROM signals").c_str(), "pause");
}

}  // namespace
}  // namespace det::test

int test_signal_watch() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_signal_given_before_is_seen_at_once),
      cmocka_unit_test(a_signal_wakes_the_run_that_waits),
      cmocka_unit_test(the_end_of_the_program_wakes_it_too),
      cmocka_unit_test(a_stray_byte_is_no_signal),
      cmocka_unit_test(the_signal_of_another_run_is_not_ours),
      cmocka_unit_test(without_its_fifo_a_run_still_learns_of_a_signal),
      cmocka_unit_test(a_signal_of_the_process_itself_counts),
      cmocka_unit_test(the_first_reason_stays),
  };
  return cmocka_run_group_tests_name("signal_watch", tests, nullptr, nullptr);
}

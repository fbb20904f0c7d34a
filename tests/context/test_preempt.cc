#include "core/context/preempt.h"

#include <string>

#include "tests/cmocka.h"
#include "tests/context/fakes.h"

namespace {

using namespace det;
using test::FakeCommunicator;
using test::FakeMaster;

struct Job {
  Job(int rank, PreemptMode mode)
      : communicator(rank, 2), preempt(gate, communicator, master, logger, mode, {}) {}

  // The signal arrives on the watcher's thread.
  void raise() {
    master.signal.set();
    while (true) {
      try {
        preempt.acknowledge();
        return;
      } catch (const Error &e) {
        if (e.code != Code::state) throw;
        std::this_thread::yield();
      }
    }
  }

  Gate gate;
  Logger logger{LogLevel::error};
  FakeCommunicator communicator;
  FakeMaster master;
  PreemptContext preempt;
};

void the_chief_shares_its_answer(void **) {
  Job job(0, PreemptMode::workers_ask_chief);
  assert_false(job.preempt.should_preempt(true));
  assert_int_equal(job.communicator.broadcasts, 1);
  job.raise();
  assert_true(job.preempt.should_preempt(true));
  assert_true(job.preempt.should_preempt(true));
  assert_int_equal(job.communicator.broadcasts, 3);
  assert_int_equal(job.master.acknowledgements, 1);
}

void a_worker_takes_the_answer_of_the_chief(void **) {
  Job job(1, PreemptMode::workers_ask_chief);
  job.communicator.from_chief = {Message("0"), Message("1")};
  assert_false(job.preempt.should_preempt(true));
  assert_true(job.preempt.should_preempt(true));
  assert_int_equal(job.master.acknowledgements, 0);
}

void chief_only_refuses_a_worker_and_does_not_communicate(void **) {
  Job worker(1, PreemptMode::chief_only);
  try {
    worker.preempt.should_preempt(true);
    fail_msg("a worker was answered");
  } catch (const Error &e) {
    assert_int_equal(static_cast<int>(e.code), static_cast<int>(Code::state));
    assert_non_null(strstr(e.what(), "called from non-chief"));
  }
  Job chief(0, PreemptMode::chief_only);
  assert_false(chief.preempt.should_preempt(true));
  assert_int_equal(chief.communicator.broadcasts, 0);
}

void workers_ask_master_for_themselves(void **) {
  Job job(1, PreemptMode::workers_ask_master);
  assert_false(job.preempt.should_preempt(true));
  job.raise();
  assert_true(job.preempt.should_preempt(true));
  assert_int_equal(job.communicator.broadcasts, 0);
  assert_int_equal(job.master.acknowledgements, 1);
}

void a_failed_acknowledgement_is_told_and_tried_again(void **) {
  Job job(0, PreemptMode::chief_only);
  assert_true(job.preempt.request());
  job.master.failing = true;
  for (int i = 0; i < 2; ++i) {
    try {
      job.preempt.should_preempt(true);
      fail_msg("the failure was not told");
    } catch (const Error &e) {
      assert_int_equal(static_cast<int>(e.code), static_cast<int>(Code::busy));
    }
  }
  job.master.failing = false;
  assert_true(job.preempt.should_preempt(true));
  assert_int_equal(job.master.acknowledgements, 1);
  assert_string_equal(job.master.noted.c_str(), "requested by the program");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_chief_shares_its_answer),
      cmocka_unit_test(a_worker_takes_the_answer_of_the_chief),
      cmocka_unit_test(chief_only_refuses_a_worker_and_does_not_communicate),
      cmocka_unit_test(workers_ask_master_for_themselves),
      cmocka_unit_test(a_failed_acknowledgement_is_told_and_tried_again),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

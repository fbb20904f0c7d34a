#include "core/context/preempt.h"

#include <string>

#include "tests/comm/ranks.h"
#include "tests/context/fakes.h"

namespace {

using namespace det;
using namespace det::context;
using test::assert_no_failure;
using test::failure_of;
using test::run_ranks;

// One rank.
struct PreemptingRank {
  PreemptingRank(comm::Communicator &real, PreemptMode mode, const char *far_away = "")
      : communicator(real),
        master(far_away),
        preempt(lifetime, communicator, master, regions, logger, mode,
                std::make_unique<SignalHooks>()) {}

  // The signal arrives on the watcher's thread.
  void raise() {
    master.signal.set();
    while (failure_of([&] { preempt.acknowledge(); }) == Code::state) std::this_thread::yield();
  }

  Lifetime lifetime;
  Logger logger{LogLevel::warning, [this](LogLevel, const std::string &line) { logged += line; }};
  std::string logged;
  test::CountingCommunicator communicator;
  test::FakeMaster master;
  profiler::Regions regions;
  PreemptContext preempt;
};

void workers_take_the_answer_of_their_chief(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    PreemptingRank job(real, PreemptMode::workers_ask_chief);
    REQUIRE(!job.preempt.should_preempt(true));
    if (real.is_chief()) job.raise();
    REQUIRE(job.preempt.should_preempt(true));
    REQUIRE(job.preempt.should_preempt(false));
    REQUIRE(job.communicator.broadcasts == 3);
    REQUIRE(job.communicator.others == 0);
    if (real.is_chief()) REQUIRE(job.master.acknowledgements == 1);
    else REQUIRE(job.master.calls == 0);
  }));
}

void an_error_of_the_chief_is_one_on_every_rank(void **) {
  assert_no_failure(run_ranks(1, 3, [](comm::Communicator &real) {
    PreemptingRank job(real, PreemptMode::workers_ask_chief);
    job.preempt.request();
    job.master.failing = true;
    const std::string fragment = real.is_chief() ? "busy" : "rank 0: the master is busy";
    for (int i = 0; i < 2; ++i)
      REQUIRE(failure_of([&] { job.preempt.should_preempt(true); }, fragment) == Code::busy);
    job.master.failing = false;
    REQUIRE(job.preempt.should_preempt(true));
    if (real.is_chief()) REQUIRE(job.master.acknowledgements == 1);
  }));
}

void without_acknowledgement_the_master_is_not_told(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    PreemptingRank job(real, PreemptMode::workers_ask_chief);
    if (real.is_chief()) job.preempt.request();
    REQUIRE(job.preempt.should_preempt(false));
    REQUIRE(job.master.acknowledgements == 0);
    job.preempt.acknowledge();
    REQUIRE(job.master.acknowledgements == 1);
  }));
}

void a_request_that_cannot_reach_the_chief_is_refused(void **) {
  assert_no_failure(run_ranks(2, 1, [](comm::Communicator &real) {
    PreemptingRank job(real, PreemptMode::workers_ask_chief,
                       real.is_chief() ? "" : "no shared file system");
    if (!real.is_chief()) REQUIRE(job.preempt.request() == PreemptContext::Request::out_of_reach);
    REQUIRE(!job.preempt.should_preempt(true));
    if (real.is_chief()) REQUIRE(job.preempt.request() == PreemptContext::Request::noted);
    REQUIRE(job.preempt.should_preempt(true));
  }));
}

void a_request_on_a_worker_goes_to_the_master(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    PreemptingRank job(real, PreemptMode::workers_ask_chief);
    if (!real.is_chief()) REQUIRE(job.preempt.request() == PreemptContext::Request::noted);
    for (int i = 0; i < 2; ++i) REQUIRE(!job.preempt.should_preempt(true));
    if (real.is_chief()) return;
    REQUIRE(job.master.noted == "requested by the program");
    REQUIRE(job.master.calls == 1);
  }));
}

void a_worker_that_cannot_tell_of_its_request_goes_on(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    PreemptingRank job(real, PreemptMode::workers_ask_chief);
    job.master.failing = true;
    if (!real.is_chief()) job.preempt.request();
    for (int i = 0; i < 2; ++i) REQUIRE(!job.preempt.should_preempt(true));
    REQUIRE(job.logged == (real.is_chief() ? "" : "telling rank 0 to stop: the master is busy"));
  }));
}

void chief_only_preemption_refuses_a_worker_and_does_not_communicate(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    PreemptingRank job(real, PreemptMode::chief_only);
    if (real.is_chief()) {
      REQUIRE(!job.preempt.should_preempt(true));
      job.raise();
      REQUIRE(job.preempt.should_preempt(true));
    } else {
      REQUIRE(failure_of([&] { job.preempt.should_preempt(true); }, "called from non-chief") ==
              Code::state);
    }
    REQUIRE(job.communicator.broadcasts + job.communicator.others == 0);
  }));
}

void workers_ask_master_for_themselves(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    PreemptingRank job(real, PreemptMode::workers_ask_master);
    REQUIRE(!job.preempt.should_preempt(true));
    job.raise();
    REQUIRE(job.preempt.should_preempt(true));
    REQUIRE(job.communicator.broadcasts + job.communicator.others == 0);
    REQUIRE(job.master.acknowledgements == 1);
  }));
}

void a_failed_acknowledgement_is_told_and_tried_again(void **) {
  const auto single = comm::make_single_communicator();
  PreemptingRank job(*single, PreemptMode::workers_ask_chief);
  assert_equal(job.preempt.request(), PreemptContext::Request::noted);
  job.master.failing = true;
  for (int i = 0; i < 2; ++i)
    assert_equal(failure_of([&] { job.preempt.should_preempt(true); }), Code::busy);
  job.master.failing = false;
  assert_true(job.preempt.should_preempt(true));
  assert_int_equal(job.master.acknowledgements, 1);
  assert_string_equal(job.master.noted.c_str(), "requested by the program");
  assert_int_equal(job.communicator.broadcasts, 0);
}

}  // namespace

int test_preempt() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(workers_take_the_answer_of_their_chief),
      cmocka_unit_test(an_error_of_the_chief_is_one_on_every_rank),
      cmocka_unit_test(without_acknowledgement_the_master_is_not_told),
      cmocka_unit_test(a_request_that_cannot_reach_the_chief_is_refused),
      cmocka_unit_test(a_request_on_a_worker_goes_to_the_master),
      cmocka_unit_test(a_worker_that_cannot_tell_of_its_request_goes_on),
      cmocka_unit_test(chief_only_preemption_refuses_a_worker_and_does_not_communicate),
      cmocka_unit_test(workers_ask_master_for_themselves),
      cmocka_unit_test(a_failed_acknowledgement_is_told_and_tried_again),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// The search over several ranks. Each has a master of its own, so that it shows who asks.
#include "core/context/searcher.h"

#include "core/context/train.h"
#include "tests/comm/ranks.h"
#include "tests/context/fakes.h"

namespace {

using namespace det;
using namespace det::context;
using test::assert_no_failure;
using test::failure_of;
using test::run_ranks;

struct SearchingRank {
  explicit SearchingRank(comm::Communicator &real) : communicator(real) {}

  Lifetime lifetime;
  Logger logger{LogLevel::error};
  test::CountingCommunicator communicator;
  test::FakeMaster master;
  tensorboard::TensorboardFiles files{tensorboard::TensorboardMode::automatic, {}};
  profiler::Regions regions;
  TensorboardContext tensorboard{lifetime, files, regions};
  TrainContext train{lifetime, master, nullptr, nullptr, tensorboard, regions, logger};
  SearcherContext searcher{lifetime, communicator, master, train};
};

void one_broadcast_for_each_operation_and_one_for_the_end(void **) {
  assert_no_failure(run_ranks(1, 3, [](comm::Communicator &real) {
    SearchingRank job(real);
    job.master.lengths = {0, 10, 15};
    for (const uint64_t length : {0, 10, 15}) {
      SearcherOperation *operation = job.searcher.next();
      REQUIRE(operation != nullptr);
      REQUIRE(operation->length() == length);
      if (real.is_chief()) operation->report_completed(0.5);
    }
    REQUIRE(job.searcher.next() == nullptr);
    REQUIRE(job.communicator.broadcasts == 4);
    REQUIRE(job.communicator.others == 0);
    if (real.is_chief()) REQUIRE(job.master.out_of_operations == 1);
    else REQUIRE(job.master.calls == 0);
  }));
}

void an_operation_that_comes_while_the_end_is_acknowledged_is_handed_out(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    SearchingRank job(real);
    SearcherOperation *operation = job.searcher.next();
    if (real.is_chief()) operation->report_completed(0.5);
    job.master.late = {4};
    operation = job.searcher.next();
    REQUIRE(operation != nullptr);
    REQUIRE(operation->length() == 4);
    if (real.is_chief()) operation->report_completed(0.25);
    REQUIRE(job.searcher.next() == nullptr);
    REQUIRE(job.master.out_of_operations == (real.is_chief() ? 1 : 0));
  }));
}

void who_asks_whether_all_is_done_does_not_wait_for_the_master(void **) {
  struct AskingMaster : test::FakeMaster {
    void complete(uint64_t length, const Json &metric) override {
      was_done = searcher->has_completed();
      FakeMaster::complete(length, metric);
    }
    SearcherContext *searcher = nullptr;
    bool was_done = true;
  };
  assert_no_failure(run_ranks(1, 1, [](comm::Communicator &real) {
    SearchingRank job(real);
    AskingMaster master;
    SearcherContext searcher(job.lifetime, job.communicator, master, job.train);
    master.searcher = &searcher;
    REQUIRE(!searcher.has_completed());
    SearcherOperation *const operation = searcher.next();
    REQUIRE(!searcher.has_completed());
    operation->report_completed(0.5);
    REQUIRE(!master.was_done);
    REQUIRE(searcher.has_completed());
  }));
}

void without_automatic_acknowledgement_the_chief_gives_it(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    SearchingRank job(real);
    job.searcher.configure(SearcherMode::workers_ask_chief, false);
    SearcherOperation *operation = job.searcher.next();
    if (real.is_chief()) operation->report_completed(0.5);
    REQUIRE(failure_of([&] { job.searcher.acknowledge_out_of_operations(); }) == Code::state);
    REQUIRE(job.searcher.next() == nullptr);
    REQUIRE(job.master.out_of_operations == 0);
    job.searcher.acknowledge_out_of_operations();
    REQUIRE(job.master.out_of_operations == (real.is_chief() ? 1 : 0));
  }));
}

void an_operation_left_open_is_an_error_on_every_rank(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    SearchingRank job(real);
    job.searcher.next();
    REQUIRE(failure_of([&] { job.searcher.next(); }, "must call op.report_completed") ==
            Code::state);
  }));
}

void a_failing_master_is_an_error_on_every_rank(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    SearchingRank job(real);
    job.master.failing = true;
    REQUIRE(failure_of([&] { job.searcher.next(); }, "the master is busy") == Code::busy);
    job.master.failing = false;
    REQUIRE(job.searcher.next() != nullptr);
  }));
}

void a_failing_acknowledgement_is_an_error_on_every_rank(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    SearchingRank job(real);
    SearcherOperation *operation = job.searcher.next();
    if (real.is_chief()) operation->report_completed(0.5);
    job.master.failing = true;
    REQUIRE(failure_of([&] { job.searcher.next(); }) == Code::busy);
    job.master.failing = false;
    REQUIRE(job.searcher.next() == nullptr);
  }));
}

void a_worker_reports_nothing_about_an_operation(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    SearchingRank job(real);
    SearcherOperation *operation = job.searcher.next();
    if (real.is_chief()) {
      operation->report_completed(0.5);
      REQUIRE(failure_of([&] { operation->report_completed(0.5); }) == Code::state);
      REQUIRE(failure_of([&] { operation->report_progress(0.5); }) == Code::state);
      return;
    }
    REQUIRE(failure_of([&] { operation->report_progress(0.5); }, "op.report_progress") ==
            Code::state);
    REQUIRE(failure_of([&] { operation->report_completed(0.5); }, "op.report_completed") ==
            Code::state);
    REQUIRE(failure_of([&] { operation->report_completed(0.5); }, "chief") == Code::state);
  }));
}

void chief_only_refuses_a_worker_and_does_not_communicate(void **) {
  assert_no_failure(run_ranks(1, 2, [](comm::Communicator &real) {
    SearchingRank job(real);
    job.searcher.configure(SearcherMode::chief_only, true);
    if (real.is_chief()) {
      job.searcher.next()->report_completed(0.5);
      REQUIRE(job.searcher.next() == nullptr);
    } else {
      REQUIRE(failure_of([&] { job.searcher.next(); }, "searcher.operations") == Code::state);
      REQUIRE(failure_of([&] { job.searcher.next(); }, "chief") == Code::state);
    }
    REQUIRE(job.communicator.broadcasts + job.communicator.others == 0);
  }));
}

}  // namespace

int test_searcher() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(one_broadcast_for_each_operation_and_one_for_the_end),
      cmocka_unit_test(an_operation_that_comes_while_the_end_is_acknowledged_is_handed_out),
      cmocka_unit_test(who_asks_whether_all_is_done_does_not_wait_for_the_master),
      cmocka_unit_test(without_automatic_acknowledgement_the_chief_gives_it),
      cmocka_unit_test(an_operation_left_open_is_an_error_on_every_rank),
      cmocka_unit_test(a_failing_master_is_an_error_on_every_rank),
      cmocka_unit_test(a_failing_acknowledgement_is_an_error_on_every_rank),
      cmocka_unit_test(a_worker_reports_nothing_about_an_operation),
      cmocka_unit_test(chief_only_refuses_a_worker_and_does_not_communicate),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

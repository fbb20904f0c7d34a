// From start to end: ownership, moves, and what is left behind.
#include <csignal>
#include <thread>
#include <type_traits>

#include "tests/cpp/fixture.h"

namespace {

using namespace cpp_test;

template <class Handle>
constexpr bool is_moved_only =
    std::is_nothrow_move_constructible_v<Handle> &&std::is_nothrow_move_assignable_v<Handle> &&
    !std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle> &&
    std::is_nothrow_default_constructible_v<Handle>;
static_assert(is_moved_only<det::Core>);
static_assert(is_moved_only<det::Client>);
static_assert(is_moved_only<det::Distributed>);
static_assert(is_moved_only<det::LogQueue>);
static_assert(is_moved_only<det::Messages>);
static_assert(is_moved_only<det::MetricSeries>);
static_assert(is_moved_only<det::CheckpointReader>);
static_assert(is_moved_only<det::CheckpointWriter>);

template <class Core, class = void>
constexpr bool gives_views = false;
template <class Core>
constexpr bool gives_views<Core, std::void_t<decltype(std::declval<Core>().train())>> = true;
static_assert(gives_views<det::Core &> && gives_views<const det::Core &>);
static_assert(!gives_views<det::Core>, "its view would be left without a core");

static_assert(!std::is_convertible_v<det_core *, det::Core>, "ownership is taken explicitly");
static_assert(!std::is_assignable_v<det::DistributedView &, det::DistributedView>);

std::string how_it_ended(const Place &place) { return place.client().get_trial(1).text(); }

void a_run_ends_as_it_was_closed(void **) {
  const Place place;
  det::Core core = det::Core::init(place.options());
  assert_equal(core.info().trial_run_id(), 1);
  core.close();
  expect_part(how_it_ended(place), R"("exit":"ok")");
  expect_error(det::Code::state, [&] { core.train().set_status("late"); });
}

void a_scope_that_is_left_without_close_is_a_failure(void **) {
  const Place place;
  { const det::Core core = det::Core::init(place.options()); }
  expect_part(how_it_ended(place), R"("exit":"error")");
}

void hyperparameters_that_do_not_work_are_told(void **) {
  const Place place;
  const det::Core core = det::Core::init(place.options());
  core.close(det::Outcome::invalid_hp);
  expect_part(how_it_ended(place), R"("exit":"invalid_hp")");
}

void views_outlive_a_move_of_the_core(void **) {
  Run run;
  const det::Train train = run.core.train();
  const det::Info info = run.core.info();
  det::Core moved = std::move(run.core);
  run.core = det::Core();
  train.report_training_metrics(1, {{"loss", 0.5}});
  assert_equal(info.trial_id(), 1);
  run.core = std::move(moved);
  train.report_training_metrics(2, {{"loss", 0.25}});
  run.core.close();
}

void a_core_that_is_replaced_is_closed(void **) {
  const Place place;
  det::Core core = det::Core::init(place.options());
  core = det::Core::init(place.options());
  assert_equal(core.info().trial_id(), 2);
  expect_part(how_it_ended(place), R"("exit":"error")");
  core.close();
}

void moved_from_handles_refuse_every_call(void **) {
  det::Core core;
  assert_true(!core);
  assert_equal(core.info().trial_id(), 0);
  assert_equal(core.info().latest_checkpoint(), nullptr);
  assert_equal(core.info().json().text(), "{}");
  assert_equal(core.distributed().size(), 1);
  using det::Code;
  expect_error(Code::invalid, [&] { core.close(); });
  expect_error(Code::invalid, [&] { core.train().report_training_metrics(1, {{"loss", 1}}); });
  expect_error(Code::invalid, [&] { static_cast<void>(core.preempt().should_preempt()); });
  expect_error(Code::invalid, [&] { static_cast<void>(core.searcher().next()); });
  expect_error(Code::invalid, [&] { static_cast<void>(core.checkpoint().write()); });
  expect_error(Code::invalid, [&] { core.profiler().off(); });
  expect_error(Code::invalid, [&] { core.distributed().allgather("x"); });
  assert_equal(core.preempt().request(), Code::invalid);
  const det::CheckpointWriter store;
  assert_equal(store.path(), "");
  assert_equal(store.id(), "");
  expect_error(Code::invalid, [&] { store.commit(); });
  assert_equal(det::CheckpointReader().path(), "");
  assert_equal(det::Messages().size(), 0);
  const det::MetricSeries no_series;
  assert_equal(no_series.values().size(), 0);
  assert_equal(det::LogQueue().fd(), -1);
  expect_error(Code::invalid, [&] { det::LogQueue().take(); });
  expect_error(Code::invalid, [&] { static_cast<void>(det::Client().get_trial(1)); });
}

void options_reach_the_library(void **) {
  const Place place;
  det::CoreOptions options = place.options();
  options.external_id = "mine";
  options.name = "named";
  options.hparams = R"({"rate": 0.5})";
  options.preempt_signals = {SIGUSR1};
  {
    const det::Core core = det::Core::init(options);
    assert_equal(core.info().hparams().get<double>("rate"), 0.5);
    assert_false(core.preempt().should_preempt());
    raise(SIGUSR1);
    while (!core.preempt().should_preempt()) std::this_thread::yield();
    core.close();
  }
  const det::Core again = det::Core::init(options);
  assert_equal(again.info().trial_id(), 1);
  assert_equal(again.info().trial_run_id(), 2);
  expect_part(place.client().list_experiments().text(), R"("name":"named")");
  again.close();
}

void options_as_json_do_the_same(void **) {
  const Place place;
  const det::Core core = det::Core::init_json(R"({"master": ")" + place.home.path().string() +
                                              R"(", "hparams_json": {"rate": 2}})");
  assert_equal(core.info().hparams().get<int>("rate"), 2);
  core.close();
  expect_part(expect_error(det::Code::invalid,
                           [] { static_cast<void>(det::Core::init_json("{\"x\": 1}")); }),
              "x");
}

void what_cannot_start_says_why(void **) {
  const Place place;
  det::CoreOptions options = place.options();
  options.hparams = "[1]";
  expect_part(
      expect_error(det::Code::invalid, [&] { static_cast<void>(det::Core::init(options)); }),
      "object");
  det::Failure failure;
  assert_true(!det::Core::init(options, failure));
  assert_equal(failure.code(), det::Code::invalid);
}

void the_core_owns_its_ranks(void **) {
  const Place place;
  det::Core core = det::Core::init(place.options(), det::Distributed::create({}));
  const det::Core moved = std::move(core);
  assert_equal(moved.distributed().size(), 1);
  moved.close();
}

void preemption_is_asked_for_and_acknowledged(void **) {
  Run run;
  const det::Preempt preempt = run.core.preempt();
  expect_error(det::Code::state, [&] { preempt.acknowledge(); });
  assert_equal(preempt.request(), det::Code::ok);
  assert_true(preempt.should_preempt_no_ack());
  preempt.acknowledge();
  run.core.close();
}

void the_profiler_starts_and_stops(void **) {
  Run run;
  const det::Profiler profiler = run.core.profiler();
  det::Failure failure;
  profiler.on(std::chrono::milliseconds(1), 1, failure);
  assert_equal(failure.code(), det::Code::invalid);
  profiler.on(std::chrono::milliseconds(100), 2, failure);
  assert_true(!failure);
  profiler.off();
  run.core.close();
}

}  // namespace

int test_core() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_run_ends_as_it_was_closed),
      cmocka_unit_test(a_scope_that_is_left_without_close_is_a_failure),
      cmocka_unit_test(hyperparameters_that_do_not_work_are_told),
      cmocka_unit_test(views_outlive_a_move_of_the_core),
      cmocka_unit_test(a_core_that_is_replaced_is_closed),
      cmocka_unit_test(moved_from_handles_refuse_every_call),
      cmocka_unit_test(options_reach_the_library),
      cmocka_unit_test(options_as_json_do_the_same),
      cmocka_unit_test(what_cannot_start_says_why),
      cmocka_unit_test(the_core_owns_its_ranks),
      cmocka_unit_test(preemption_is_asked_for_and_acknowledged),
      cmocka_unit_test(the_profiler_starts_and_stops),
  };
  return cmocka_run_group_tests_name("core", tests, nullptr, nullptr);
}

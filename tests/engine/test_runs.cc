// A trial's runs: from their start to what their end makes of it.
#include <thread>

#include "tests/engine/suite.h"

namespace det::test {
namespace {

void a_run_that_ends_well_completes_its_trial(const World &world) {
  auto run = world.start();
  assert_int_equal(run->info().run_id, 1);
  assert_int_equal(run->operations().current().length, 10);
  run->operations().complete(10, {{"loss", 0.5}});
  assert_true(run->operations().current().completed);
  run->end(engine::RunExit::ok);
  engine::Engine engine = world.engine();
  const Json trial = engine.trials().get(run->info().trial_id);
  assert_equal(trial.at("state").get<std::string>(), "COMPLETED");
  assert_equal(trial.at("runs")[0].at("exit").get<std::string>(), "ok");
  assert_true(trial.at("operations")[0].at("completed").get<bool>());
}

void an_operation_is_completed_once_and_as_it_was_asked_for(const World &world) {
  auto run = world.start();
  expect_error(Code::state, [&] { run->operations().complete(11, {}); });
  expect_error(Code::state, [&] { run->operations().acknowledge_none_left(); });
  run->operations().complete(10, {});
  expect_error(Code::state, [&] { run->operations().complete(10, {}); });
  run->operations().acknowledge_none_left();
}

void reports_that_come_again_are_stored_once(const World &world) {
  auto run = world.start();
  deliver(*run, {validation(1, 1, 0.9), validation(2, 2, 0.8)});
  deliver(*run, {validation(2, 2, 0.8), validation(3, 3, 0.7)});
  engine::Engine engine = world.engine();
  const Json list = parse_json(engine.metrics().text(run->info().trial_id, {}, {}), "metrics");
  assert_int_equal(list.at("metrics").size(), 3);
  assert_int_equal(engine.trials().delivered_journals(run->info().trial_id)[0].sequence, 3);
}

void a_run_takes_the_place_of_what_earlier_ones_reported_from_there_on(const World &world) {
  auto first = world.start();
  deliver(*first, {validation(1, 1, 0.1), validation(2, 2, 0.2), validation(3, 3, 0.3)});
  first->end(engine::RunExit::error);
  auto second = world.resume(first->info().trial_id);
  assert_int_equal(second->info().run_id, 2);
  deliver(*second, {validation(1, 2, 0.5)});
  engine::Engine engine = world.engine();
  const Json list = parse_json(engine.metrics().text(first->info().trial_id, {}, {}), "metrics");
  assert_int_equal(list.at("metrics").size(), 2);
  assert_int_equal(list.at("metrics")[1].at("trial_run_id").get<int64_t>(), 2);
}

void a_trial_has_one_run_at_a_time(const World &world) {
  auto run = world.start();
  expect_error(Code::state, [&] { world.resume(run->info().trial_id); });
  expect_error(Code::not_found, [&] { world.resume(99); });
  run->end(engine::RunExit::error);
  assert_int_equal(world.resume(run->info().trial_id)->info().run_id, 2);
}

// It may ask a bucket that does not answer.
void others_write_while_a_start_looks_at_its_storage(const World &world) {
  engine::RunRequest request = world.request();
  int64_t made = 0;
  request.accept = [&](const Json &) {
    engine::StoreOptions options = world.options();
    options.busy_timeout = std::chrono::milliseconds(100);
    engine::Engine(world.directory(), false, options)
        .experiments()
        .create({{"name", "led"}}, "", {});
    ++made;
  };
  const int64_t trial_id = engine::start_live_run(request)->info().trial_id;
  request.trial_id = trial_id;
  engine::start_live_run(request);
  assert_int_equal(made, 2);
  request.accept = [](const Json &config) {
    assert_equal(config.at("searcher").at("metric").get<std::string>(), "loss");
    throw Error(Code::access, "the storage is not usable");
  };
  request.config = Json();
  expect_error(Code::access, [&] { engine::start_live_run(request); });
  assert_int_equal(world.engine().trials().get(trial_id).at("runs").size(), 2);
}

void a_run_that_was_not_ended_has_died(const World &world) {
  const int64_t trial = world.start()->info().trial_id;
  engine::Engine engine = world.engine();
  const Json found = engine.trials().get(trial);
  assert_equal(found.at("runs")[0].at("exit").get<std::string>(), "died");
  assert_equal(found.at("state").get<std::string>(), "ACTIVE");
}

void who_pauses_a_trial_wakes_its_run(const World &world) {
  auto run = world.start();
  const int64_t trial = run->info().trial_id;
  expect_error(Code::state, [&] { run->preemption().acknowledge(); });
  engine::Engine engine = world.engine();
  bool asked = false;
  std::thread waiter([&] { asked = run->preemption().wait(Wake()); });
  const Json answer = engine.control().act(engine::Target::trial, trial, engine::Action::pause);
  waiter.join();
  assert_true(asked);
  assert_int_equal(answer.at("signalled").get<int64_t>(), 1);
  run->preemption().acknowledge();
  run->end(engine::RunExit::ok);
  const Json found = engine.trials().get(trial);
  assert_equal(found.at("state").get<std::string>(), "PAUSED");
  assert_equal(found.at("runs")[0].at("exit").get<std::string>(), "preempted");
}

void what_a_trial_says_first_stays(const World &world) {
  auto run = world.start();
  assert_true(run->report_early_exit("INVALID_HP"));
  assert_false(run->report_early_exit("USER_REQUESTED_STOP"));
  run->set_metadata({{"notes", "first"}});
  run->set_metadata({{"notes", "second"}});
  engine::Engine engine = world.engine();
  const Json trial = engine.trials().get(run->info().trial_id);
  assert_equal(trial.at("early_exit").get<std::string>(), "INVALID_HP");
  assert_equal(trial.at("metadata").at("notes").get<std::string>(), "second");
}

}  // namespace
}  // namespace det::test

int test_runs() {
  using namespace det::test;
  return run_over_stores(
      "runs",
      {behaviour(a_run_that_ends_well_completes_its_trial),
       behaviour(an_operation_is_completed_once_and_as_it_was_asked_for),
       behaviour(reports_that_come_again_are_stored_once),
       behaviour(a_run_takes_the_place_of_what_earlier_ones_reported_from_there_on),
       behaviour(a_trial_has_one_run_at_a_time),
       behaviour(others_write_while_a_start_looks_at_its_storage),
       behaviour(a_run_that_was_not_ended_has_died), behaviour(who_pauses_a_trial_wakes_its_run),
       behaviour(what_a_trial_says_first_stays)});
}

// A supervisor's records: its seat, the search, its runs.
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "core/engine/supervision/supervised_experiment.h"
#include "tests/engine/suite.h"

namespace det::test {
namespace {

using std::chrono::milliseconds;

const Json random_search{
    {"name", "search"},
    {"searcher",
     {{"name", "random"},
      {"metric", "loss"},
      {"smaller_is_better", true},
      {"max_trials", 3},
      {"max_concurrent_trials", 1},
      {"max_length", 10}}},
    {"hyperparameters", {{"x", {{"type", "double"}, {"minval", 0.0}, {"maxval", 1.0}}}}},
    {"reproducibility", {{"experiment_seed", 7}}}};

int64_t new_search(const World &world) {
  engine::Engine engine = world.engine();
  return engine.experiments().create(random_search, "text", {{"./train"}, "/", {}, false, {}});
}

std::unique_ptr<engine::SupervisedExperiment> lead(const World &world, int64_t experiment,
                                                   const Json &config = random_search) {
  auto lead = std::make_unique<engine::SupervisedExperiment>(world.directory(), experiment,
                                                             world.options());
  lead->take_up(search::make_search(config, search::SearchRules::operations), std::nullopt);
  return lead;
}

void an_experiment_has_one_supervisor(const World &world) {
  const int64_t experiment = new_search(world);
  auto first = lead(world, experiment);
  expect_error(Code::busy, [&] { lead(world, experiment); });
  first.reset();
  lead(world, experiment);
}

void decisions_outlive_the_supervisor(const World &world) {
  const int64_t experiment = new_search(world);
  auto first = lead(world, experiment);
  first->change_state(engine::state::active);
  assert_equal(first->search().begin().trials.front(), 1);
  assert_equal(first->standing(1).state, "ACTIVE");
  assert_false(first->standing(1).done);
  first.reset();
  auto second = lead(world, experiment);
  assert_true(second->search().begin().trials.empty());
  assert_equal(second->open_trials().size(), 1U);
}

// As a supervisor does that hears of it.
void hear_completion(engine::SupervisedExperiment &lead, int64_t trial) {
  pollfd news{lead.seat().wake_fd(), POLLIN, 0};
  while (!lead.news(trial).metric) poll(&news, 1, 1000);
  const engine::TrialNews said = lead.news(trial);
  lead.search().completed(trial, said.length, *said.metric);
}

// The first run of trial 1, taken up by this process.
std::unique_ptr<engine::LiveRun> take_up_run(const World &world,
                                             engine::SupervisedExperiment &led) {
  led.change_state(engine::state::active);
  led.search().begin();
  led.runs().start(led.runs().next(1), to_wire(ProcessIdentity::of(getsid(0)).to_json()));
  engine::RunRequest request = world.request();
  request.trial_id = 1;
  request.run_id = 1;
  return engine::start_live_run(request);
}

void a_run_hears_what_the_search_decides(const World &world) {
  const int64_t experiment = new_search(world);
  auto led = lead(world, experiment);
  auto run = take_up_run(world, *led);
  assert_equal(led->runs().unjudged().size(), 1U);
  assert_true(led->runs().was_taken_up(1, 1));
  std::thread search([&] { hear_completion(*led, 1); });
  run->operations().complete(10, {{"loss", 0.5}});
  search.join();
  assert_true(run->operations().current().completed);
  run->end(engine::RunExit::ok);
  assert_equal(*led->runs().exit_of(1, 1), "ok");
  const engine::RunStanding standing = led->runs().standing(1, 1);
  assert_true(standing.done && standing.closed && !standing.invalid_hp);
  const engine::Decided after = led->search().end_trial(
      1, engine::state::completed, {}, engine::JudgedRun{1, engine::RunExit::ok, false});
  assert_equal(after.trials.back(), 2);
  assert_true(led->runs().unjudged().empty());
}

// As it would be without interruptions, so that a search on one slot decides the same.
void trials_go_on_in_the_order_in_which_the_search_asked(const World &world) {
  Json config = random_search;
  config["searcher"] = {{"name", "adaptive_asha"},        {"metric", "loss"}, {"max_trials", 12},
                        {"max_concurrent_trials", 1},     {"divisor", 2},     {"max_rungs", 3},
                        {"max_length", {{"batches", 16}}}};
  engine::Engine engine = world.engine();
  const int64_t experiment =
      engine.experiments().create(config, "text", {{"./train"}, "/", {}, false, {}});
  auto led = lead(world, experiment, config);
  led->change_state(engine::state::active);
  led->search().begin();
  assert_equal(led->standing(1).turn, 1);
  led->runs().start(led->runs().next(1), to_wire(ProcessIdentity::of(getsid(0)).to_json()));
  assert_equal(led->standing(1).turn, 0);  // it was started for it, and did not end
  led->runs().end(1, 1, engine::RunExit::died);
  assert_equal(led->standing(1).turn, 0);
  led->search().completed(1, 4, 0.1);
  led->search().completed(2, 8, 0.2);
  led->search().completed(3, 4, 0.3);
  assert_equal(led->standing(1).turn, 4);  // promoted when the third was told of
  led->search().completed(4, 8, 0.1);
  assert_equal(led->standing(4).turn, 0);  // by its own validation, which its run goes on with
}

void a_run_waits_a_moment_for_the_program_that_decides_its_search(const World &world) {
  const World patient(world, [](engine::StoreOptions &options) {
    options.decision_limit = std::chrono::minutes(1);
  });
  const std::string request = "11111111-1111-4111-8111-111111111111";
  const auto train_to = [&](int length) {
    return Json{
        {"trialOperation", {{"validateAfter", {{"requestId", request}, {"length", length}}}}}};
  };
  Json config = random_search;
  config["searcher"] = {{"name", "custom"}, {"metric", "loss"}};
  engine::Engine engine = patient.engine();
  const int64_t experiment =
      engine.experiments().create(config, "text", {{"./train"}, "/", {}, false, {}});
  auto led = lead(patient, experiment, config);
  led->change_state(engine::state::active);
  led->search().begin();
  const Json create{{"createTrial", {{"requestId", request}, {"hyperparams", "{}"}}}};
  led->search().answer({1, 1, to_wire(Json::array({create, train_to(10)}))});
  auto run = take_up_run(patient, *led);
  std::thread program([&] {
    hear_completion(*led, 1);
    std::this_thread::sleep_for(milliseconds(100));  // thinking
    led->search().answer({2, 3, to_wire(Json::array({train_to(20)}))});
  });
  run->operations().complete(10, {{"loss", 0.5}});
  const engine::SearchOperation next = run->operations().current();
  program.join();
  assert_false(next.completed);
  assert_equal(next.length, 20U);
}

void a_run_does_not_wait_for_ever_for_a_supervisor_that_is_stopped(const World &world) {
  const World hasty(world,
                    [](engine::StoreOptions &options) { options.answer_limit = milliseconds(20); });
  const int64_t experiment = new_search(hasty);
  auto led = lead(hasty, experiment);
  auto run = take_up_run(hasty, *led);
  run->operations().complete(10, {{"loss", 0.5}});
  assert_true(run->operations().current().completed);
  assert_true(led->news(1).metric.has_value());  // heard when it goes on
}

void who_posts_does_not_wait_for_ever_either(const World &world) {
  const World hasty(world,
                    [](engine::StoreOptions &options) { options.answer_limit = milliseconds(20); });
  engine::Engine engine = hasty.engine();
  Json config = random_search;
  config["searcher"] = {{"name", "custom"}};
  const int64_t experiment =
      engine.experiments().create(config, "text", {{"./train"}, "/", {}, false, {}});
  expect_error(Code::unavailable, [&] { engine.searches().post(experiment, 1, Json::array()); });
  engine::SupervisedExperiment led(hasty.directory(), experiment, hasty.options());
  expect_error(Code::timeout, [&] { engine.searches().post(experiment, 1, Json::array()); });
  assert_true(led.posts().empty());
}

void what_a_run_prints_is_there_once_with_where_to_go_on(const World &world) {
  const int64_t experiment = new_search(world);
  auto led = lead(world, experiment);
  led->search().begin();
  led->runs().start(led->runs().next(1), "{}");
  led->output().add_lines(1, 1, {"one", "two"}, 8, {});
  assert_true(led->output().add_lines(1, 1, {"CUDA error"}, 19, "CUDA"));
  assert_false(led->output().add_lines(1, 1, {"CUDA error"}, 30, "CUDA"));
  assert_equal(led->runs().unjudged().at(0).log_offset, 30U);
  assert_true(led->runs().standing(1, 1).restarts_forbidden);
  engine::Engine engine = world.engine();
  assert_equal(engine.trials().logs(1, {}).at("logs").size(), 4U);
}

void a_search_that_fails_ends_its_experiment_and_says_why(const World &world) {
  const int64_t experiment = new_search(world);
  auto led = lead(world, experiment);
  led->change_state(engine::state::active);
  led->search().begin();
  const engine::Decided decided = led->search().fail("there is no way");
  assert_equal(*decided.failure, "there is no way");
  assert_equal(led->control().state, "STOPPING_ERROR");
  assert_equal(led->finish(), "ERROR");
  engine::Engine engine = world.engine();
  assert_equal(engine.experiments().describe(experiment).at("error").get<std::string>(),
               "there is no way");
}

void what_people_do_reaches_the_supervisor(const World &world) {
  const int64_t experiment = new_search(world);
  auto led = lead(world, experiment);
  led->change_state(engine::state::active);
  led->search().begin();
  const int64_t before = led->control().count;
  engine::Engine engine = world.engine();
  engine.control().act(engine::Target::experiment, experiment, engine::Action::pause);
  pollfd news{led->seat().wake_fd(), POLLIN, 0};
  assert_int_equal(poll(&news, 1, -1), 1);
  assert_true(led->control().count > before);
  assert_equal(led->control().state, "PAUSED");
  assert_equal(led->open_trials()[0].state, "PAUSED");
  expect_error(Code::state, [&] { led->change_state(engine::state::completed); });
}

}  // namespace
}  // namespace det::test

int test_supervision() {
  using namespace det::test;
  return run_over_stores(
      "lead",
      {behaviour(an_experiment_has_one_supervisor), behaviour(decisions_outlive_the_supervisor),
       behaviour(a_run_hears_what_the_search_decides),
       behaviour(trials_go_on_in_the_order_in_which_the_search_asked),
       behaviour(a_run_waits_a_moment_for_the_program_that_decides_its_search),
       behaviour(a_run_does_not_wait_for_ever_for_a_supervisor_that_is_stopped),
       behaviour(who_posts_does_not_wait_for_ever_either),
       behaviour(what_a_run_prints_is_there_once_with_where_to_go_on),
       behaviour(a_search_that_fails_ends_its_experiment_and_says_why),
       behaviour(what_people_do_reaches_the_supervisor)});
}

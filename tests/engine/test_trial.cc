// One run after the other of one trial.
#include <sys/wait.h>
#include <unistd.h>

#include <limits>

#include "core/engine/runs/lifecycle.h"
#include "tests/cmocka.h"
#include "tests/engine/home.h"

namespace det::test {
namespace {

engine::CheckpointReport checkpoint(const std::string &id, int64_t steps) {
  return {id, Json{{"steps_completed", steps}}, {{"weights", 100}, {"dir/", 0}}, Json::object()};
}

void the_end_of_a_run_decides_what_becomes_of_the_trial(void **) {
  struct Row {
    engine::RunExit how;
    std::string_view before;
    bool acknowledged, done;
    std::string_view after;
  };
  const Row table[] = {
      {engine::RunExit::ok, engine::state::active, false, true, engine::state::completed},
      {engine::RunExit::ok, engine::state::active, false, false, engine::state::completed},
      {engine::RunExit::ok, engine::state::active, true, true, engine::state::completed},
      {engine::RunExit::ok, engine::state::paused, false, true, engine::state::completed},
      {engine::RunExit::ok, engine::state::paused, false, false, engine::state::paused},
      {engine::RunExit::preempted, engine::state::paused, true, false, engine::state::paused},
      {engine::RunExit::preempted, engine::state::active, true, false, engine::state::active},
      {engine::RunExit::preempted, engine::state::canceling, true, false, engine::state::canceled},
      {engine::RunExit::ok, engine::state::canceling, false, true, engine::state::canceled},
      {engine::RunExit::error, engine::state::active, false, false, engine::state::error},
      {engine::RunExit::error, engine::state::paused, true, false, engine::state::error},
      {engine::RunExit::error, engine::state::canceling, true, false, engine::state::canceled},
      {engine::RunExit::error, engine::state::canceling, false, false, engine::state::error},
      {engine::RunExit::invalid_hp, engine::state::active, false, false, engine::state::completed},
      {engine::RunExit::died, engine::state::active, false, false, engine::state::active},
      {engine::RunExit::died, engine::state::paused, false, false, engine::state::paused},
      {engine::RunExit::died, engine::state::canceling, false, false, engine::state::canceled},
      {engine::RunExit::killed, engine::state::active, false, false, engine::state::canceled},
      {engine::RunExit::killed, engine::state::completed, false, false, engine::state::completed},
      {engine::RunExit::error, engine::state::canceled, false, false, engine::state::canceled},
  };
  for (const Row &row : table) {
    const std::string after(engine::state_after(row.how, row.before, row.acknowledged, row.done));
    assert_string_equal(after.c_str(), std::string(row.after).c_str());
  }
}

void a_new_program_gets_an_experiment_with_one_trial(void **) {
  const Home home;
  const auto run = home.start(Json{{"hyperparameters",
                                    {{"lr", {{"type", "const"}, {"val", 0.5}}},
                                     {"layers", 3},
                                     {"optimizer", {{"name", "adam"}}}}},
                                   {"reproducibility", {{"experiment_seed", 42}}},
                                   {"searcher", {{"max_length", {{"epochs", 7}}}}}});
  const engine::RunInfo &info = run->info();
  assert_int_equal(info.experiment_id, 1);
  assert_int_equal(info.trial_id, 1);
  assert_int_equal(info.run_id, 1);
  assert_int_equal(info.trial_seed, 42);
  assert_string_equal(to_wire(info.hparams).c_str(),
                      R"({"lr":0.5,"layers":3,"optimizer":{"name":"adam"}})");
  assert_int_equal(run->operations().current().length, 7);
  assert_string_equal(info.allocation_id.c_str(), (info.task_id + ".1").c_str());
  assert_true(info.task_id.starts_with("1."));
  assert_false(info.latest_checkpoint.has_value());
  assert_string_equal(home.text("SELECT state || name FROM experiments").c_str(), "ACTIVEdigits");
}

void a_search_space_is_refused_unless_hparams_are_given(void **) {
  const Home home;
  engine::RunRequest asked = home.request();
  asked.config = Json{{"hyperparameters", {{"lr", {{"type", "log"}, {"minval", -3}}}}}};
  std::string message;
  assert_int_equal(static_cast<int>(code_of([&] { engine::start_live_run(asked); }, &message)),
                   static_cast<int>(Code::invalid));
  assert_true(contains(message, "hyperparameters.lr"));
  assert_int_equal(home.count("SELECT COUNT(*) FROM experiments"), 0);
  asked.hparams = Json{{"lr", 0.1}};
  asked.hparams_given = true;
  assert_string_equal(to_wire(engine::start_live_run(asked)->info().hparams).c_str(),
                      R"({"lr":0.1})");
}

void a_length_that_is_none_is_refused(void **) {
  const Home home;
  for (const Json &length : {Json(-1), Json(1.5), Json("ten"), Json{{"batches", "x"}}})
    assert_code(Code::invalid, home.start(Json{{"searcher", {{"max_length", length}}}}));
  assert_int_equal(home.start(Json{{"searcher", {{"max_length", Json::object()}}}})
                       ->operations()
                       .current()
                       .length,
                   1);
}

void an_external_id_finds_its_trial_again(void **) {
  const Home home;
  engine::RunRequest asked = home.request();
  asked.external_id = "job-7";
  auto run = engine::start_live_run(asked);
  const engine::RunInfo first = run->info();
  run->end_run(engine::RunEnd::ok);
  run = engine::start_live_run(asked);
  assert_int_equal(run->info().trial_id, first.trial_id);
  assert_int_equal(run->info().run_id, 2);
  assert_string_equal(run->info().cluster_id.c_str(), first.cluster_id.c_str());
  run->end_run(engine::RunEnd::ok);
  asked.external_id = "job-8";
  assert_int_equal(engine::start_live_run(asked)->info().trial_id, 2);
}

void an_unknown_trial_is_not_found(void **) {
  const Home home;
  assert_code(Code::not_found, home.resume(7));
}

void a_trial_that_runs_is_not_started_again(void **) {
  const Home home;
  const auto run = home.start();
  std::string message;
  assert_int_equal(static_cast<int>(code_of([&] { home.resume(1); }, &message)),
                   static_cast<int>(Code::state));
  assert_true(contains(message, "this process already runs it"));
}

void a_trial_that_another_process_runs_names_that_process(void **) {
  const Home home;
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  const pid_t other = fork();
  if (other == 0) {
    const auto run = home.start();
    if (write(ready[1], "", 1) == 1) pause();
    _exit(1);
  }
  char byte;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  std::string message;
  assert_int_equal(static_cast<int>(code_of([&] { home.resume(1); }, &message)),
                   static_cast<int>(Code::state));
  assert_true(contains(message, "it is being run by process " + std::to_string(other)));
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

void a_run_given_up_without_an_end_can_be_started_again(void **) {
  const Home home;
  home.start().reset();
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "died");
  assert_int_equal(home.resume(1)->info().run_id, 2);
}

void a_completed_operation_ends_the_trial(void **) {
  const Home home;
  const auto run = home.start(Json{{"searcher", {{"max_length", 10}}}});
  assert_code(Code::state, run->operations().complete(9, 0.5));
  assert_code(Code::state, run->operations().acknowledge_none_left());
  run->operations().complete(10, std::numeric_limits<double>::quiet_NaN());
  assert_code(Code::state, run->operations().complete(10, 0.5));
  assert_true(run->operations().current().completed);
  run->operations().acknowledge_none_left();
  run->operations().acknowledge_none_left();
  run->end_run(engine::RunEnd::ok);
  assert_string_equal(home.text("SELECT state || progress FROM trials").c_str(), "COMPLETED1.0");
  assert_string_equal(home.text("SELECT state FROM experiments").c_str(), "COMPLETED");
  assert_string_equal(home.text("SELECT metric FROM operations").c_str(), "\"NaN\"");
}

void only_a_larger_length_is_new_work(void **) {
  const Home home;
  auto run = home.start(Json{{"searcher", {{"max_length", 10}}}});
  run->operations().complete(10, 1);
  run->end_run(engine::RunEnd::ok);
  engine::RunRequest asked = home.request();
  asked.trial_id = 1;
  asked.config = Json{{"searcher", {{"max_length", 5}}}};
  run = engine::start_live_run(asked);
  assert_true(run->operations().current().completed);
  assert_int_equal(run->operations().current().length, 10);
  run->end_run(engine::RunEnd::ok);
  asked.config = Json{{"searcher", {{"max_length", {{"batches", 20}}}}}};
  run = engine::start_live_run(asked);
  assert_false(run->operations().current().completed);
  assert_int_equal(run->operations().current().length, 20);
  assert_string_equal(to_wire(run->info().config.at("searcher").at("max_length")).c_str(),
                      R"({"batches":20})");
  run->end_run(engine::RunEnd::ok);
}

void a_failed_trial_goes_on_when_it_is_started_again(void **) {
  const Home home;
  home.start()->end_run(engine::RunEnd::error);
  assert_string_equal(home.text("SELECT state FROM experiments").c_str(), "ERROR");
  const auto run = home.resume(1);
  assert_string_equal(home.text("SELECT state || IFNULL(ended, '') FROM trials").c_str(), "ACTIVE");
  assert_string_equal(home.text("SELECT state FROM experiments").c_str(), "ACTIVE");
}

void the_first_reason_for_an_early_exit_stays(void **) {
  const Home home;
  const auto run = home.start();
  assert_true(run->report_early_exit("INVALID_HP"));
  assert_false(run->report_early_exit("USER_REQUESTED_STOP"));
  run->end_run(engine::RunEnd::invalid_hp);
  assert_string_equal(home.text("SELECT state || early_exit FROM trials").c_str(),
                      "COMPLETEDINVALID_HP");
}

void a_preempted_run_leaves_its_trial_to_be_continued(void **) {
  const Home home;
  const auto run = home.start();
  assert_code(Code::state, run->preemption().acknowledge());
  run->preemption().note("SIGTERM");
  run->preemption().acknowledge();
  run->preemption().acknowledge();
  run->end_run(engine::RunEnd::ok);
  assert_string_equal(home.text("SELECT state FROM trials").c_str(), "ACTIVE");
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "preempted");
}

void the_newest_checkpoint_is_where_the_next_run_begins(void **) {
  const Home home;
  auto run = home.start();
  run->checkpoints().report(checkpoint("b", 200));
  run->checkpoints().report(checkpoint("a", 100));
  run->checkpoints().report(checkpoint("c", 300));
  run->checkpoints().note_deleted("c");
  run->end_run(engine::RunEnd::ok);
  run = home.resume(1);
  assert_string_equal(run->info().latest_checkpoint.value_or("").c_str(), "b");
  assert_int_equal(run->info().steps_completed, 200);
  assert_int_equal(home.count("SELECT size FROM checkpoints WHERE uuid='b'"), 100);
}

void a_checkpoint_is_reported_once(void **) {
  const Home home;
  const auto run = home.start();
  run->checkpoints().report(checkpoint("a", 100));
  run->checkpoints().report(checkpoint("a", 100));
  assert_code(Code::conflict, run->checkpoints().report(checkpoint("a", 101)));
  assert_true(run->checkpoints().knows("a"));
  assert_false(run->checkpoints().knows("b"));
  assert_false(run->checkpoints().metadata("b").has_value());
  assert_int_equal(run->checkpoints().metadata("a")->at("steps_completed").get<int>(), 100);
}

void a_checkpoint_needs_whole_steps(void **) {
  const Home home;
  const auto run = home.start();
  for (const Json &steps : {Json(-1), Json(1.5), Json("1"), Json()}) {
    engine::CheckpointReport report = checkpoint("a", 1);
    report.metadata = Json{{"steps_completed", steps}};
    assert_code(Code::invalid, run->checkpoints().report(report));
  }
}

void the_run_directory_goes_with_the_run_unless_a_journal_is_left(void **) {
  const Home home;
  auto run = home.start();
  const auto directory = run->run_directory();
  assert_true(std::filesystem::exists(directory / "signal"));
  open_file(directory / "1.spool", O_CREAT | O_RDWR, 0600);
  run->end_run(engine::RunEnd::ok);
  run.reset();
  assert_true(std::filesystem::exists(directory));
  run = home.resume(1);
  const auto second = run->run_directory();
  run->end_run(engine::RunEnd::ok);
  assert_false(std::filesystem::exists(second));
}

}  // namespace
}  // namespace det::test

int test_trial() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_end_of_a_run_decides_what_becomes_of_the_trial),
      cmocka_unit_test(a_new_program_gets_an_experiment_with_one_trial),
      cmocka_unit_test(a_search_space_is_refused_unless_hparams_are_given),
      cmocka_unit_test(a_length_that_is_none_is_refused),
      cmocka_unit_test(an_external_id_finds_its_trial_again),
      cmocka_unit_test(an_unknown_trial_is_not_found),
      cmocka_unit_test(a_trial_that_runs_is_not_started_again),
      cmocka_unit_test(a_trial_that_another_process_runs_names_that_process),
      cmocka_unit_test(a_run_given_up_without_an_end_can_be_started_again),
      cmocka_unit_test(a_completed_operation_ends_the_trial),
      cmocka_unit_test(only_a_larger_length_is_new_work),
      cmocka_unit_test(a_failed_trial_goes_on_when_it_is_started_again),
      cmocka_unit_test(the_first_reason_for_an_early_exit_stays),
      cmocka_unit_test(a_preempted_run_leaves_its_trial_to_be_continued),
      cmocka_unit_test(the_newest_checkpoint_is_where_the_next_run_begins),
      cmocka_unit_test(a_checkpoint_is_reported_once),
      cmocka_unit_test(a_checkpoint_needs_whole_steps),
      cmocka_unit_test(the_run_directory_goes_with_the_run_unless_a_journal_is_left),
  };
  return cmocka_run_group_tests_name("trial", tests, nullptr, nullptr);
}

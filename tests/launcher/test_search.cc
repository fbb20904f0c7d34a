// Whole experiments: every method, whatever happens to the supervisor in between.
#include <sqlite3.h>

#include <random>

#include "core/engine/supervision/transitions.h"
#include "tests/expect_error.h"
#include "tests/launcher/experiment.h"

namespace det::test {
namespace {

Json random_search() {
  return configuration(
      searcher("random", {{"max_trials", 40}, {"max_concurrent_trials", 6}, {"max_length", 10}}));
}
Json grid_search() {
  Json config = configuration(
      searcher("grid", {{"max_concurrent_trials", 6}, {"max_length", {{"batches", 10}}}}));
  config["hyperparameters"]["x"]["count"] = 5;
  config["hyperparameters"]["n"]["count"] = 4;
  return config;
}
Json asha(bool stop_once, int64_t trials = 40) {
  return configuration(searcher("async_halving", {{"num_rungs", 3},
                                                  {"divisor", 3},
                                                  {"max_trials", trials},
                                                  {"max_concurrent_trials", 6},
                                                  {"max_length", {{"batches", 90}}},
                                                  {"stop_once", stop_once}}));
}
Json adaptive() {
  return configuration(searcher("adaptive_asha", {{"mode", "standard"},
                                                  {"divisor", 4},
                                                  {"max_rungs", 5},
                                                  {"bracket_rungs", Json::array()},
                                                  {"max_trials", 40},
                                                  {"max_concurrent_trials", 6},
                                                  {"max_length", {{"batches", 256}}},
                                                  {"stop_once", false}}));
}

// What one process after the other does, is the same every time.
void in_order(Behaviour &behaviour) {
  behaviour.pace = [](int64_t id) { return 1.0 + 0.001 * static_cast<double>(id); };
}

Json undisturbed(const Json &config, int slots) {
  Experiment experiment(config, slots);
  experiment.behave(in_order);
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  return experiment.outcome();
}

void every_method_comes_to_its_end(void **) {
  for (const Json &config : {random_search(), grid_search(), asha(false), asha(true), adaptive()}) {
    Experiment experiment(config, 4);
    experiment.run_to_end();
    assert_string_equal(experiment.state().c_str(), "COMPLETED");
    assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials WHERE state<>'COMPLETED'"), 0);
    assert_int_equal(experiment.count("SELECT COUNT(*) FROM operations WHERE completed IS NULL"),
                     0);
    assert_true(experiment.complaints().empty());
  }
}

// A supervisor is killed again and again, at any instant; its trials go on or die with it.
void assert_same_with_kills(const Json &config, unsigned seed, bool with_processes) {
  const Json expected = undisturbed(config, 1);
  std::minstd_rand chance(seed);
  Experiment experiment(config, 1);
  experiment.behave(in_order);
  experiment.supervise().change_state(engine::state::active);
  int kills = 0;
  while (!experiment.supervisor().ended()) {
    if (chance() % 3 == 0) {
      experiment.kill_supervisor();
      if (with_processes && chance() % 2 == 0) experiment.trials().lose_all();
      experiment.supervise();
      ++kills;
    }
    experiment.advance();
  }
  assert_true(kills >= 3);
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_string_equal(experiment.outcome().dump().c_str(), expected.dump().c_str());
}

void a_killed_supervisor_changes_nothing(void **) {
  unsigned seed = 1;
  for (const Json &config : {random_search(), grid_search(), asha(false), asha(true), adaptive()})
    for (const bool with_processes : {false, true})
      assert_same_with_kills(config, ++seed, with_processes);
}

void a_trial_that_waits_holds_no_process_and_goes_on_when_promoted(void **) {
  Experiment experiment(asha(false, 9), 1);
  experiment.behave(in_order);
  experiment.supervise().change_state(engine::state::active);
  // Until somebody is promoted.
  while (experiment.count("SELECT COUNT(*) FROM operations WHERE number=2") == 0)
    experiment.advance();
  const int64_t trial = experiment.count("SELECT trial_id FROM operations WHERE number=2");
  if (experiment.count("SELECT last_run FROM trials WHERE id=" + std::to_string(trial)) == 1) {
    experiment.store().run(
        "INSERT INTO checkpoints (uuid, trial_id, run_id, steps, state, size, time, metadata,"
        " resources, storage) VALUES ('c', ?, 1, 10, 'COMPLETED', 0, 0, '{}', '{}', '{}')",
        trial);
    while (experiment.count("SELECT last_run FROM trials WHERE id=" + std::to_string(trial)) == 1 &&
           experiment.advance()) {
    }
  }
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
}

void one_killed_while_it_waits_does_not_hold_up_the_search(void **) {
  Experiment experiment(asha(false, 9), 1);
  experiment.behave([](Behaviour &b) {
    in_order(b);
    // The first is the best, and so the first to be promoted, when it is gone.
    b.metric = [](int64_t id, uint64_t) { return static_cast<double>(id); };
  });
  experiment.supervise().change_state(engine::state::active);
  while (experiment.count("SELECT COUNT(*) FROM runs WHERE exit='ok'") == 0) experiment.advance();
  engine::Transaction transaction(experiment.store());
  engine::set_supervised_trial_state(experiment.store(), 1, engine::state::killing);
  experiment.store().run("UPDATE experiments SET control=control+1");
  transaction.commit();
  experiment.run_to_end();
  assert_string_equal(experiment.state_of(1).c_str(), "CANCELED");
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials WHERE state='COMPLETED'"), 8);
}

void a_metric_that_is_not_finite_is_the_worst(void **) {
  Experiment experiment(asha(false, 9), 2);
  experiment.behave([&](Behaviour &b) {
    b.metric = [](int64_t id, uint64_t) {
      return id % 3 == 1 ? std::nan("") : static_cast<double>(id);
    };
  });
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "COMPLETED");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM operations JOIN trials ON"
                                    " trials.id=trial_id WHERE number>1 AND trials.id%3=1"),
                   0);
}

void failures_of_all_are_a_failure_of_the_search(void **) {
  Experiment experiment(random_search(), 4);
  experiment.behave([](Behaviour &b) { b.crash = [](int64_t, int64_t) { return 1; }; });
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "ERROR");
  assert_int_equal(experiment.count("SELECT COUNT(*) FROM trials WHERE state='ERROR'"), 40);
}

void failures_of_some_are_not(void **) {
  for (const Json &config : {random_search(), asha(false), asha(true), adaptive()}) {
    Experiment experiment(config, 4);
    experiment.behave(
        [](Behaviour &b) { b.crash = [](int64_t id, int64_t) { return id % 4 == 0; }; });
    experiment.run_to_end();
    assert_string_equal(experiment.state().c_str(), "COMPLETED");
    assert_true(experiment.count("SELECT COUNT(*) FROM trials WHERE state='ERROR'") >= 10);
  }
}

void a_metric_that_is_no_number_ends_the_experiment(void **) {
  Experiment experiment(asha(false), 1);
  experiment.supervise().change_state(engine::state::active);
  experiment.store().run("UPDATE operations SET completed=1, metric='{}' WHERE trial_id=1");
  experiment.supervisor().step();
  experiment.run_to_end();
  assert_string_equal(experiment.state().c_str(), "ERROR");
  assert_false(experiment.complaints().empty());
}

// The first connection that this process opens to any database from now on.
class FirstConnection {
 public:
  FirstConnection() {
    first_ = nullptr;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(opened));
  }
  ~FirstConnection() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(opened)); }
  sqlite3 *handle() const { return first_; }

 private:
  static int opened(sqlite3 *connection, char **, const sqlite3_api_routines *) {
    if (first_ == nullptr) first_ = connection;
    return SQLITE_OK;
  }
  static inline sqlite3 *first_ = nullptr;
};

void let_grow_no_more(sqlite3 *connection) {
  // Less than it has means: what it has.
  assert_int_equal(sqlite3_exec(connection, "PRAGMA max_page_count=1", nullptr, nullptr, nullptr),
                   SQLITE_OK);
}

void a_full_disk_stops_it_clearly_and_it_goes_on_later(void **) {
  const Json expected = undisturbed(random_search(), 1);
  Experiment experiment(random_search(), 1);
  experiment.behave(in_order);
  sqlite3 *of_supervisor = nullptr;
  {
    const FirstConnection first;
    experiment.supervise().change_state(engine::state::active);
    of_supervisor = first.handle();
  }
  for (int step = 0; step < 10; ++step) experiment.advance();
  let_grow_no_more(of_supervisor);
  bool was_full = false;
  try {
    while (experiment.advance()) {
    }
  } catch (const Error &error) {
    was_full = error.code == Code::full;
  }
  assert_true(was_full);
  experiment.supervise();
  experiment.run_to_end();
  assert_string_equal(experiment.outcome().dump().c_str(), expected.dump().c_str());
}

}  // namespace
}  // namespace det::test

int test_search() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_method_comes_to_its_end),
      cmocka_unit_test(a_killed_supervisor_changes_nothing),
      cmocka_unit_test(a_trial_that_waits_holds_no_process_and_goes_on_when_promoted),
      cmocka_unit_test(one_killed_while_it_waits_does_not_hold_up_the_search),
      cmocka_unit_test(a_metric_that_is_not_finite_is_the_worst),
      cmocka_unit_test(failures_of_all_are_a_failure_of_the_search),
      cmocka_unit_test(failures_of_some_are_not),
      cmocka_unit_test(a_metric_that_is_no_number_ends_the_experiment),
      cmocka_unit_test(a_full_disk_stops_it_clearly_and_it_goes_on_later),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// Which checkpoints are kept, by the recorded cases of tests/data/engine/gc.json, and what becomes
// of the files of the others.
#include <sys/wait.h>

#include <fstream>
#include <set>

#include "core/engine/checkpoints/checkpoint_records.h"
#include "core/engine/checkpoints/garbage.h"
#include "core/engine/experiment.h"
#include "core/engine/runs/best_validation.h"
#include "core/engine/runs/report_writer.h"
#include "tests/cmocka.h"
#include "tests/engine/home.h"

namespace det::test {
namespace {

namespace fs = std::filesystem;

// An experiment with trials from 1 on, without processes.
class RecordedWorld {
 public:
  RecordedWorld(const Json &config, int64_t trials)
      : store_(engine::open_store(home_.store(), true, {})), writer_(store_) {
    add_experiment(config);
    for (int64_t i = 0; i < trials; ++i)
      store_.run(
          "INSERT INTO trials (experiment_id, state, hparams, seed, task_id, created, ended)"
          " VALUES (1, 'COMPLETED', '{}', 1, 'task', 1, 2)");
  }

  void add_experiment(const Json &config) {
    store_.run(
        "INSERT INTO experiments (name, state, config, created, source) VALUES ('e', ?, ?, ?, ?)",
        "COMPLETED", to_wire(config), INT64_MAX, engine::source_of(store_, config));
  }
  void add_checkpoint(int64_t trial, const std::string &id, const Json &metadata,
                      const Json &storage = {{"type", "directory"}}) {
    engine::RunInfo run;
    run.trial_id = trial;
    run.run_id = 1;
    engine::record_checkpoint(store_, run, {id, metadata, {{"weights", 7}}, storage});
  }
  Delivery validate(int64_t trial, int64_t run, int64_t steps, const Json &metrics) {
    const std::string text = to_wire(metrics);
    return writer_.deliver({trial, run, 0, "journal " + std::to_string(++journals_)},
                           std::vector{metrics_json(1, "validation", steps, text)});
  }

  const Home &home() const { return home_; }
  engine::Database &store() { return store_; }
  std::string text(const std::string &sql) { return home_.text(sql); }

 private:
  Home home_;
  engine::Database store_;
  engine::ReportWriter writer_;
  int journals_ = 0;
};

Json searching(const Json &metric, const Json &smaller_is_better) {
  return {{"searcher", {{"metric", metric}, {"smaller_is_better", smaller_is_better}}}};
}

using Rows = std::vector<int64_t>;

Rows garbage(RecordedWorld &world, const engine::KeepRule &rule) {
  Rows ids;
  for (const engine::StoredCheckpoint &one : engine::find_garbage(world.store(), 1, rule))
    ids.push_back(std::stoll(one.uuid));
  std::ranges::sort(ids);
  return ids;
}

Json recorded_worlds() { return parse_json(read_file(TEST_DATA "/engine/gc.json"), "gc.json"); }

// Plays an event; whether it was refused.
bool play(RecordedWorld &world, const Json &event) {
  const auto trial = event.at("trial").get<int64_t>();
  const auto steps = event.at("steps").get<int64_t>();
  if (event.at("do") == "validation") {
    const int64_t before = world.home().count("SELECT COUNT(*) FROM metrics");
    const Delivery delivery =
        world.validate(trial, event.value("run", int64_t{0}) + 1, steps, event.at("metrics"));
    return !delivery.conflicts.empty() &&
           world.home().count("SELECT COUNT(*) FROM metrics") == before;
  }
  const std::string id = std::to_string(event.at("id").get<int64_t>());
  try {
    world.add_checkpoint(
        trial, id,
        event.contains("no_steps_completed") ? Json::object() : Json{{"steps_completed", steps}});
  } catch (const Error &e) {
    assert_equal(e.code, Code::invalid);
    return true;
  }
  if (event.contains("state"))
    world.store().run("UPDATE checkpoints SET state=? WHERE uuid=?",
                      event.at("state").get<std::string>(), id);
  if (event.contains("registered"))
    world.store().run("UPDATE checkpoints SET registered=1 WHERE uuid=?", id);
  if (event.contains("warm_start_source"))
    world.add_experiment({{"searcher", {{"source_checkpoint_uuid", id}}}});
  return false;
}

// The world after its events; what was refused is what is recorded to be. `recording.metric` is the
// searcher metric of all worlds.
std::unique_ptr<RecordedWorld> played(const Json &recording, const Json &recorded) {
  auto world = std::make_unique<RecordedWorld>(
      searching(recording.at("metric"), recorded.at("smaller_is_better")),
      recorded.at("trials").get<int64_t>());
  std::set<size_t> refused;
  for (size_t i = 0; i < recorded.at("events").size(); ++i)
    if (play(*world, recorded.at("events")[i])) refused.insert(i);
  std::set<size_t> expected;
  for (const Json &event : recorded.value("refused_events", Json::array()))
    expected.insert(event.at("event").get<size_t>());
  // A checkpoint that does not say its step: here it is refused.
  if (recorded.at("name") == "no-steps-completed") expected.insert(0);
  assert_equal(refused, expected);
  return world;
}

void the_recorded_rule_decides_what_goes(void **) {
  const Json recording = recorded_worlds();
  for (const Json &recorded : recording.at("worlds")) {
    if (recorded.at("name") == "no-steps-completed") continue;
    const auto world = played(recording, recorded);
    for (const Json &result : recorded.at("results")) {
      const Json &keep = result[0];
      const Rows ids = garbage(*world, {keep[0], keep[1], keep[2]});
      if (ids == result[1].get<Rows>()) continue;
      print_error("%s: %s gives %s\n", recorded.at("name").dump().c_str(), result.dump().c_str(),
                  Json(ids).dump().c_str());
      fail_msg("should have thrown");
    }
  }
}

// While trials run, nothing goes that the rule would keep at the end.
void what_goes_while_trials_run_goes_at_the_end_too(void **) {
  const Json recording = recorded_worlds();
  size_t gone = 0;
  for (const Json &recorded : recording.at("worlds")) {
    const auto world = played(recording, recorded);
    const auto trials = recorded.at("trials").get<int64_t>();
    for (const Json &result : recorded.at("results")) {
      const Json &keep = result[0];
      const Rows at_end = garbage(*world, {keep[0], keep[1], keep[2]});
      world->store().run(
          "UPDATE experiments SET config=json_set(config, '$.checkpoint_storage', json(?)) WHERE "
          "id=1",
          to_wire({{"save_experiment_best", keep[0]},
                   {"save_trial_best", keep[1]},
                   {"save_trial_latest", keep[2]}}));
      for (int64_t trial = 1; trial <= trials; ++trial)
        for (const engine::StoredCheckpoint &one : engine::find_superseded(world->store(), trial)) {
          assert_equal(one.trial_id, trial);
          if (one.state != "COMPLETED") continue;
          ++gone;
          if (std::ranges::count(at_end, std::stoll(one.uuid)) == 0)
            fail_msg("%s: %s", recorded.at("name").dump().c_str(), result.dump().c_str());
        }
    }
  }
  assert_true(gone > 0);
}

void the_only_checkpoint_of_a_trial_stays_while_others_are_further(void **) {
  RecordedWorld world(searching("loss", true), 2);
  for (int i = 1; i <= 3; ++i)
    world.add_checkpoint(1, std::to_string(i), {{"steps_completed", 100 * i}});
  world.add_checkpoint(2, "4", {{"steps_completed", 50}});
  assert_equal(garbage(world, {0, 1, 1}), Rows({1, 2, 4}));
  assert_int_equal(engine::find_superseded(world.store(), 1).size(), 2);
  assert_int_equal(engine::find_superseded(world.store(), 2).size(), 0);
}

void trials_have_the_recorded_best_validations(void **) {
  const Json recording = recorded_worlds();
  for (const Json &recorded : recording.at("worlds")) {
    const auto world = played(recording, recorded);
    // There the original forgets a validation of before the rollback that still stands.
    const bool differs = recorded.at("name") == "rollback";
    int64_t trial = 0;
    for (const Json &best : recorded.at("trial_best")) {
      const std::string of_trial = " FROM trials WHERE id=" + std::to_string(++trial);
      Json value = best.at("searcher_metric_value");
      if (value == "+Inf") value = "Infinity";
      if (value == "-Inf") value = "-Infinity";
      Json steps = best.at("best_validation_steps");
      if (differs) steps = 10, value = 0.1;
      const std::string seen = world->text(
          "SELECT IFNULL((SELECT steps FROM metrics WHERE id=best_validation), 'null')"
          " || ' ' || IFNULL(best_metric, 'null')" +
          of_trial);
      const Json number = value.is_number() ? Json(value.get<double>()) : value;
      assert_string_equal(seen.c_str(), (steps.dump() + " " + to_wire(number)).c_str());
    }
    if (recorded.contains("best_trial"))
      assert_equal(engine::best_trial(world->store(), 1), recorded.at("best_trial").get<int64_t>());
  }
}

// The example of the specification: steps 100 to 500 in each of two trials.
void the_newest_of_each_trial_can_be_kept_whether_validated_or_not(void **) {
  RecordedWorld world(searching("loss", true), 2);
  const std::vector<std::optional<double>> losses{{}, {}, .6, .5, .4, {}, .2, .3, {}, {}};
  for (int i = 0; i < 10; ++i) {
    const int64_t trial = i / 5 + 1;
    const int64_t steps = i % 5 * 100 + 100;
    world.add_checkpoint(trial, std::to_string(i + 1), {{"steps_completed", steps}});
    if (const auto loss = losses.at(static_cast<size_t>(i)))
      world.validate(trial, 1, steps, {{"loss", *loss}});
  }
  const auto kept = [&](engine::KeepRule rule, bool per_trial) {
    rule.latest_per_trial = per_trial;
    Rows all{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    for (const int64_t id : garbage(world, rule)) std::erase(all, id);
    return all;
  };
  struct Row {
    engine::KeepRule rule;
    Rows actual, documented;
  };
  const Row rows[] = {
      {{0, 0, 0}, {}, {}},
      {{2, 0, 0}, {7, 8}, {7, 8}},
      {{5, 0, 0}, {3, 4, 5, 7, 8}, {3, 4, 5, 7, 8}},
      {{0, 3, 0}, {3, 4, 5, 7, 8}, {3, 4, 5, 7, 8}},
      {{0, 1, 0}, {5, 7}, {5, 7}},
      {{0, 0, 1}, {5, 8, 10}, {5, 10}},
      {{0, 0, 3}, {2, 3, 4, 5, 7, 8, 9, 10}, {3, 4, 5, 8, 9, 10}},
      {{2, 1, 0}, {5, 7, 8}, {5, 7, 8}},
      {{2, 0, 1}, {5, 7, 8, 10}, {5, 7, 8, 10}},
      {{0, 1, 1}, {5, 7, 8, 10}, {5, 7, 10}},
      {{2, 1, 1}, {5, 7, 8, 10}, {5, 7, 8, 10}},
  };
  for (const Row &row : rows) {
    assert_equal(kept(row.rule, false), row.actual);
    assert_equal(kept(row.rule, true), row.documented);
  }
}

void the_rule_is_that_of_the_configuration(void **) {
  const engine::KeepRule usual = engine::keep_rule(Json::object());
  assert_equal(usual.experiment_best, 0);
  assert_equal(usual.trial_best, 1);
  assert_equal(usual.trial_latest, 1);
  const engine::KeepRule rule = engine::keep_rule({{"checkpoint_storage",
                                                    {{"save_experiment_best", 3},
                                                     {"save_trial_best", nullptr},
                                                     {"save_trial_latest", 0},
                                                     {"gc_latest_per_trial", true}}}});
  assert_equal(rule.experiment_best, 3);
  assert_equal(rule.trial_best, 1);
  assert_equal(rule.trial_latest, 0);
  assert_true(rule.latest_per_trial && !usual.latest_per_trial);
}

void the_checkpoint_that_a_trial_was_started_from_stays(void **) {
  RecordedWorld world(searching("loss", true), 1);
  for (int i = 1; i <= 3; ++i) world.add_checkpoint(1, std::to_string(i), {{"steps_completed", i}});
  world.add_experiment({{"searcher", {{"source_trial_id", 1}}}});
  assert_equal(garbage(world, {0, 0, 0}), Rows({1, 2}));
}

void a_metric_that_is_no_number_stops_the_collection(void **) {
  RecordedWorld world(searching("loss", true), 1);
  world.add_checkpoint(1, "1", {{"steps_completed", 1}});
  // As an earlier release stored it.
  world.store().run(
      "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics)"
      " VALUES (1, 1, 'validation', 1, 1, '{\"loss\":\"abc\"}')");
  assert_code(Code::invalid, engine::find_garbage(world.store(), 1, engine::KeepRule{}));
}

// Five checkpoints with files, of which 2, 4 and 5 are not kept.
class Stored {
 public:
  Stored() : world_(searching("loss", true), 1) {
    for (int i = 1; i <= 5; ++i) {
      const std::string id = std::to_string(i);
      fs::create_directories(directory() / id);
      std::ofstream(directory() / id / "weights") << "weights";
      world_.add_checkpoint(1, id, {{"steps_completed", 10 * (6 - i)}},
                            {{"type", "directory"}, {"container_path", directory().string()}});
    }
    for (int i = 2; i <= 5; ++i)
      world_.validate(1, 1, 10 * (6 - i), {{"loss", i == 3 ? 0.0 : 1.0}});
    // 1 is the newest without a validation, 2 the newest with one.
    world_.store().run(
        "UPDATE experiments SET"
        " config=json_set(config, '$.checkpoint_storage', json('{\"save_trial_latest\":1}'))");
  }
  RecordedWorld &world() { return world_; }
  fs::path directory() const { return world_.home().path() / "checkpoints"; }
  fs::path store() const { return world_.home().store(); }

  std::string files() const {
    std::set<std::string> names;
    for (const auto &entry : fs::directory_iterator(directory()))
      if (fs::exists(entry.path() / "weights")) names.insert(entry.path().filename());
    std::string joined;
    for (const std::string &name : names) joined += name;
    return joined;
  }
  std::string states() {
    return world_.text(
        "SELECT group_concat(uuid || ' ' || state, ', ')"
        " FROM (SELECT uuid, state FROM checkpoints ORDER BY id)");
  }

 private:
  RecordedWorld world_;
};

constexpr const char *collected_states =
    "1 COMPLETED, 2 COMPLETED, 3 COMPLETED, 4 DELETED, 5 DELETED";

Logger silent() {
  return Logger(LogLevel::error, [](LogLevel, const std::string &) {});
}

void what_is_not_kept_is_deleted_and_recorded(void **) {
  Stored stored;
  Logger log = silent();
  const engine::Collected collected = engine::delete_garbage(stored.store(), 1, log);
  assert_int_equal(collected.deleted.size(), 2);
  assert_int_equal(collected.failures, 0);
  assert_string_equal(stored.files().c_str(), "123");
  assert_string_equal(stored.states().c_str(), collected_states);
  // Nothing is left to do.
  assert_true(engine::delete_garbage(stored.store(), 1, log).deleted.empty());
}

void what_somebody_else_removed_stays_as_it_is(void **) {
  Stored stored;
  Logger log = silent();
  fs::remove_all(stored.directory() / "4");
  const engine::Collected collected = engine::delete_garbage(stored.store(), 1, log);
  assert_int_equal(collected.failures, 1);
  assert_string_equal(stored.files().c_str(), "123");
  assert_string_equal(stored.states().c_str(),
                      "1 COMPLETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED, 5 DELETED");
}

void a_storage_that_fails_does_not_keep_the_others(void **) {
  Stored stored;
  stored.world().store().run("UPDATE checkpoints SET storage='{\"type\":\"s3\"}' WHERE uuid='4'");
  std::string told;
  Logger log(LogLevel::warning, [&](LogLevel, const std::string &text) { told += text; });
  engine::collect_garbage(stored.store(), 1, log);
  assert_true(contains(told, "deleting checkpoint 4 of trial 1"));
  assert_string_equal(stored.states().c_str(),
                      "1 COMPLETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED, 5 DELETED");
  engine::collect_garbage(stored.store(), 99, log);
  assert_true(contains(told, "no experiment 99"));
}

// Killed at its `step`-th sign of life; whether it came so far.
bool collect_until(const fs::path &store, int step) {
  const pid_t child = fork();
  if (child == 0) {
    int seen = 0;
    Logger log(LogLevel::debug, [&](LogLevel, const std::string &) {
      if (++seen == step) raise(SIGKILL);
    });
    engine::collect_garbage(store, 1, log);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status);
}

void a_collection_that_was_killed_is_finished_by_the_next(void **) {
  int kills = 0;
  for (int step = 1;; ++step) {
    Stored stored;
    const bool killed = collect_until(stored.store(), step);
    if (killed) {
      ++kills;
      assert_true(contains(stored.states(), "5 PARTIALLY_DELETED"));
    }
    Logger log = silent();
    engine::collect_garbage(stored.store(), 1, log);
    assert_string_equal(stored.files().c_str(), "123");
    assert_string_equal(stored.states().c_str(), collected_states);
    if (!killed) break;
  }
  assert_int_equal(kills, 3);
}

void what_is_being_deleted_is_nobodys_latest_checkpoint(void **) {
  Stored stored;
  stored.world().store().run("UPDATE checkpoints SET state='PARTIALLY_DELETED' WHERE uuid='1'");
  stored.world().store().run(
      "INSERT INTO operations (trial_id, number, length) VALUES (1, 1, 100)");
  const auto run = stored.world().home().resume(1);
  assert_string_equal(run->info().latest_checkpoint.value_or("").c_str(), "2");
  run->end_run(engine::RunEnd::ok);
}

}  // namespace
}  // namespace det::test

int test_garbage() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_recorded_rule_decides_what_goes),
      cmocka_unit_test(what_goes_while_trials_run_goes_at_the_end_too),
      cmocka_unit_test(the_only_checkpoint_of_a_trial_stays_while_others_are_further),
      cmocka_unit_test(trials_have_the_recorded_best_validations),
      cmocka_unit_test(the_newest_of_each_trial_can_be_kept_whether_validated_or_not),
      cmocka_unit_test(the_rule_is_that_of_the_configuration),
      cmocka_unit_test(the_checkpoint_that_a_trial_was_started_from_stays),
      cmocka_unit_test(a_metric_that_is_no_number_stops_the_collection),
      cmocka_unit_test(what_is_not_kept_is_deleted_and_recorded),
      cmocka_unit_test(what_somebody_else_removed_stays_as_it_is),
      cmocka_unit_test(a_storage_that_fails_does_not_keep_the_others),
      cmocka_unit_test(a_collection_that_was_killed_is_finished_by_the_next),
      cmocka_unit_test(what_is_being_deleted_is_nobodys_latest_checkpoint),
  };
  return cmocka_run_group_tests_name("garbage", tests, nullptr, nullptr);
}

// Checkpoints: reported, withdrawn, started from and not kept.
#include "tests/engine/suite.h"

namespace det::test {
namespace {

void a_checkpoint_is_recorded_once(const World &world) {
  auto run = world.start();
  run->checkpoints().report(checkpoint("a", 5));
  run->checkpoints().report(checkpoint("a", 5));
  expect_error(Code::conflict, [&] { run->checkpoints().report(checkpoint("a", 6)); });
  expect_error(Code::invalid, [&] { run->checkpoints().report(checkpoint("b", -1)); });
  engine::Engine engine = world.engine();
  assert_int_equal(engine.checkpoints().list(0, {}).at("checkpoints").size(), 1);
  assert_int_equal(engine.checkpoints().get("a").at("size").get<int64_t>(), 100);
  expect_error(Code::not_found, [&] { engine.checkpoints().get("b"); });
}

void the_next_run_starts_from_the_latest_that_is_whole(const World &world) {
  auto run = world.start();
  run->checkpoints().report(checkpoint("early", 5));
  run->checkpoints().report(checkpoint("late", 8));
  assert_true(run->checkpoints().withdraw("late"));
  assert_false(run->checkpoints().withdraw("late"));
  assert_false(run->checkpoints().knows("late"));
  assert_true(run->checkpoints().has_made("late"));
  run->end(engine::RunExit::error);
  auto next = world.resume(run->info().trial_id);
  assert_equal(*next->info().latest_checkpoint, "early");
  assert_int_equal(next->info().steps_completed, 5);
  assert_true(next->checkpoints().reinstate("late"));
  next->end(engine::RunExit::error);
  assert_equal(*world.resume(run->info().trial_id)->info().latest_checkpoint, "late");
}

void the_best_and_the_latest_are_kept(const World &world) {
  auto run = world.start();
  const std::vector<double> losses{0.5, 0.1, 0.9, 0.8};
  int64_t steps = 0;
  for (const double loss : losses) {
    ++steps;
    deliver(*run, {validation(static_cast<uint64_t>(steps), steps, loss)});
    run->checkpoints().report(checkpoint("at" + std::to_string(steps), steps));
  }
  run->operations().complete(10, {});
  run->end(engine::RunExit::ok);
  engine::Engine engine = world.engine();
  const Json garbage =
      engine.checkpoints().collect_garbage(run->info().experiment_id, true, quiet());
  assert_int_equal(garbage.at("checkpoints").size(), 2);
  assert_equal(garbage.at("checkpoints")[0].at("uuid").get<std::string>(), "at1");
  assert_equal(garbage.at("checkpoints")[1].at("uuid").get<std::string>(), "at3");
}

void one_that_an_experiment_starts_from_is_kept(const World &world) {
  auto run = world.start();
  run->checkpoints().report(checkpoint("source", 1));
  run->checkpoints().report(checkpoint("latest", 2));
  engine::Engine engine = world.engine();
  const auto garbage = [&] {
    return engine.checkpoints()
        .collect_garbage(run->info().experiment_id, true, quiet())
        .at("checkpoints")
        .size();
  };
  assert_int_equal(garbage(), 1);
  engine.experiments().create(
      {{"name", "heir"}, {"searcher", {{"source_checkpoint_uuid", "source"}}}}, "", {});
  assert_int_equal(garbage(), 0);
}

using Ids = std::vector<std::string>;

Ids withdrawn(engine::LiveRun &run, const std::set<std::string> &held) {
  Ids ids;
  for (const auto &one : run.checkpoints().withdraw_superseded(held)) ids.push_back(one.id);
  return ids;
}

void what_later_ones_leave_behind_is_withdrawn(const World &world) {
  auto run = world.start();
  const auto save = [&](int64_t steps, double loss) {
    deliver(*run, {validation(static_cast<uint64_t>(steps), steps, loss)});
    run->checkpoints().report(checkpoint("at" + std::to_string(steps), steps));
    return withdrawn(*run, {});
  };
  assert_equal(save(1, 0.5), Ids());
  assert_equal(save(2, 0.1), Ids({"at1"}));
  assert_equal(withdrawn(*run, {}), Ids({"at1"}));  // nobody has deleted it yet
  run->checkpoints().note_deleted("at1");
  assert_equal(save(3, 0.9), Ids());
  assert_equal(save(4, 0.8), Ids({"at3"}));
  run->checkpoints().note_deleted("at3");
  assert_false(run->checkpoints().knows("at3"));
  assert_true(run->checkpoints().knows("at2") && run->checkpoints().knows("at4"));
  run->operations().complete(10, {});
  run->end(engine::RunExit::ok);
  // The rule of the end finds no more.
  engine::Engine engine = world.engine();
  const Json garbage =
      engine.checkpoints().collect_garbage(run->info().experiment_id, true, quiet());
  assert_int_equal(garbage.at("checkpoints").size(), 0);
}

void what_a_trial_or_a_person_needs_is_not_withdrawn(const World &world) {
  auto run = world.start();
  const auto save = [&](const std::string &id, int64_t steps) {
    run->checkpoints().report(checkpoint(id, steps));
  };
  save("held", 1);
  save("source", 2);
  world.engine().experiments().create(
      {{"name", "heir"}, {"searcher", {{"source_checkpoint_uuid", "source"}}}}, "", {});
  save("furthest", 9);
  // A program that begins anew: the trial would go on from the other one.
  save("newest", 3);
  assert_equal(withdrawn(*run, {"held"}), Ids());
  save("newer", 4);
  assert_equal(withdrawn(*run, {"held"}), Ids({"newest"}));
  run->checkpoints().note_deleted("newest");
  assert_equal(withdrawn(*run, {}), Ids({"held"}));
}

void what_a_person_pins_stays(const World &world) {
  auto run = world.start();
  engine::Engine engine = world.engine();
  for (int i = 1; i <= 3; ++i) run->checkpoints().report(checkpoint("at" + std::to_string(i), i));
  assert_false(engine.checkpoints().get("at1").at("pinned").get<bool>());
  assert_true(engine.checkpoints().pin("at1", true).at("pinned").get<bool>());
  engine.checkpoints().pin("at1", true);
  assert_equal(withdrawn(*run, {}), Ids({"at2"}));
  expect_error(Code::state, [&] { engine.checkpoints().pin("at2", true); });
  expect_error(Code::not_found, [&] { engine.checkpoints().pin("at9", true); });
  const auto refused = [](const auto &call) {
    assert_true(contains(expect_error(Code::state, call), "`det checkpoints unpin`"));
  };
  refused([&] { run->checkpoints().withdraw("at1"); });
  run->operations().complete(10, {});
  run->end(engine::RunExit::ok);
  refused([&] { engine.checkpoints().remove("at1", quiet()); });
  refused([&] { engine.deletion(1).begin(); });
  const auto garbage = [&] {
    return engine.checkpoints().collect_garbage(1, true, quiet()).at("checkpoints");
  };
  assert_int_equal(garbage().size(), 1);  // at2
  assert_false(engine.checkpoints().pin("at1", false).at("pinned").get<bool>());
  assert_int_equal(garbage().size(), 2);
}

void what_a_search_was_told_of_is_not_withdrawn(const World &world) {
  engine::RunRequest request = world.request();
  request.config["searcher"]["name"] = "custom";
  auto run = engine::start_live_run(request);
  const auto save = [&](const std::string &id, int64_t steps) {
    run->checkpoints().report(checkpoint(id, steps));
  };
  save("to_ld", 1);
  save("named", 2);
  save("to-ld", 10);
  run->operations().complete(10, {{"error", 1.0}, {"checkpoint", "to-ld"}});
  save("newest", 11);
  engine::Store(world.directory(), false, world.options())
      .database()
      .run(
          "INSERT INTO trials (experiment_id, state, hparams, seed, task_id, created, progress)"
          " VALUES (?, 'ACTIVE', '{\"from\": \"named/model\"}', 1, 'another', 1, 0)",
          run->info().experiment_id);
  assert_equal(withdrawn(*run, {}), Ids({"to_ld"}));
}

void who_keeps_all_keeps_all(const World &world) {
  engine::RunRequest request = world.request();
  request.config["checkpoint_storage"] = {{"save_trial_latest", 3}};
  auto run = engine::start_live_run(request);
  for (int i = 1; i <= 3; ++i) run->checkpoints().report(checkpoint("at" + std::to_string(i), i));
  assert_equal(withdrawn(*run, {}), Ids());
  // What somebody began to delete is deleted to the end all the same.
  run->checkpoints().withdraw("at2");
  assert_equal(withdrawn(*run, {}), Ids({"at2"}));
  run->checkpoints().note_deleted("at2");
  assert_equal(withdrawn(*run, {}), Ids());
  for (int i = 4; i <= 5; ++i) run->checkpoints().report(checkpoint("at" + std::to_string(i), i));
  assert_equal(withdrawn(*run, {}), Ids({"at1"}));
}

void the_rule_of_the_configuration_is_what_counts(const World &world) {
  engine::RunRequest request = world.request();
  request.config["checkpoint_storage"] = {{"save_trial_latest", 3}};
  auto run = engine::start_live_run(request);
  for (int i = 1; i <= 5; ++i) run->checkpoints().report(checkpoint("at" + std::to_string(i), i));
  assert_equal(withdrawn(*run, {}), Ids({"at1", "at2"}));
}

void what_somebody_began_to_delete_is_told_apart(const World &world) {
  auto run = world.start();
  for (int i = 1; i <= 3; ++i) run->checkpoints().report(checkpoint("at" + std::to_string(i), i));
  assert_true(run->checkpoints().withdraw("at1"));
  const auto found = run->checkpoints().withdraw_superseded({});
  assert_int_equal(found.size(), 2);
  for (const auto &one : found) assert_int_equal(one.was_complete, one.id == "at2");
}

// Which of them are the best of the experiment is decided when it is over.
void as_many_of_a_trial_stay_as_may_be_the_best_of_the_experiment(const World &world) {
  engine::RunRequest request = world.request();
  request.config["checkpoint_storage"] = {
      {"save_experiment_best", 1}, {"save_trial_best", 0}, {"save_trial_latest", 0}};
  auto run = engine::start_live_run(request);
  const double losses[] = {0.5, 0.1, 0.9, 0.8};
  int64_t steps = 0;
  for (const double loss : losses) {
    ++steps;
    deliver(*run, {validation(static_cast<uint64_t>(steps), steps, loss)});
    run->checkpoints().report(checkpoint("at" + std::to_string(steps), steps));
  }
  assert_equal(withdrawn(*run, {}), Ids({"at1", "at3"}));
}

void what_is_in_another_storage_is_left_to_the_end(const World &world) {
  auto run = world.start();
  engine::CheckpointReport other = checkpoint("other", 1);
  other.storage["host_path"] = "/somewhere";
  run->checkpoints().report(other);
  run->checkpoints().report(checkpoint("at2", 2));
  run->checkpoints().report(checkpoint("at3", 3));
  assert_equal(withdrawn(*run, {}), Ids({"at2"}));
}

}  // namespace
}  // namespace det::test

int test_checkpoints() {
  using namespace det::test;
  return run_over_stores(
      "checkpoints",
      {behaviour(a_checkpoint_is_recorded_once),
       behaviour(the_next_run_starts_from_the_latest_that_is_whole),
       behaviour(the_best_and_the_latest_are_kept),
       behaviour(one_that_an_experiment_starts_from_is_kept),
       behaviour(what_later_ones_leave_behind_is_withdrawn),
       behaviour(what_a_trial_or_a_person_needs_is_not_withdrawn),
       behaviour(what_a_person_pins_stays), behaviour(what_a_search_was_told_of_is_not_withdrawn),
       behaviour(who_keeps_all_keeps_all), behaviour(the_rule_of_the_configuration_is_what_counts),
       behaviour(what_somebody_began_to_delete_is_told_apart),
       behaviour(as_many_of_a_trial_stay_as_may_be_the_best_of_the_experiment),
       behaviour(what_is_in_another_storage_is_left_to_the_end)});
}

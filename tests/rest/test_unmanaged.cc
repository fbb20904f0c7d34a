// Trials that no cluster schedules: this process is on its own and reports to a master.
#include "core/client/client.h"
#include "core/config/token_cache.h"
#include "core/master/rest/login.h"
#include "core/master/rest/unmanaged_config.h"
#include "tests/expect_error.h"
#include "tests/rest/surroundings.h"
#include "tests/threads.h"
#include "tests/traced.h"

namespace {

using namespace det;
using namespace det::master;
using namespace det::test;

constexpr std::array unmanaged_versions{"0.33.0", "0.38.1"};

Json trial_of(const FakeMaster &master, int64_t trial) {
  return master.state()["trials"][std::to_string(trial)];
}
Json trial_of(const FakeMaster &master, const context::Core &core) {
  return trial_of(master, core.info().run().trial_id);
}

std::vector<int64_t> steps_of(const FakeMaster &master, const context::Core &core) {
  return test::steps_of(master.state(), core.info().run().trial_id);
}

// Closes it, which cannot tell everything; as the end of the process, this leaves its directory to
// others. Gives the message, and the trial.
std::pair<std::string, int64_t> leave(std::shared_ptr<context::Core> core, engine::RunEnd how,
                                      Code expected) {
  std::string message = expect_error(expected, [&] { core->close(how); });
  return {std::move(message), core->info().run().trial_id};
}

// As a user does with another program.
void ask(const FakeMaster &master, const std::string &path, const Json &body) {
  http::HttpClient client({}, std::make_shared<Logger>());
  http::HttpRequest request{.method = "POST", .url = master.url(path)};
  request.headers = {{"Authorization", "Bearer user-token"}};
  request.body = body.dump();
  assert_int_equal(client.perform(std::move(request)).status, 200);
}

// The master takes nothing that a running trial sends, and says so at once.
void go_away(const FakeMaster &master) {
  master.add_fault({{"path", "metrics$|PATCH|task-logs"}, {"status", 401}, {"count", 100'000}});
}

void masters_are_told_nothing_that_they_refuse(void **) {
  const Json ours{{"type", "directory"}, {"container_path", "/x"}, {"deduplicate", true}};
  const Json theirs{{"type", "directory"}, {"container_path", "/x"}};
  assert_true(master::storage_for_master(ours) == theirs);
  assert_true(master::storage_for_master(Json()).is_null());
  for (const Json &storage : {Json(), ours}) {
    const Json config{{"checkpoint_storage", ours}, {"max_restarts", 1}};
    for (const auto version : {codec::WireVersion::v0_33, codec::WireVersion::v0_38})
      assert_true(
          master::unmanaged_config(config, "name", storage, version).at("checkpoint_storage") ==
          theirs);
  }
}

void trial_is_made_where_none_is_named(void **) {
  for (const std::string version : unmanaged_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.as_user(master.url());
    context::CoreOptions options = place.options();
    options.name = "nameless";
    options.hparams_text = R"({"lr": 0.5})";
    const auto core = context::Core::start(options);
    report_training(*core, 1, 0.5);
    core->train().log(LogLevel::info, "hello");
    wait_until_so([&] { return trial_of(master, *core)["heartbeats"] > 0; });
    assert_equal(trial_of(master, *core)["state"], "STATE_RUNNING");
    assert_false(core->preempt().should_preempt(true));
    assert_false(core->info().on_cluster());
    core->close(engine::RunEnd::ok);
    const Json trial = trial_of(master, *core);
    assert_equal(trial["states"], Json{"STATE_RUNNING", "STATE_COMPLETED"});
    assert_equal(trial["run_id"], 1);
    assert_equal(trial["hparams"], Json({{"lr", 0.5}}));
    const Json state = master.state();
    const Json &experiment = state["experiments"][trial["experiment"].dump()];
    assert_equal(experiment["config"]["name"], "nameless");
    assert_equal(experiment["is_managed"], false);
    assert_equal(steps_of(master, *core), steps_to(1));
    assert_equal(state["logs"][0]["task_id"], trial["task_id"]);
    assert_true(place.left_behind(master.url()).empty());
    place.assert_no_token_shown();
  }
}

void trial_goes_on_by_its_external_ids(void **) {
  for (const std::string version : unmanaged_versions) {
    const FakeMaster &master = fresh_master(version);
    int64_t trial_id = 0;
    for (int64_t run = 1; run <= 3; ++run) {
      Surroundings place;
      place.as_user(master.url());
      context::CoreOptions options = place.options();
      options.external_id = "my trial";
      if (run == 2) options.external_experiment_id = "my trial";  // the same in other words
      options.hparams_text = to_wire(Json{{"lr", 0.5 * static_cast<double>(run)}});
      const auto core = context::Core::start(options);
      const Json recorded = trial_of(master, *core)["hparams"];
      assert_equal(core->info().run().hparams, recorded);
      assert_equal(contains(place.log(), "hyperparameter lr: "),
                   recorded.at("lr") != 0.5 * static_cast<double>(run));
      if (trial_id == 0) trial_id = core->info().run().trial_id;
      assert_int_equal(core->info().run().trial_id, trial_id);
      assert_int_equal(core->info().run().run_id, run);
      report_training(*core, run, 0.5);
      core->close(engine::RunEnd::ok);
      assert_equal(steps_of(master, *core), steps_to(run));
      // From now on 0.38 answers 500 to PUT for this trial.
      if (version == "0.38.1")
        ask(master, "/api/v1/runs/" + std::to_string(trial_id) + "/metadata",
            {{"metadata", {{"a", 1}}}});
    }
    assert_int_equal(master.state()["trials"].size(), 2);
  }
}

void trial_goes_on_from_its_latest_checkpoint(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.as_user(master.url());
  context::CoreOptions options = place.options();
  options.external_id = "t";
  const auto first = context::Core::start(options);
  fs::create_directories(place.directory / "model");
  write_file_durably(place.directory / "model" / "a", "x");
  const std::string id = first->checkpoint().saver().upload(
      place.directory / "model", R"({"steps_completed": 30})", false, {});
  first->close(engine::RunEnd::error);
  const auto second = context::Core::start(options);
  assert_equal(second->info().run().latest_checkpoint, id);
  assert_int_equal(second->info().run().steps_completed, 30);
  second->close(engine::RunEnd::ok);
}

// Whenever it is killed, the next run begins with a checkpoint whose files are there, and what was
// being deleted is gone then.
void deletion_killed_at_any_step_is_finished_by_the_next_run(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.as_user(master.url());
  context::CoreOptions options = place.options();
  options.external_id = "t";
  const fs::path note = place.directory / "id", storage = place.directory / "checkpoints";
  options.checkpoint_storage = storage.string();
  fs::create_directories(place.directory / "model");
  int whole = 0, finished_later = 0;
  bool killed = true;
  for (int step = 0; killed; ++step) {
    Traced deleting([&](const auto &watched) {
      const auto core = context::Core::start(options);
      const Json metadata{{"steps_completed", step + 1}};
      const std::string id =
          core->checkpoint().saver().upload(place.directory / "model", metadata.dump(), false, {});
      write_file_durably(note, id);
      watched();
      core->checkpoint().remove(id);
      return 0;
    });
    for (int i = 0; killed && i <= step; ++i) killed = deleting.next().has_value();
    if (killed) deleting.kill();
    const std::string id = read_file(note);
    const bool was_there = fs::exists(storage / id);
    const auto next = context::Core::start(options);
    if (next->info().run().latest_checkpoint == id) {
      next->checkpoint().restorer().restore(id, {.mode = context::DownloadMode::no_shared});
      next->checkpoint().remove(id);
      ++whole;
    } else {
      finished_later += was_there;
    }
    assert_false(fs::exists(storage / id));
    // Locks have hidden names while they are made.
    for (const auto &entry : fs::directory_iterator(storage / ".partial"))
      if (const std::string name = entry.path().filename();
          !name.starts_with('.') || name.starts_with(".removed"))
        fail_msg("killed at step %d: %s is left", step, name.c_str());
    next->close(engine::RunEnd::error);
  }
  assert_in_range(whole, 1, 10'000);
  assert_in_range(finished_later, 1, 10'000);
}

void trial_goes_on_by_its_number(void **) {
  for (const std::string version : unmanaged_versions) {
    const FakeMaster &master = fresh_master(version, {{"is_managed", false}});
    Surroundings place;
    place.as_user(master.url());
    context::CoreOptions options = place.options();
    options.trial_id = 7;
    const auto core = context::Core::start(options);
    assert_int_equal(core->info().run().run_id, 2);
    report_training(*core, 1, 0.5);
    core->close(engine::RunEnd::ok);
    assert_equal(steps_of(master, *core), steps_to(1));
    options.trial_id = 999;
    const std::string message =
        expect_error(Code::not_found, [&] { context::Core::start(options); });
    assert_true(contains(message, "999") && contains(message, master.url()));
  }
}

void end_is_told_as_it_was(void **) {
  for (const std::string version : unmanaged_versions) {
    const FakeMaster &master = fresh_master(version);
    for (const std::string end : {"STATE_COMPLETED", "STATE_ERROR", "STATE_PAUSED"}) {
      Surroundings place;
      place.as_user(master.url());
      auto core = context::Core::start(place.options());
      if (end == "STATE_PAUSED") {
        core->preempt().request();
        assert_true(core->preempt().should_preempt(true));
      }
      const auto last_state = [&] { return trial_of(master, *core)["states"].back(); };
      core->close(end == "STATE_ERROR" ? engine::RunEnd::error : engine::RunEnd::ok);
      assert_equal(last_state(), end);
    }
  }
}

void core_that_is_dropped_ends_in_error(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.as_user(master.url());
  auto core = context::Core::start(place.options());
  const std::string trial = std::to_string(core->info().run().trial_id);
  core.reset();
  assert_equal(master.state()["trials"][trial]["states"].back(), "STATE_ERROR");
}

void reports_and_end_that_could_not_be_told_are_told_by_sync(void **) {
  for (const std::string version : unmanaged_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.as_user(master.url());
    context::CoreOptions options = place.options();
    options.close_limit = std::chrono::milliseconds(300);
    auto core = context::Core::start(options);
    go_away(master);
    for (int64_t step = 1; step <= 100; ++step) report_training(*core, step, 0.5);
    const auto [message, trial] = leave(std::move(core), engine::RunEnd::error, Code::timeout);
    assert_true(contains(message, "det sync") && contains(message, master.url()));
    assert_equal(trial_of(master, trial)["states"], Json{"STATE_RUNNING"});
    assert_int_equal(place.left_behind(master.url()).size(), 1);

    const auto client = client::open_client(master.url());
    expect_error(Code::access, [&] { client->sync(); });  // still away: nothing gets lost
    master.heal();
    const Json done = client->sync();
    assert_equal(done["journals"][0]["reports"], 100);
    assert_equal(test::steps_of(master.state()), steps_to(100));
    assert_equal(trial_of(master, trial)["states"], Json{"STATE_RUNNING", "STATE_ERROR"});
    assert_true(place.left_behind(master.url()).empty());
    // The end comes after the reports.
    assert_equal(master.requests().back()["method"], "PATCH");
    place.assert_no_token_shown();
  }
}

void end_does_not_overtake_the_reports(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.as_user(master.url());
  context::CoreOptions options = place.options();
  options.close_limit = std::chrono::milliseconds(300);
  auto core = context::Core::start(options);
  master.add_fault({{"path", "metrics$"}, {"status", 503}, {"count", 100'000}});
  report_training(*core, 1, 0.5);
  const auto [message, trial] = leave(std::move(core), engine::RunEnd::ok, Code::timeout);
  assert_equal(trial_of(master, trial)["states"], Json{"STATE_RUNNING"});
  master.heal();
  client::open_client(master.url())->sync();
  assert_equal(trial_of(master, trial)["states"], Json{"STATE_RUNNING", "STATE_COMPLETED"});
}

void directory_half_made_is_cleared_by_sync(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.as_user(master.url());
  context::Core::start(place.options())->close(engine::RunEnd::ok);
  const fs::path half = rest_home(master.url()) / "runs/.part-x";
  fs::create_directory(half);
  client::open_client(master.url())->sync();
  assert_false(fs::exists(half));
}

void end_alone_that_could_not_be_told_is_told_by_sync(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.as_user(master.url());
  auto core = context::Core::start(place.options());
  report_training(*core, 1, 0.5);
  core->train().flush(std::nullopt);
  go_away(master);
  const auto [message, trial] = leave(std::move(core), engine::RunEnd::ok, Code::access);
  assert_true(contains(message, master.url()));
  master.heal();
  client::open_client(master.url())->sync();
  assert_equal(trial_of(master, trial)["states"], Json{"STATE_RUNNING", "STATE_COMPLETED"});
  assert_true(place.left_behind(master.url()).empty());
}

void end_of_a_deleted_trial_stands_in_nobodys_way(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.as_user(master.url());
  auto core = context::Core::start(place.options());
  go_away(master);
  leave(std::move(core), engine::RunEnd::ok, Code::access);
  master.heal();
  master.add_fault({{"path", "PATCH"}});
  const auto client = client::open_client(master.url());
  expect_error(Code::state, [&] { client->sync(); });  // the trial is there: it stays to be told
  fresh_master("0.38.1");                              // knows nothing of it
  client->sync();
  assert_true(place.left_behind(master.url()).empty());
}

void end_of_an_earlier_run_does_not_end_a_later_one(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.as_user(master.url());
  context::CoreOptions options = place.options();
  options.external_id = "t";
  auto first = context::Core::start(options);
  go_away(master);
  leave(std::move(first), engine::RunEnd::error, Code::access);
  master.heal();
  // It cannot be told before the later run begins either.
  master.add_fault({{"path", "PATCH"}, {"status", 401}});
  const auto second = context::Core::start(options);
  client::open_client(master.url())->sync();
  assert_equal(trial_of(master, *second)["state"], "STATE_RUNNING");
  second->close(engine::RunEnd::ok);
  assert_equal(trial_of(master, *second)["state"], "STATE_COMPLETED");
}

// In a process of its own, which is killed.
void report_to_nobody(const FakeMaster &master, Surroundings &place) {
  go_away(master);
  run_and_kill([&] {
    context::CoreOptions options = place.options();
    options.external_id = "t";
    // The start itself gets through.
    master.heal();
    const auto core = context::Core::start(options);
    go_away(master);
    for (int64_t step = 1; step <= 50; ++step) report_training(*core, step, 0.5);
    return core;
  });
  master.heal();
}

void journal_of_a_killed_process_is_shipped_by_the_next_start(void **) {
  for (const std::string version : unmanaged_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.as_user(master.url());
    report_to_nobody(master, place);
    context::CoreOptions options = place.options();
    options.external_id = "t";
    const auto core = context::Core::start(options);
    // Before the new run, which fences off the one before.
    assert_equal(steps_of(master, *core).size(), 50);
    assert_int_equal(core->info().run().run_id, 2);
    core->close(engine::RunEnd::ok);
    assert_true(place.left_behind(master.url()).empty());
  }
}

void journal_of_a_killed_process_is_shipped_by_sync(void **) {
  for (const std::string version : unmanaged_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.as_user(master.url());
    report_to_nobody(master, place);
    client::open_client(master.url())->sync();
    assert_equal(test::steps_of(master.state()).size(), 50);
    assert_true(place.left_behind(master.url()).empty());
  }
}

// Else the master takes it for dead while its last reports are on their way.
void heartbeat_goes_on_while_closing(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.as_user(master.url());
  const auto core = context::Core::start(place.options());
  master.add_fault({{"path", "metrics$"}, {"how", "hang"}, {"count", 100'000}});
  report_training(*core, 1, 0.5);
  std::thread closing([&] { core->close(engine::RunEnd::ok); });
  wait_until_so([&] {
    try {
      core->train().set_status("open");
      return false;
    } catch (const Error &) {
      return true;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  assert_int_equal(count_threads("det-watcher"), 1);  // which sends it
  master.heal();
  master.restart();
  closing.join();
  wait_until_so([] { return count_threads("det-watcher") == 0; });
  assert_equal(trial_of(master, *core)["state"], "STATE_COMPLETED");
}

// A token of this user, as `det login` gets one.
std::string log_in_by_hand(const FakeMaster &master, const std::string &user) {
  MasterSession session({.url = master.url()}, std::make_shared<Logger>());
  return log_in(session, user, "").token;
}

void sync_goes_on_with_another_login(void **) {
  const FakeMaster &master = fresh_master("0.38.1", {{"users", {{"bob", ""}}}});
  Surroundings place;
  place.as_user(master.url());
  report_to_nobody(master, place);
  unsetenv("DET_USER_TOKEN");
  unsetenv("DET_USER");
  config::store_token(master.url(), "bob", log_in_by_hand(master, "bob"), true);
  const auto client = client::open_client(master.url());
  const size_t before = requests_to(master, "metrics").size();
  master.add_fault({{"path", "metrics$"}, {"how", "delay"}, {"seconds", 1}, {"skip", 20}});
  Json done;
  std::thread syncing([&] { done = client->sync(); });
  wait_until_so([&] { return requests_to(master, "metrics").size() > before + 20; });
  // In the middle of it the token is revoked, and the user logs in again.
  master.control("POST", "/test/expire");
  config::store_token(master.url(), "bob", log_in_by_hand(master, "bob"), true);
  syncing.join();
  assert_int_equal(test::steps_of(master.state()).size(), 50);
  assert_int_equal(done["journals"][0]["reports"], 50);
}

void refused_reports_do_not_count_as_delivered(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.as_user(master.url());
  report_to_nobody(master, place);
  master.add_fault({{"path", "metrics$"}, {"status", 400}, {"count", 3}});
  const auto client = client::open_client(master.url());
  Json spools = client->sync()["journals"];
  assert_int_equal(spools.size(), 1);
  // Offered again in the same breath, they are taken.
  assert_int_equal(spools[0]["reports"], 50);
  assert_int_equal(spools[0]["refused"], 0);

  report_to_nobody(master, place);
  master.add_fault({{"path", "metrics$"}, {"status", 400}, {"count", 100'000}});
  spools = client->sync()["journals"];
  assert_int_equal(spools[0]["reports"], 0);
  assert_int_equal(spools[0]["refused"], 50);
}

void login_by_hand_is_seen_at_once(void **) {
  const FakeMaster &master = fresh_master("0.38.1", {{"users", {{"bob", ""}}}});
  Surroundings place;
  Surroundings::set("DET_MASTER", master.url());
  config::store_token(master.url(), "bob", log_in_by_hand(master, "bob"), true);
  const auto core = context::Core::start(place.options());
  master.control("POST", "/test/expire");
  report_training(*core, 1, 0.5);
  expect_error(Code::timeout, [&] { core->train().flush(std::chrono::seconds(1)); });
  config::store_token(master.url(), "bob", log_in_by_hand(master, "bob"), true);
  core->train().flush(std::chrono::seconds(30));  // half of what lies between two logins
  assert_equal(steps_of(master, *core), steps_to(1));
  core->close(engine::RunEnd::ok);
}

void older_master_has_no_place_for_such_trials(void **) {
  const FakeMaster &master = fresh_master("0.19.10");
  Surroundings place;
  place.as_user(master.url());
  const std::string message =
      expect_error(Code::unsupported, [&] { context::Core::start(place.options()); });
  assert_true(contains(message, "0.19.10") && contains(message, master.url()));
  assert_true(place.left_behind(master.url()).empty());
}

void user_logs_in_once(void **) {
  const FakeMaster &master = fresh_master("0.38.1", {{"users", {{"bob", "secret"}}}});
  Surroundings place;
  Surroundings::set("DET_MASTER", master.url());
  Surroundings::set("DET_USER", "bob");
  Surroundings::set("DET_PASS", "secret");
  for (int i = 0; i < 2; ++i) context::Core::start(place.options())->close(engine::RunEnd::ok);
  assert_int_equal(requests_to(master, "/auth/login").size(), 1);
  // The token of the login is in the user's cache and nowhere else.
  const std::string token = Json::parse(read_file(
      place.directory / "config" / "auth.json"))["masters"][master.url()]["tokens"]["bob"];
  assert_false(token.empty());
  for (const auto &entry : fs::recursive_directory_iterator(place.directory / "home"))
    if (entry.is_regular_file()) assert_false(contains(read_file(entry.path()), token));
  assert_false(contains(place.log(), token) || contains(place.log(), "secret"));
}

void wrong_password_is_told_without_it(void **) {
  const FakeMaster &master = fresh_master("0.38.1", {{"users", {{"bob", "secret"}}}});
  Surroundings place;
  Surroundings::set("DET_MASTER", master.url());
  Surroundings::set("DET_USER", "bob");
  Surroundings::set("DET_PASS", "wrong-one");
  const std::string message =
      expect_error(Code::access, [&] { context::Core::start(place.options()); });
  assert_true(contains(message, master.url()) && contains(message, "bob"));
  assert_false(contains(message, "wrong-one"));
}

}  // namespace

int test_unmanaged() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(masters_are_told_nothing_that_they_refuse),
      cmocka_unit_test(trial_is_made_where_none_is_named),
      cmocka_unit_test(trial_goes_on_by_its_external_ids),
      cmocka_unit_test(trial_goes_on_from_its_latest_checkpoint),
      cmocka_unit_test(deletion_killed_at_any_step_is_finished_by_the_next_run),
      cmocka_unit_test(trial_goes_on_by_its_number),
      cmocka_unit_test(end_is_told_as_it_was),
      cmocka_unit_test(core_that_is_dropped_ends_in_error),
      cmocka_unit_test(reports_and_end_that_could_not_be_told_are_told_by_sync),
      cmocka_unit_test(end_does_not_overtake_the_reports),
      cmocka_unit_test(directory_half_made_is_cleared_by_sync),
      cmocka_unit_test(end_alone_that_could_not_be_told_is_told_by_sync),
      cmocka_unit_test(end_of_a_deleted_trial_stands_in_nobodys_way),
      cmocka_unit_test(end_of_an_earlier_run_does_not_end_a_later_one),
      cmocka_unit_test(journal_of_a_killed_process_is_shipped_by_the_next_start),
      cmocka_unit_test(journal_of_a_killed_process_is_shipped_by_sync),
      cmocka_unit_test(heartbeat_goes_on_while_closing),
      cmocka_unit_test(sync_goes_on_with_another_login),
      cmocka_unit_test(refused_reports_do_not_count_as_delivered),
      cmocka_unit_test(login_by_hand_is_seen_at_once),
      cmocka_unit_test(older_master_has_no_place_for_such_trials),
      cmocka_unit_test(user_logs_in_once),
      cmocka_unit_test(wrong_password_is_told_without_it),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

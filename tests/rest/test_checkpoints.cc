// Checkpoints whose bytes are safe while the master is behind with reports, or away.
#include "core/client/client.h"
#include "tests/expect_error.h"
#include "tests/rest/surroundings.h"

namespace {

using namespace det;
using namespace det::master;
using namespace det::test;

constexpr std::array checkpoint_versions{"0.19.10", "0.33.0", "0.38.1"};

std::string save(context::Core &core, const Surroundings &place, int64_t steps) {
  fs::create_directories(place.directory / "model");
  write_file_durably(place.directory / "model" / "a", "x");
  return core.checkpoint().saver().upload(place.directory / "model",
                                          to_wire(Json{{"steps_completed", steps}}), false, {});
}

std::string checkpoint_state(const FakeMaster &master, const std::string &id) {
  const Json state = master.state();
  for (const Json &checkpoint : state["checkpoints"])
    if (checkpoint["uuid"] == id) return checkpoint["state"];
  return "unknown";
}

// Nothing that goes there is answered, until the master is healed and restarted.
Json held(const std::string &path) { return {{"path", path}, {"how", "hang"}, {"count", 100'000}}; }

void recover(const FakeMaster &master) {
  master.heal();
  master.restart();
}

// As masters answer whose database is away.
void lose_database(const FakeMaster &master) {
  master.add_fault({{"path", "trials|checkpoints"}, {"count", 100'000}});
}

void checkpoint_does_not_wait_for_reports_that_are_not_taken(void **) {
  for (const std::string version : checkpoint_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.in_task(master.url());
    const auto core = context::Core::start(place.options());
    master.add_fault(held("metrics$"));
    for (int64_t step = 1; step <= 5; ++step) report_training(*core, step, 0.5);
    const std::string id = save(*core, place, 5);
    assert_string_equal(checkpoint_state(master, id).c_str(), "STATE_COMPLETED");
    assert_int_equal(steps_of(master.state()).size(), 0);
    recover(master);
    core->close(engine::RunEnd::ok);
    assert_equal(steps_of(master.state()), steps_to(5));
    assert_int_equal(master.state()["checkpoints"].size(), 1);
  }
}

void checkpoint_waits_in_the_journal_for_a_master_that_is_away(void **) {
  for (const std::string version : checkpoint_versions)
    for (const Json &fault : {Json{{"how", "drop"}}, Json{{"status", 503}, {"body", "starting"}},
                              Json{{"status", 500}}, Json{{"status", 401}, {"body", "no token"}}}) {
      const FakeMaster &master = fresh_master(version);
      Surroundings place;
      place.in_task(master.url());
      const auto core = context::Core::start(place.options());
      Json always = fault;
      always["count"] = 100'000;
      always["path"] = "trials|checkpoints";
      master.add_fault(always);
      report_training(*core, 1, 0.5);
      const std::string id = save(*core, place, 1);
      assert_true(contains(place.log(), "saved checkpoint " + id));
      assert_true(contains(place.log(), "gets it later"));
      assert_string_equal(checkpoint_state(master, id).c_str(), "unknown");
      recover(master);
      core->close(engine::RunEnd::ok);
      assert_string_equal(checkpoint_state(master, id).c_str(), "STATE_COMPLETED");
      assert_equal(steps_of(master.state()), steps_to(1));
      assert_true(place.left_behind(master.url()).empty());
    }
}

// The next run of a trial on its own goes on from it; a cluster's next one is told by its master.
void checkpoint_that_waited_survives_a_kill(void **) {
  for (const std::string version : {"0.33.0", "0.38.1"}) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.as_user(master.url());
    const auto start = [&] {
      context::CoreOptions options = place.options();
      options.external_id = "t";
      return context::Core::start(options);
    };
    run_and_kill([&] {
      const std::shared_ptr<context::Core> core = start();
      report_training(*core, 30, 0.5);
      core->train().flush(std::nullopt);
      lose_database(master);
      for (int64_t step = 31; step <= 40; ++step) report_training(*core, step, 0.5);
      write_file_durably(place.directory / "id", save(*core, place, 40));
      return core;
    });
    const std::string id = read_file(place.directory / "id");
    assert_string_equal(checkpoint_state(master, id).c_str(), "unknown");
    master.heal();
    const auto core = start();
    assert_string_equal(checkpoint_state(master, id).c_str(), "STATE_COMPLETED");
    assert_string_equal(core->info().run().latest_checkpoint.value_or("none").c_str(), id.c_str());
    assert_int_equal(core->info().run().steps_completed, 40);
    assert_int_equal(steps_of(master.state(), core->info().run().trial_id).size(), 11);
    core->close(engine::RunEnd::ok);
  }
}

void sync_registers_a_checkpoint_that_waited(void **) {
  for (const std::string version : checkpoint_versions) {
    const FakeMaster &master = fresh_master(version);
    std::string id;
    Surroundings place;
    place.in_task(master.url());
    context::CoreOptions options = place.options();
    options.close_limit = std::chrono::milliseconds(300);
    {
      const auto core = context::Core::start(options);
      lose_database(master);
      report_training(*core, 1, 0.5);
      id = save(*core, place, 1);
      expect_error(Code::timeout, [&] { core->close(engine::RunEnd::ok); });
    }
    master.heal();
    place.as_user(master.url());
    client::open_client(master.url())->sync();
    assert_string_equal(checkpoint_state(master, id).c_str(), "STATE_COMPLETED");
    assert_equal(steps_of(master.state()), steps_to(1));
    assert_true(place.left_behind(master.url()).empty());
  }
}

// Asked to stop, a trial leaves: its checkpoint goes before the reports that cannot.
void trial_that_leaves_registers_its_checkpoint_first(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.in_task(master.url());
  context::CoreOptions options = place.options();
  options.close_limit = std::chrono::milliseconds(5000);
  const auto core = context::Core::start(options);
  lose_database(master);
  report_training(*core, 1, 0.5);
  const std::string id = save(*core, place, 1);
  master.heal(Json::array({held("metrics$")}));
  const std::string message = expect_error(Code::timeout, [&] { core->close(engine::RunEnd::ok); });
  assert_string_equal(checkpoint_state(master, id).c_str(), "STATE_COMPLETED");
  assert_int_equal(steps_of(master.state()).size(), 0);
  assert_true(contains(message, "within 5000 ms"));
  assert_false(contains(message, "()"));
  recover(master);
}

void checkpoint_that_waits_cannot_be_deleted_before_the_master_knows_it(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.in_task(master.url());
  const auto core = context::Core::start(place.options());
  lose_database(master);
  const std::string id = save(*core, place, 1);
  expect_error(Code::unavailable, [&] { core->checkpoint().remove(id); });
  assert_string_equal(core->checkpoint().catalog().metadata(id).dump().c_str(),
                      R"({"steps_completed":1})");
  recover(master);
  core->checkpoint().remove(id);
  core->close(engine::RunEnd::ok);
  assert_string_equal(checkpoint_state(master, id).c_str(), "STATE_DELETED");
  assert_true(place.left_behind(master.url()).empty());
}

void checkpoint_that_the_master_refuses_from_the_journal_is_told(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.in_task(master.url());
  const auto core = context::Core::start(place.options());
  // As often as it is tried before the journal has it.
  master.add_fault({{"path", "POST /api/v1/checkpoints$"}, {"status", 503}, {"count", 4}});
  master.add_fault({{"path", "POST /api/v1/checkpoints$"}, {"status", 400}, {"count", 100'000}});
  const std::string id = save(*core, place, 1);
  const std::string message =
      expect_error(Code::conflict, [&] { core->close(engine::RunEnd::ok); });
  assert_true(contains(message, "checkpoint " + id));
}

}  // namespace

int test_checkpoints() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(checkpoint_does_not_wait_for_reports_that_are_not_taken),
      cmocka_unit_test(checkpoint_waits_in_the_journal_for_a_master_that_is_away),
      cmocka_unit_test(checkpoint_that_waited_survives_a_kill),
      cmocka_unit_test(sync_registers_a_checkpoint_that_waited),
      cmocka_unit_test(trial_that_leaves_registers_its_checkpoint_first),
      cmocka_unit_test(checkpoint_that_waits_cannot_be_deleted_before_the_master_knows_it),
      cmocka_unit_test(checkpoint_that_the_master_refuses_from_the_journal_is_told),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

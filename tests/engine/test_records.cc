// What people note about experiments, and how they delete them.
#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

#include "core/base/file.h"
#include "tests/engine/suite.h"

namespace det::test {
namespace {

namespace fs = std::filesystem;

void notes_change_what_they_name(const World &world) {
  engine::RunRequest request = world.request();
  request.config["labels"] = {"first"};
  engine::start_live_run(request)->end(engine::RunExit::ok);
  engine::Engine engine = world.engine();
  assert_equal(engine.experiments().update(1, Json::object()).at("tags"), (Json{"first"}));
  const Json entry = engine.experiments().update(
      1, {{"name", "größer"}, {"notes", "a\nb"}, {"tags", {"x", "y", "x"}}, {"archived", true}});
  assert_equal(entry, engine.experiments()
                          .list({.filter = {.archived = engine::Archived::only}})
                          .at("experiments")[0]);
  assert_equal(entry.at("name"), "größer");
  assert_equal(entry.at("notes"), "a\nb");
  assert_equal(entry.at("tags"), (Json{"x", "y"}));
  assert_equal(entry.at("archived"), true);
  engine.experiments().update(1, {{"archived", false}});
  const Json trial = engine.trials().list(0, {}).at("trials")[0];
  assert_equal(trial.at("name"), "größer");
  assert_equal(trial.at("tags"), (Json{"x", "y"}));
  assert_equal(trial.at("archived"), false);
}

void secrets_of_a_configuration_are_in_no_record(const World &world) {
  const auto config_with = [&](const char *key) {
    engine::RunRequest request = world.request();
    request.external_id = "mine";
    request.config["checkpoint_storage"] = {
        {"type", "s3"}, {"bucket", "b"}, {"access_key", "KEY-ID-1"}, {"secret_key", key}};
    return request;
  };
  const auto key_of = [](const engine::LiveRun &run) {
    return run.info().config.at("checkpoint_storage").value("secret_key", "none");
  };
  const auto first = engine::start_live_run(config_with("SECRET-1"));
  assert_equal(key_of(*first), "SECRET-1");
  first->end(engine::RunExit::ok);
  engine::Engine engine = world.engine();
  for (const Json &shown : {engine.experiments().describe(1), engine.experiments().get(1)})
    assert_equal(shown.at("config").at("checkpoint_storage").at("secret_key"), "********");
  const fs::path kept = world.directory() / "experiments" / "1" / "secrets.json";
  struct stat about {};
  assert_int_equal(stat(kept.c_str(), &about), 0);
  assert_int_equal(about.st_mode & 07777, 0600);
  assert_int_equal(stat(kept.parent_path().c_str(), &about), 0);
  assert_int_equal(about.st_mode & 07777, 0700);
  for (const fs::directory_entry &file : fs::directory_iterator(world.directory()))
    if (file.is_regular_file())
      assert_true(read_file(file.path()).find("SECRET-1") == std::string::npos);

  const auto next = engine::start_live_run(config_with("SECRET-2"));  // the key has changed
  assert_equal(key_of(*next), "SECRET-2");
  next->end(engine::RunExit::ok);
  const auto last = world.resume(1);
  assert_equal(key_of(*last), "SECRET-2");
  last->end(engine::RunExit::ok);
  fs::remove(kept);  // as for another user
  const auto other = world.resume(1);
  assert_equal(key_of(*other), "none");
}

void a_start_that_gives_one_secret_keeps_the_others(const World &world) {
  engine::RunRequest request = world.request();
  request.external_id = "mine";
  request.config["checkpoint_storage"] = {{"type", "s3"}, {"bucket", "b"}, {"secret_key", "SK"}};
  request.config["data"] = {{"secrets", {{"token", "OLD"}}}};
  engine::start_live_run(request)->end(engine::RunExit::ok);
  request.config = {{"data", {{"secrets", {{"token", "NEW"}}}}}};
  const auto next = engine::start_live_run(request);
  assert_equal(next->info().config.at("checkpoint_storage").value("secret_key", "none"), "SK");
  assert_equal(next->info().config.at("data").at("secrets").at("token"), "NEW");
  next->end(engine::RunExit::ok);
}

void secrets_of_an_experiment_reach_its_trials_alone(const World &world) {
  const std::string original = "checkpoint_storage: {secret_key: SECRET-1}";
  const Json config{{"name", "x"},
                    {"searcher", {{"name", "single"}}},
                    {"environment", {{"registry_auth", {{"password", "SECRET-1"}}}}},
                    {"checkpoint_storage", {{"type", "s3"}, {"secret_key", "SECRET-1"}}}};
  engine::Engine engine = world.engine();
  const int64_t id = engine.experiments().create(config, original, {});
  assert_true(to_wire(engine.experiments().describe(id)).find("SECRET-1") == std::string::npos);
  for (const fs::directory_entry &file : fs::directory_iterator(world.directory()))
    if (file.is_regular_file())
      assert_true(read_file(file.path()).find("SECRET-1") == std::string::npos);
}

void notes_that_make_no_sense_change_nothing(const World &world) {
  world.start()->end(engine::RunExit::ok);
  const auto running = world.start();
  engine::Engine engine = world.engine();
  const Json before = engine.experiments().list({});
  for (const char *text :
       {R"([])", R"("x")", R"({"name": ""})", R"({"name": 1})", R"({"name": null})",
        R"({"notes": []})", R"({"tags": "x"})", R"({"tags": [1]})", R"({"tags": [""]})",
        R"({"archived": 1})", R"({"notes": "y", "note": "x"})"})
    expect_error(Code::invalid,
                 [&] { engine.experiments().update(1, parse_json(text, "changes")); });
  expect_error(Code::not_found, [&] { engine.experiments().update(9, {{"notes", "x"}}); });
  expect_error(Code::state, [&] {
    engine.experiments().update(2, {{"notes", "x"}, {"archived", true}});
  });
  assert_equal(engine.experiments().list({}), before);
}

void a_trial_of_an_archived_experiment_is_not_started(const World &world) {
  world.start()->end(engine::RunExit::ok);
  engine::Engine engine = world.engine();
  engine.experiments().update(1, {{"archived", true}});
  assert_true(expect_error(Code::state, [&] { world.resume(1); }).find("archived") !=
              std::string::npos);
  engine.experiments().update(1, {{"archived", false}});
  world.resume(1)->end(engine::RunExit::ok);
}

// An experiment with a checkpoint in `storage`, and something of everything else.
void fill(const World &world, const fs::path &storage) {
  auto run = world.start();
  for (const std::string id : {"first", "second"}) {
    fs::create_directories(storage / id);
    std::ofstream(storage / id / "model") << "weights";
    engine::CheckpointReport report = checkpoint(id, 10);
    report.storage = {{"type", "shared_fs"}, {"host_path", storage.string()}};
    run->checkpoints().report(report);
  }
  Report line;
  line.sequence = 2;
  line.kind = ReportKind::log;
  line.text = "line";
  deliver(*run, {validation(1, 10, 0.5), line});
  run->end(engine::RunExit::ok);
}

// Of each table that has one.
std::string tables_with_rows(const World &world) {
  engine::Store store(world.directory(), false, world.options());
  std::string tables;
  for (const char *table :
       {"experiments", "trials", "runs", "ranks", "operations", "metrics", "metric_names",
        "rollbacks", "journals", "checkpoints", "signals", "logs"})
    if (store.database().query(std::string("SELECT 1 FROM ") + table).next())
      tables += std::string(tables.empty() ? "" : " ") + table;
  return tables;
}

void delete_all(engine::Engine &engine, int64_t experiment_id) {
  engine.deletion(experiment_id).begin();
  engine.deletion(experiment_id).delete_files(quiet());
  engine.deletion(experiment_id).delete_records();
}

void what_is_deleted_leaves_nothing(const World &world) {
  const TemporaryDirectory storage;
  fill(world, storage.path());
  assert_string_equal(tables_with_rows(world).c_str(),
                      "experiments trials runs operations metrics metric_names rollbacks journals "
                      "checkpoints logs");
  engine::Engine engine = world.engine();
  const engine::KeptFiles deletion = engine.deletion(1).begin();
  assert_equal(deletion.storages.size(), 1U);
  assert_equal(engine.experiments().describe(1).at("state"), "DELETING");
  const engine::DeletedFiles deleted = engine.deletion(1).delete_files(quiet());
  assert_equal(deleted.checkpoints, 2);
  assert_equal(deleted.size, 200);
  assert_false(fs::exists(storage / "first") || fs::exists(storage / "second"));
  engine.deletion(1).delete_records();
  assert_string_equal(tables_with_rows(world).c_str(), "");
  expect_error(Code::not_found, [&] { engine.deletion(1).begin(); });
  world.start()->end(engine::RunExit::ok);
  assert_equal(engine.experiments().list({}).at("experiments")[0].at("id"), 2);
}

void what_is_not_over_is_not_deleted(const World &world) {
  const auto run = world.start();
  engine::Engine engine = world.engine();
  expect_error(Code::state, [&] { engine.deletion(1).begin(); });
  // Its state says that it is over, and its process has not left yet.
  engine::Store(world.directory(), false, world.options())
      .database()
      .run("UPDATE experiments SET state='COMPLETED'");
  assert_true(expect_error(Code::state, [&] { engine.deletion(1).begin(); }).find("still works") !=
              std::string::npos);
  expect_error(Code::not_found, [&] { engine.deletion(2).begin(); });
}

void checkpoints_that_somebody_needs_are_not_deleted(const World &world) {
  const TemporaryDirectory storage;
  fill(world, storage.path());
  engine::Engine engine = world.engine();
  engine::Store store(world.directory(), false, world.options());
  engine::RunRequest request = world.request();
  for (const Json &source :
       {Json{{"source_trial_id", 1}}, Json{{"source_checkpoint_uuid", "first"}}}) {
    request.config["searcher"].update(source);
    const auto user = engine::start_live_run(request);
    assert_true(expect_error(Code::state, [&] {
                  engine.deletion(1).begin();
                }).find("starts from") != std::string::npos);
    user->end(engine::RunExit::ok);
    request = world.request();
  }
  store.database().run("UPDATE checkpoints SET registered=1 WHERE uuid='second'");
  assert_true(expect_error(Code::state, [&] { engine.deletion(1).begin(); }).find("second") !=
              std::string::npos);
  store.database().run("UPDATE checkpoints SET registered=0");
  delete_all(engine, 1);
}

void what_was_cut_short_is_gone_on_with(const World &world) {
  const TemporaryDirectory storage;
  fill(world, storage.path());
  engine::Engine engine = world.engine();
  engine.deletion(1).begin();
  // As a process that is killed leaves it: nobody starts it again, and the next one goes on.
  assert_true(expect_error(Code::state, [&] { world.resume(1); }).find("being deleted") !=
              std::string::npos);
  engine::Store(world.directory(), false, world.options())
      .database()
      .run("UPDATE checkpoints SET state='PARTIALLY_DELETED'");
  fs::remove_all(storage / "first");
  delete_all(engine, 1);
  assert_string_equal(tables_with_rows(world).c_str(), "");
  assert_false(fs::exists(storage / "second"));
}

void files_that_cannot_be_deleted_keep_their_records(const World &world) {
  const TemporaryDirectory storage;
  fill(world, storage / "disk");
  engine::Engine engine = world.engine();
  fs::rename(storage / "disk", storage / "elsewhere");
  engine.deletion(1).begin();
  const std::string message =
      expect_error(Code::not_found, [&] { engine.deletion(1).delete_files(quiet()); });
  assert_true(message.find("checkpoint first") != std::string::npos &&
              message.find("mount it") != std::string::npos);
  engine.deletion(1).note_failure();
  assert_equal(engine.experiments().describe(1).at("state"), "DELETE_FAILED");
  expect_error(Code::state, [&] { world.resume(1); });
  fs::rename(storage / "elsewhere", storage / "disk");
  delete_all(engine, 1);
  assert_false(fs::exists(storage / "disk" / "first"));
}

}  // namespace
}  // namespace det::test

int test_records() {
  using namespace det::test;
  return run_over_stores(
      "records",
      {behaviour(secrets_of_a_configuration_are_in_no_record),
       behaviour(a_start_that_gives_one_secret_keeps_the_others),
       behaviour(secrets_of_an_experiment_reach_its_trials_alone),
       behaviour(notes_change_what_they_name), behaviour(notes_that_make_no_sense_change_nothing),
       behaviour(a_trial_of_an_archived_experiment_is_not_started),
       behaviour(what_is_deleted_leaves_nothing), behaviour(what_is_not_over_is_not_deleted),
       behaviour(checkpoints_that_somebody_needs_are_not_deleted),
       behaviour(what_was_cut_short_is_gone_on_with),
       behaviour(files_that_cannot_be_deleted_keep_their_records)});
}

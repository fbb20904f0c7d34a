// A store that is copied, moved, restored or reached another way acts on its own files only.
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/base/file.h"
#include "core/engine/experiment.h"
#include "core/engine/sqlite/connection.h"
#include "core/engine/store.h"
#include "core/journal/run_directory.h"
#include "core/storage/storage.h"
#include "tests/engine/suite.h"

namespace det::test {
namespace {

namespace fs = std::filesystem;

Json storage_in(const fs::path &directory) {
  return {{"type", "shared_fs"}, {"host_path", directory.string()}};
}

engine::CheckpointReport stored_checkpoint(const std::string &id, int64_t steps,
                                           const fs::path &directory) {
  fs::create_directories(directory / id);
  std::ofstream(directory / id / "model") << std::string(100, 'm');
  return {id, {{"steps_completed", steps}}, {{"model", 100}}, storage_in(directory)};
}

bool has_files(const fs::path &directory, const std::string &id) {
  return fs::exists(directory / id / "model");
}

fs::path home_of_world(const World &world) { return world.directory().parent_path(); }

engine::Engine open(const World &world, const fs::path &home) {
  return engine::Engine(home / ".detcore", false, world.options());
}

std::unique_ptr<engine::LiveRun> resume_in(const World &world, const fs::path &home,
                                           int64_t trial_id) {
  engine::RunRequest request = world.request();
  request.store_directory = home / ".detcore";
  request.trial_id = trial_id;
  return engine::start_live_run(request);
}

std::string place_of(engine::Engine &engine, const std::string &id) {
  const Json storage = engine.checkpoints().get(id).at("storage");
  const fs::path base = storage.at("host_path").get<std::string>();
  return storage.contains("storage_path")
             ? (base / storage.at("storage_path").get<std::string>()).string()
             : base.string();
}

// A trial that has ended, with a checkpoint in `directory`.
int64_t trial_with_checkpoint(const World &world, const std::string &id,
                              const fs::path &directory) {
  auto run = world.start();
  run->checkpoints().report(stored_checkpoint(id, 5, directory));
  run->operations().complete(10, {});
  run->end(engine::RunExit::ok);
  return run->info().trial_id;
}

// Beside the home of the world, and away with it.
fs::path beside(const World &world, const char *name) {
  fs::path place = home_of_world(world);
  place += name;
  fs::remove_all(place);
  return place;
}

void copy_tree(const fs::path &from, const fs::path &to) {
  const std::string command = "cp -a '" + from.string() + "' '" + to.string() + "'";
  assert_int_equal(std::system(command.c_str()), 0);
}

fs::path copy_of(const World &world) {
  const fs::path copy = beside(world, "-copy");
  copy_tree(home_of_world(world), copy);
  return copy;
}

void a_copy_deletes_its_own_files(const World &world) {
  const fs::path home = home_of_world(world);
  trial_with_checkpoint(world, "there", home);
  trial_with_checkpoint(world, "below", home / "kept" / "here");
  const fs::path copy = copy_of(world);
  engine::Engine engine = open(world, copy);
  assert_equal(place_of(engine, "there"), copy.string());
  assert_equal(place_of(engine, "below"), (copy / "kept/here").string());
  engine.checkpoints().remove("there", quiet());
  engine.deletion(2).begin();
  engine.deletion(2).delete_files(quiet());
  assert_false(has_files(copy, "there") || has_files(copy / "kept/here", "below"));
  assert_true(has_files(home, "there") && has_files(home / "kept/here", "below"));
  engine::Engine original = world.engine();
  assert_equal(original.checkpoints().get("there").at("state").get<std::string>(), "COMPLETED");
  assert_equal(place_of(original, "there"), home.string());
  fs::remove_all(copy);
}

void a_link_out_of_a_copy_leads_to_files_of_the_other(const World &world) {
  const fs::path outside = beside(world, "-outside"), link = home_of_world(world) / "kept";
  fs::create_directories(outside);
  fs::create_directory_symlink(outside, link);
  trial_with_checkpoint(world, "shared", link);
  {
    engine::RunRequest request = world.request();
    request.config["checkpoint_storage"] = storage_in(link);
    auto run = engine::start_live_run(request);
    run->operations().complete(10, {});
    run->end(engine::RunExit::ok);
  }
  const fs::path copy = copy_of(world);
  engine::Engine engine = open(world, copy);
  expect_error(Code::state, [&] { engine.checkpoints().remove("shared", quiet()); });
  expect_error(Code::state, [&] { engine.deletion(1).begin(); });
  expect_error(Code::state, [&] { engine.deletion(2).begin(); });
  world.engine().checkpoints().remove("shared", quiet());
  assert_false(has_files(outside, "shared"));
  fs::remove(link);
  fs::remove_all(copy);
  fs::remove_all(outside);
}

void a_copy_deletes_what_says_only_how_many_stay(const World &world) {
  engine::RunRequest request = world.request();
  request.config["checkpoint_storage"] = {{"save_trial_latest", 2}};
  auto run = engine::start_live_run(request);
  run->operations().complete(10, {});
  run->end(engine::RunExit::ok);
  const fs::path copy = copy_of(world);
  engine::Engine engine = open(world, copy);
  engine.deletion(1).begin();
  engine.deletion(1).delete_files(quiet());
  fs::remove_all(copy);
}

void files_outside_stay_while_another_store_has_them(const World &world) {
  const fs::path outside = beside(world, "-outside");
  trial_with_checkpoint(world, "shared", outside);
  const fs::path copy = copy_of(world);
  engine::Engine engine = open(world, copy);
  const std::string told =
      expect_error(Code::state, [&] { engine.checkpoints().remove("shared", quiet()); });
  assert_true(contains(told, "is a copy of the one in '" + home_of_world(world).string() + "'"));
  expect_error(Code::state, [&] { engine.deletion(1).begin(); });
  {
    auto run = resume_in(world, copy, 1);
    expect_error(Code::state, [&] { run->checkpoints().withdraw("shared"); });
    // What the copy has saved itself is its own.
    run->checkpoints().report(stored_checkpoint("own", 6, outside));
    assert_true(run->checkpoints().withdraw("own"));
    assert_true(run->checkpoints().reinstate("own"));
  }
  engine.checkpoints().remove("own", quiet());
  assert_true(has_files(outside, "shared"));
  // It takes the place of the other.
  const fs::path gone = beside(world, "-gone");
  fs::rename(world.directory(), gone);
  engine.checkpoints().remove("shared", quiet());
  assert_false(has_files(outside, "shared"));
  fs::rename(gone, world.directory());
  fs::remove_all(copy);
  fs::remove_all(outside);
}

void a_store_that_was_moved_has_its_files(const World &world) {
  const fs::path home = home_of_world(world);
  const int64_t trial_id = trial_with_checkpoint(world, "there", home);
  {
    engine::Engine engine = world.engine();
    engine.experiments().create({{"name", "led"}, {"checkpoint_storage", storage_in(home)}}, "",
                                {});
  }
  const fs::path moved = beside(world, "-moved");
  fs::rename(home, moved);
  {
    engine::Engine engine = open(world, moved);
    assert_equal(place_of(engine, "there"), moved.string());
    assert_equal(engine.experiments().read(2).config.at("checkpoint_storage"), storage_in(moved));
    assert_equal(engine.experiments().describe(2).at("config").at("checkpoint_storage"),
                 storage_in(moved));
    assert_equal(engine.deletion(2).kept_files().storages.at(0), storage_in(moved));
    auto run = resume_in(world, moved, trial_id);
    assert_equal(*run->info().latest_checkpoint, "there");
    run->end(engine::RunExit::ok);
    engine.checkpoints().remove("there", quiet());
    assert_false(has_files(moved, "there"));
  }
  assert_false(fs::exists(home));
  fs::rename(moved, home);
}

void a_backup_that_was_restored_has_its_files(const World &world) {
  const fs::path home = home_of_world(world);
  const fs::path outside = beside(world, "-outside");
  trial_with_checkpoint(world, "there", home);
  trial_with_checkpoint(world, "outside", outside);
  const fs::path backup = copy_of(world);
  fs::remove_all(home);
  copy_tree(backup, home);
  fs::remove_all(backup);
  engine::Engine engine = world.engine();
  engine.checkpoints().remove("there", quiet());
  engine.checkpoints().remove("outside", quiet());
  assert_false(has_files(home, "there") || has_files(outside, "outside"));
  fs::remove_all(outside);
}

// As it is seen in another way.
void use_another_way(const World &world, const fs::path &other, int64_t trial_id) {
  engine::Engine engine = open(world, other);
  assert_equal(place_of(engine, "there"), other.string());
  assert_true(engine.trials().get(trial_id).at("running").get<bool>());
  assert_equal(place_of(engine, "new"), other.string());
  engine.checkpoints().remove("outside", quiet());
  engine.checkpoints().remove("there", quiet());
}

void a_link_to_it_is_another_way_to_it(const World &world) {
  const fs::path home = home_of_world(world);
  const fs::path outside = beside(world, "-outside");
  const fs::path link = beside(world, "-link");
  auto run = world.start();
  run->checkpoints().report(stored_checkpoint("there", 1, home));
  run->checkpoints().report(stored_checkpoint("outside", 2, outside));
  fs::create_directory_symlink(home, link);
  // A storage that is named by the other way is in the store all the same.
  run->checkpoints().report(stored_checkpoint("new", 3, link));
  use_another_way(world, link, run->info().trial_id);
  assert_false(has_files(home, "there") || has_files(outside, "outside"));
  assert_true(has_files(home, "new"));
  run->end(engine::RunExit::ok);
  fs::remove(link);
  fs::remove_all(outside);
}

void a_bind_mount_is_another_way_to_it(const World &world) {
  const fs::path home = home_of_world(world);
  const fs::path outside = beside(world, "-outside");
  const fs::path mounted = beside(world, "-mounted");
  auto run = world.start();
  run->checkpoints().report(stored_checkpoint("there", 1, home));
  run->checkpoints().report(stored_checkpoint("outside", 2, outside));
  run->checkpoints().report(stored_checkpoint("new", 3, home));
  fs::create_directories(mounted);
  const pid_t child = fork();
  if (child == 0) {
    const int space = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (unshare(space) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(home.c_str(), mounted.c_str(), nullptr, MS_BIND, nullptr) != 0)
      _exit(77);
    use_another_way(world, mounted, run->info().trial_id);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) != 77) {
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_false(has_files(home, "there") || has_files(outside, "outside"));
    assert_true(has_files(home, "new"));
  }
  run->end(engine::RunExit::ok);
  fs::remove_all(mounted);
  fs::remove_all(outside);
}

void a_copy_leaves_the_processes_of_the_other_alone(const World &world) {
  auto run = world.start();
  const int64_t trial_id = run->info().trial_id;
  const fs::path copy = copy_of(world);
  engine::Engine engine = open(world, copy);
  const Json trial = engine.trials().get(trial_id);
  assert_false(trial.at("running").get<bool>());
  assert_equal(trial.at("runs")[0].at("exit").get<std::string>(), "died");
  // It would be this process that is killed.
  engine.control().act(engine::Target::trial, trial_id, engine::Action::kill);
  assert_equal(state_of_trial(engine, trial_id), "CANCELED");
  auto next = resume_in(world, copy, trial_id);
  assert_int_equal(next->info().run_id, 2);
  next->end(engine::RunExit::ok);
  engine::Engine original = world.engine();
  assert_true(original.trials().get(trial_id).at("running").get<bool>());
  run->end(engine::RunExit::ok);
  fs::remove_all(copy);
}

std::string id_of(const World &world, const fs::path &home) {
  engine::Store store(home / ".detcore", false, world.options());
  engine::Query id = store.database().query("SELECT value FROM meta WHERE key='cluster_id'");
  id.next();
  return id.text(0);
}

// A storage as a run of the store of that id has it.
std::unique_ptr<storage::Storage> storage_of(const std::string &cluster_id,
                                             const fs::path &directory) {
  auto storage = storage::make_storage(storage_in(directory), std::nullopt,
                                       std::make_shared<Logger>(LogLevel::error));
  storage->serve(cluster_id);
  return storage;
}

void in_a_process_of_its_own(const std::function<void()> &body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

void a_copy_leaves_what_the_other_saves_outside_alone(const World &world) {
  const fs::path home = home_of_world(world), outside = beside(world, "-outside");
  const fs::path source = beside(world, "-source");
  stored_checkpoint("files", 1, source);
  const std::string id = id_of(world, home), owner = "trial 1 of " + id;
  trial_with_checkpoint(world, "first", outside);
  in_a_process_of_its_own([&] {
    const auto storage = storage_of(id, outside);
    auto unreported = storage->begin("unreported"), sealed = storage->begin("sealed");
    unreported->add(source / "files", std::nullopt);
    unreported->commit();
    sealed->copy(source / "files", std::nullopt);
    sealed->seal(owner);
    sealed->finish({"model"});
    _exit(0);
  });
  const fs::path copy = copy_of(world);
  const auto run = resume_in(world, copy, 1);
  const std::string own = run->info().cluster_id;
  assert_true(own != id && own == id_of(world, copy));
  {
    const auto storage = storage_of(own, outside);
    assert_true(storage->take_sealed("trial 1 of " + own).empty());
    assert_true(storage->sweep().empty());
  }
  run->end(engine::RunExit::ok);
  assert_equal(id_of(world, home), id);
  const auto storage = storage_of(id, outside);
  assert_int_equal(storage->take_sealed(owner).size(), 1);
  assert_equal(storage->sweep(), std::vector<std::string>{"unreported"});
  assert_true(has_files(outside, "unreported"));
  for (const fs::path &gone : {copy, outside, source}) fs::remove_all(gone);
}

void a_copy_of_a_copy_knows_both(const World &world) {
  const fs::path home = home_of_world(world), outside = beside(world, "-outside");
  const std::string id = id_of(world, home);
  trial_with_checkpoint(world, "first", outside);
  const fs::path copy = copy_of(world), second = beside(world, "-second");
  auto run = resume_in(world, copy, 1);
  run->checkpoints().report(stored_checkpoint("second", 6, outside));
  copy_tree(copy, second);
  engine::Engine engine = open(world, second);
  assert_false(engine.trials().get(1).at("running").get<bool>());
  assert_true(id_of(world, second) != run->info().cluster_id);
  assert_equal(engine.deletion(1).kept_files().cluster_ids,
               (std::vector<std::string>{id_of(world, second), id, run->info().cluster_id}));
  const auto told = [&](const char *checkpoint) {
    return expect_error(Code::state, [&] { engine.checkpoints().remove(checkpoint, quiet()); });
  };
  assert_true(contains(told("first"), "'" + home.string() + "'"));
  assert_true(contains(told("second"), "'" + copy.string() + "'"));
  assert_true(has_files(outside, "first") && has_files(outside, "second"));
  run->end(engine::RunExit::ok);
  for (const fs::path &gone : {copy, second, outside}) fs::remove_all(gone);
}

void a_backup_that_was_looked_at_is_the_store_again(const World &world) {
  const fs::path home = home_of_world(world), outside = beside(world, "-outside");
  const std::string id = id_of(world, home);
  trial_with_checkpoint(world, "first", outside);
  const fs::path backup = copy_of(world);
  const std::string others = id_of(world, backup);
  assert_true(others != id);
  fs::remove_all(home);
  copy_tree(backup, home);
  assert_equal(id_of(world, home), id);
  engine::Engine engine = world.engine();
  assert_equal(engine.deletion(1).kept_files().cluster_ids, (std::vector<std::string>{id, others}));
  expect_error(Code::state, [&] { open(world, backup).checkpoints().remove("first", quiet()); });
  engine.checkpoints().remove("first", quiet());
  assert_false(has_files(outside, "first"));
  for (const fs::path &gone : {backup, outside}) fs::remove_all(gone);
}

// Whether the run of trial 1 goes on, as a store that is at another place than before has it.
bool goes_on(const World &world, const fs::path &home) {
  return open(world, home).trials().get(1).at("runs")[0].at("exit").is_null();
}

// As a network file system does it.
void a_store_whose_files_are_numbered_differently_is_no_copy(const World &world) {
  const fs::path home = home_of_world(world), mounted = beside(world, "-mounted");
  const fs::path database = beside(world, "-database");
  in_a_process_of_its_own([&] { world.start().release(); });
  const std::string id = id_of(world, home);
  fs::create_directories(mounted);
  fs::copy_file(engine::store_path(home / ".detcore"), database);
  in_a_process_of_its_own([&] {
    const int space = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    const fs::path seen = engine::store_path(mounted / ".detcore");
    if (unshare(space) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(home.c_str(), mounted.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        mount(database.c_str(), seen.c_str(), nullptr, MS_BIND, nullptr) != 0)
      _exit(0);
    if (!goes_on(world, mounted) || id_of(world, mounted) != id) _exit(1);
  });
  fs::remove_all(mounted);
  fs::remove(database);
}

void a_store_that_is_worked_on_is_no_copy(const World &world) {
  const auto run = world.start();
  const fs::path copy = copy_of(world);
  {
    const auto owner =
        OwnerLock::take_over(journal::owner_file(journal::run_directory(copy / ".detcore", 1, 1)));
    assert_true(owner.has_value());
    assert_true(goes_on(world, copy));
    assert_equal(id_of(world, copy), run->info().cluster_id);
  }
  assert_false(goes_on(world, copy));
  assert_true(id_of(world, copy) != run->info().cluster_id);
  run->end(engine::RunExit::ok);
  fs::remove_all(copy);
}

// The store of the release before places were relative, as `home` had it, for `now`.
void lay_earlier(const World &world, const fs::path &home, const fs::path &now,
                 const std::string &more = {}) {
  std::string sql = read_file(TEST_DATA "/store/v8.sql");
  for (size_t at = 0; (at = sql.find("/HOME", at)) != sql.npos;) sql.replace(at, 5, home.string());
  fs::remove_all(world.directory());
  fs::create_directories(now / ".detcore");
  engine::SqliteConnection(engine::store_path(now / ".detcore"),
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, world.options().busy_timeout)
      .run_script((sql + more).c_str());
}

void upgrade(const World &world, const fs::path &home, const fs::path &now) {
  lay_earlier(world, home, now);
  stored_checkpoint("11111111-1111-4111-8111-111111111111", 10, now);
  stored_checkpoint("22222222-2222-4222-8222-222222222222", 20, now / "inner");
  engine::Engine engine = open(world, now);
  assert_equal(place_of(engine, "11111111-1111-4111-8111-111111111111"), now.string());
  assert_equal(place_of(engine, "22222222-2222-4222-8222-222222222222"), (now / "inner").string());
  assert_equal(place_of(engine, "33333333-3333-4333-8333-333333333333"), "/elsewhere");
  assert_equal(engine.checkpoints().get("44444444-4444-4444-8444-444444444444").at("storage"),
               Json({{"type", "s3"}, {"bucket", "b"}, {"prefix", "p"}}));
  const Json config = engine.experiments().describe(1).at("config");
  assert_equal(config.at("checkpoint_storage").at("host_path").get<std::string>(), now.string());
  assert_int_equal(config.at("checkpoint_storage").at("save_trial_best").get<int64_t>(), 2);
  engine.checkpoints().remove("11111111-1111-4111-8111-111111111111", quiet());
  assert_false(has_files(now, "11111111-1111-4111-8111-111111111111"));
  // What trials start from is known as before.
  const std::string told = expect_error(Code::state, [&] {
    engine.checkpoints().remove("22222222-2222-4222-8222-222222222222", quiet());
  });
  assert_true(contains(told, "starts from it"));
}

void the_places_of_an_earlier_release_become_relative(const World &world) {
  upgrade(world, home_of_world(world), home_of_world(world));
}

// Whoever opens it first may be anywhere.
void what_was_relative_to_a_program_stays_where_that_was_started(const World &world) {
  const fs::path home = home_of_world(world);
  lay_earlier(world, home, home, R"(
      INSERT INTO experiments (id, name, state, config, created)
          VALUES (3, 'text', 'COMPLETED', '{"checkpoint_storage":"kept"}', 1);
      INSERT INTO trials (id, experiment_id, state, hparams, seed, task_id, created)
          VALUES (2, 3, 'COMPLETED', '{}', 1, 'second', 1);
      INSERT INTO runs (trial_id, run_id, allocation_id, journal_id, process, command, started, exit)
          VALUES (2, 1, 'second.1', '', '{}', './text', 1, 'ok');
      UPDATE experiments SET config='{"checkpoint_storage":"kept"}' WHERE id=2;
      UPDATE runs SET process=json_set(process, '$.directory', '/started/here');
      UPDATE experiments SET config=json_set(config, '$.checkpoint_storage',
          json('{"type":"directory","container_path":"kept"}')) WHERE id=1;
      UPDATE checkpoints SET storage='{"type":"directory","container_path":"./kept"}' WHERE id=1;
      UPDATE checkpoints SET storage='{"type":"directory","container_path":"kept"}', run_id=9
          WHERE id=3;)");
  engine::Engine engine = open(world, home);
  const auto directory = [](const Json &storage) {
    return storage.at("container_path").get<std::string>();
  };
  const auto of = [&](const char *id) {
    return directory(engine.checkpoints().get(id).at("storage"));
  };
  assert_equal(of("11111111-1111-4111-8111-111111111111"), "/started/here/kept");
  assert_equal(directory(engine.experiments().describe(1).at("config").at("checkpoint_storage")),
               "/started/here/kept");
  assert_equal(engine.experiments().describe(3).at("config").at("checkpoint_storage"),
               storage_in("/started/here/kept"));
  // Of a run that is not known.
  assert_equal(engine.experiments().describe(2).at("config").at("checkpoint_storage"), "kept");
  assert_equal(of("33333333-3333-4333-8333-333333333333"), (home / "kept").string());
}

void a_path_in_text_is_recorded_as_the_program_has_it(const World &world) {
  engine::RunRequest request = world.request();
  request.config["checkpoint_storage"] = "kept";
  engine::start_live_run(request)->end(engine::RunExit::ok);
  assert_equal(world.engine().experiments().describe(1).at("config").at("checkpoint_storage"),
               storage_in(fs::current_path() / "kept"));
}

void so_do_those_of_a_store_that_was_moved_before(const World &world) {
  upgrade(world, "/gone/away", home_of_world(world));
}

// A copy that both releases have used: what it has saved itself is its own.
void a_copy_of_an_earlier_release_receives_an_id_of_its_own(const World &world) {
  const fs::path home = home_of_world(world), before = beside(world, "-before");
  const fs::path outside = beside(world, "-outside");
  const std::string own_rows =
      "UPDATE checkpoints SET storage=json_object('type', 'shared_fs', 'host_path', '" +
      outside.string() + "') WHERE id IN (3, 4);";
  lay_earlier(world, before, before, own_rows);
  lay_earlier(world, before, home, own_rows + "UPDATE checkpoints SET uuid='own' WHERE id=4;");
  stored_checkpoint("11111111-1111-4111-8111-111111111111", 10, home);
  stored_checkpoint("33333333-3333-4333-8333-333333333333", 30, outside);
  stored_checkpoint("own", 40, outside);
  engine::Engine engine = open(world, home);
  assert_true(id_of(world, home) != id_of(world, before));
  engine.checkpoints().remove("own", quiet());
  const std::string told = expect_error(Code::state, [&] {
    engine.checkpoints().remove("33333333-3333-4333-8333-333333333333", quiet());
  });
  assert_true(contains(told, "copy of the one in '" + before.string() + "'"));
  assert_true(has_files(outside, "33333333-3333-4333-8333-333333333333"));
  for (const fs::path &gone : {before, outside}) fs::remove_all(gone);
}

void so_do_those_of_a_store_that_was_copied_before(const World &world) {
  const fs::path before = beside(world, "-before");
  stored_checkpoint("11111111-1111-4111-8111-111111111111", 10, before);
  upgrade(world, before, home_of_world(world));
  assert_true(has_files(before, "11111111-1111-4111-8111-111111111111"));
  fs::remove_all(before);
}

void the_secrets_of_an_earlier_release_are_hidden(const World &world) {
  const fs::path home = home_of_world(world);
  lay_earlier(world, home, home, R"sql(
      UPDATE experiments SET config=json_set(config, '$.checkpoint_storage',
          json('{"type": "s3", "bucket": "b", "secret_key": "Xyzzy"}')),
          original_config='checkpoint_storage: {bucket: b, secret_key: Xyzzy}' WHERE id=1;)sql");
  engine::Engine engine = open(world, home);
  const Json storage = engine.experiments().describe(1).at("config").at("checkpoint_storage");
  assert_equal(storage, Json({{"type", "s3"}, {"bucket", "b"}, {"secret_key", "********"}}));
  engine::Database store = engine::open_store(home / ".detcore", false, world.options());
  engine::Query row = store.query("SELECT config || original_config FROM experiments WHERE id=1");
  assert_true(row.next());
  assert_false(contains(row.text(0), "Xyzzy"));
  const fs::path file = engine::experiment_directory(home / ".detcore", 1) / "secrets.json";
  assert_equal(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  assert_equal(engine::kept_secrets(home / ".detcore", 1),
               Json({{"checkpoint_storage", {{"secret_key", "Xyzzy"}}}}));
}

}  // namespace
}  // namespace det::test

int test_places() {
  using namespace det::test;
  return run_over_stores("places",
                         {behaviour(a_copy_deletes_its_own_files),
                          behaviour(a_link_out_of_a_copy_leads_to_files_of_the_other),
                          behaviour(a_copy_deletes_what_says_only_how_many_stay),
                          behaviour(files_outside_stay_while_another_store_has_them),
                          behaviour(a_store_that_was_moved_has_its_files),
                          behaviour(a_backup_that_was_restored_has_its_files),
                          behaviour(a_link_to_it_is_another_way_to_it),
                          behaviour(a_bind_mount_is_another_way_to_it),
                          behaviour(a_copy_leaves_the_processes_of_the_other_alone),
                          behaviour(a_copy_leaves_what_the_other_saves_outside_alone),
                          behaviour(a_copy_of_a_copy_knows_both),
                          behaviour(a_backup_that_was_looked_at_is_the_store_again),
                          behaviour(a_store_whose_files_are_numbered_differently_is_no_copy),
                          behaviour(a_store_that_is_worked_on_is_no_copy),
                          behaviour(the_places_of_an_earlier_release_become_relative),
                          behaviour(so_do_those_of_a_store_that_was_moved_before),
                          behaviour(a_copy_of_an_earlier_release_receives_an_id_of_its_own),
                          behaviour(a_path_in_text_is_recorded_as_the_program_has_it),
                          behaviour(what_was_relative_to_a_program_stays_where_that_was_started),
                          behaviour(so_do_those_of_a_store_that_was_copied_before),
                          behaviour(the_secrets_of_an_earlier_release_are_hidden)});
}

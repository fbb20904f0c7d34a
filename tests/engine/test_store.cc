#include <sqlite3.h>
#include <sys/stat.h>

#include <fstream>

#include "core/engine/engine.h"
#include "core/engine/experiment.h"
#include "core/engine/sqlite/migrations.h"
#include "core/journal/spool.h"
#include "tests/cmocka.h"
#include "tests/engine/home.h"

namespace det::test {
namespace {

// A database at the place of the store, made by `sql`.
void make_database(const Home &home, const std::string &sql) {
  make_directories(home.store(), 0700);
  engine::SqliteConnection connection(engine::store_path(home.store()),
                                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                      std::chrono::milliseconds(1000));
  connection.run_script(sql.c_str());
}

void an_absent_store_is_made_only_when_asked_for(void **) {
  const Home home;
  std::string message;
  assert_int_equal(
      static_cast<int>(code_of([&] { engine::open_store(home.store(), false, {}); }, &message)),
      static_cast<int>(Code::not_found));
  assert_true(contains(message, "DET_HOME"));
  assert_false(std::filesystem::exists(home.store()));
  engine::open_store(home.store(), true, {});
  engine::open_store(home.store(), false, {});
}

void only_its_owner_can_read_it(void **) {
  const Home home;
  engine::open_store(home.store(), true, {});
  struct stat about {};
  stat(engine::store_path(home.store()).c_str(), &about);
  assert_int_equal(about.st_mode & 0777, 0600);
  stat(home.store().c_str(), &about);
  assert_int_equal(about.st_mode & 0777, 0700);
}

void each_file_is_private_whatever_the_umask(void **) {
  const Home home;
  const mode_t before = umask(0);
  {
    const auto run = home.start();
    const auto spool = journal::Spool::create(run->run_directory(), journal_of(*run));
    deliver(*run, {metrics(1, "training", 1, {{"loss", 1}})});
    const engine::SupervisorSeat seat(home.store(), 1);
    const auto taken_over = OwnerLock::take_over(home.store() / "another");
    for (const auto &entry : std::filesystem::recursive_directory_iterator(home.store())) {
      struct stat about {};
      assert_int_equal(stat(entry.path().c_str(), &about), 0);
      if ((about.st_mode & 077) != 0)
        print_error("%s: %o\n", entry.path().c_str(), about.st_mode & 0777);
      assert_int_equal(about.st_mode & 077, 0);
    }
  }
  umask(before);
}

// What SQLite wrote into it would be gone with it.
void a_store_that_was_deleted_is_told(void **) {
  const Home home;
  const auto run = home.start();
  deliver(*run, {metrics(1, "training", 1, {{"loss", 1}})});
  std::filesystem::remove_all(home.store());
  std::string message;
  const auto code = [&](const auto &call) { return static_cast<int>(code_of(call, &message)); };
  const int io = static_cast<int>(Code::io);
  assert_int_equal(code([&] { deliver(*run, {metrics(2, "training", 2, {{"loss", 1}})}); }), io);
  assert_int_equal(code([&] { run->end_run(engine::RunEnd::ok); }), io);
  if (!contains(message, "deleted")) fail_msg("%s", message.c_str());
}

void a_store_in_the_place_of_another_is_not_written_to(void **) {
  const Home home;
  const Home other;
  const auto run = home.start();
  other.start();
  std::filesystem::remove_all(home.store());
  std::filesystem::rename(other.store(), home.store());
  std::string message;
  assert_int_equal(static_cast<int>(code_of([&] { run->end_run(engine::RunEnd::ok); }, &message)),
                   static_cast<int>(Code::io));
  if (!contains(message, "replaced")) fail_msg("%s", message.c_str());
  assert_int_equal(home.count("SELECT COUNT(*) FROM runs WHERE exit='ok'"), 0);
}

void upgrade(const std::string &file, int64_t logs) {
  const Home home;
  make_database(home, read_file(TEST_DATA "/store/" + file));
  assert_int_equal(home.count("PRAGMA user_version"), 9);
  assert_int_equal(home.count("SELECT COUNT(*) FROM logs"), logs);
  engine::Database store = home.look();
  const std::vector<engine::RankRecord> ranks = engine::ranks_of(store, 1, 1);
  assert_int_equal(ranks.size(), 1);
  assert_string_equal(ranks[0].place.process.host.c_str(), "old");
  assert_string_equal(ranks[0].exit.value_or("").c_str(), "preempted");
  assert_string_equal(home.text("SELECT group_concat(metrics, '') FROM metrics").c_str(),
                      R"({"loss":0.5}{"accuracy":0.875})");
  {
    engine::Engine records(home.store());
    assert_string_equal(records.metrics().names(1).dump().c_str(),
                        R"({"training":["loss"],"validation":["accuracy"]})");
    assert_string_equal(records.experiments().describe(1).at("tags").dump().c_str(), "[]");
  }
  const auto run = home.resume(1);
  assert_int_equal(run->info().run_id, 2);
  assert_int_equal(run->info().trial_seed, 42);
  assert_int_equal(run->info().steps_completed, 10);
  assert_string_equal(run->info().cluster_id.c_str(), "7b0c2f0e-4d7e-4b53-9a55-0d8c1f6a2e11");
  assert_equal(run->best_validation().value_or(0), 0.875);
}

void old_stores_are_upgraded_with_all_their_data(void **) {
  upgrade("v1.sql", 0);
  upgrade("v2.sql", 1);
}
void a_store_of_a_newer_release_is_refused(void **) {
  const Home home;
  engine::open_store(home.store(), true, {});
  home.look().run("PRAGMA user_version=99");
  std::string message;
  assert_int_equal(static_cast<int>(code_of([&] { home.start(); }, &message)),
                   static_cast<int>(Code::unsupported));
  assert_true(contains(message, "version 99") && contains(message, "up to 9"));
}

void the_database_of_another_program_is_left_alone(void **) {
  const Home home;
  make_database(home, "CREATE TABLE bookmarks (url TEXT)");
  assert_code(Code::corrupt, home.start());
  engine::SqliteConnection connection(engine::store_path(home.store()), SQLITE_OPEN_READWRITE,
                                      std::chrono::milliseconds(1000));
  engine::Query mode(connection, "PRAGMA journal_mode");
  assert_true(mode.next());
  assert_string_equal(mode.text(0).c_str(), "delete");
}

void what_is_no_database_is_refused(void **) {
  const Home home;
  make_directories(home.store());
  std::ofstream(engine::store_path(home.store())) << std::string(5000, 'x');
  assert_code(Code::corrupt, home.start());
}

void a_store_that_cannot_be_written_is_a_question_of_access(void **) {
  const Home home;
  make_directories(
      engine::store_path(home.store()));  // a directory in its place, since root may write all
  assert_code(Code::access, home.start());
}

void a_store_that_cannot_be_made_says_where_another_may_be(void **) {
  const Home home;
  std::ofstream(home.store()) << "a file in its place";
  const std::string message = expect_error(Code::invalid, [&] { home.start(); });
  assert_true(contains(message, "opening the store '" + home.store().string() + "': making"));
  assert_true(contains(message, "or set DET_HOME"));
}

void the_queries_of_a_reading_see_one_moment(void **) {
  const Home home;
  engine::Database writer = engine::open_store(home.store(), true, {});
  engine::Database reader = engine::open_store(home.store(), false, {});
  const auto notes = [&] {
    engine::Query rows = reader.query("SELECT COUNT(*) FROM meta WHERE key LIKE 'note %'");
    rows.next();
    return rows.integer(0);
  };
  const auto write = [](engine::Database &store, const std::string &key) {
    engine::Transaction transaction(store);
    store.run("INSERT INTO meta (key, value) VALUES (?, '')", key);
    transaction.commit();
  };
  {
    const engine::Reading one_moment(reader);
    assert_int_equal(notes(), 0);
    write(writer, "note 1");
    assert_int_equal(notes(), 0);
  }
  assert_int_equal(notes(), 1);
  assert_equal(code_of([&] {
                 const engine::Reading one_moment(reader);
                 notes();
                 reader.run("SELECT nothing");
               }),
               Code::internal);
  write(reader, "note 2");
  assert_int_equal(notes(), 2);
}

void a_store_that_stays_locked_is_busy(void **) {
  const Home home;
  engine::open_store(home.store(), true, {});
  engine::Database other = home.look();
  other.run("BEGIN EXCLUSIVE");
  engine::RunRequest asked = home.request();
  asked.options.busy_timeout = std::chrono::milliseconds(20);
  std::string message;
  assert_int_equal(static_cast<int>(code_of([&] { engine::start_live_run(asked); }, &message)),
                   static_cast<int>(Code::busy));
  assert_true(contains(message, "locked by another process"));
  other.run("ROLLBACK");
  engine::start_live_run(asked);
}

void a_full_disk_is_told_and_harms_nothing(void **) {
  const Home home;
  engine::Database store = engine::open_store(home.store(), true, {});
  store.run("PRAGMA max_page_count=1");  // less than it has means: what it has
  assert_code(Code::full, store.run("INSERT INTO meta VALUES ('x', ?)", std::string(100'000, 'x')));
  assert_int_equal(home.count("SELECT COUNT(*) FROM meta WHERE key='x'"), 0);
}

void a_network_file_system_gets_no_shared_memory(void **) {
  const Home home;
  engine::RunRequest asked = home.request();
  asked.options.on_network = [](const std::filesystem::path &) { return true; };
  const auto run = engine::start_live_run(asked);
  deliver(*run, {metrics(1, "training", 1, {{"loss", 1}})});
  assert_false(std::filesystem::exists(engine::store_path(home.store()).string() + "-wal"));
  assert_false(std::filesystem::exists(engine::store_path(home.store()).string() + "-shm"));
  engine::Database other = engine::open_store(home.store(), false, asked.options);
  engine::Query count = other.query("SELECT COUNT(*) FROM metrics");
  assert_true(count.next());
  assert_int_equal(count.integer(0), 1);
}

void a_transaction_that_is_left_changes_nothing(void **) {
  const Home home;
  engine::Database store = engine::open_store(home.store(), true, {});
  {
    engine::Transaction transaction(store);
    store.run("INSERT INTO meta VALUES ('a', 'b')");
  }
  assert_int_equal(home.count("SELECT COUNT(*) FROM meta WHERE key='a'"), 0);
}

void the_log_is_cleared_while_reports_flow(void **) {
  const Home home;
  const auto run = home.start();
  const std::string text(3000, 'x');
  for (uint64_t sequence = 1; sequence <= 8000; sequence += 100) {
    std::vector<Report> reports(100);
    for (size_t i = 0; i < reports.size(); ++i) {
      reports[i].kind = ReportKind::log;
      reports[i].sequence = sequence + i;
      reports[i].text = text;
    }
    deliver(*run, reports);
  }
  const auto log = std::filesystem::file_size(engine::store_path(home.store()).string() + "-wal");
  assert_true(log < 8U << 20U);  // of more than 24 MiB that went through it
}

constexpr uint64_t long_log = 1 << 20;

uint64_t size_of_log(const Home &home) {
  return std::filesystem::file_size(engine::store_path(home.store()).string() + "-wal");
}

void make_log_long(engine::Database &store) {
  for (int i = 0; i < 40; ++i) {
    engine::Transaction transaction(store, engine::Durability::relaxed);
    store.run("INSERT OR REPLACE INTO meta VALUES ('long', ?)", std::string(40'000, 'x'));
    transaction.commit();
  }
}

void who_closes_a_store_last_leaves_a_short_log(void **) {
  const Home home;
  std::optional<engine::Database> store = engine::open_store(home.store(), true, {});
  store.reset();
  assert_in_range(size_of_log(home), 1, long_log);  // nothing is synced for a short one
  store = engine::open_store(home.store(), true, {});
  make_log_long(*store);
  std::optional<engine::Database> other = home.look();
  assert_int_equal(other->query("SELECT 1 FROM meta").next(), true);
  store.reset();
  assert_true(size_of_log(home) > long_log);
  other.reset();
  assert_int_equal(size_of_log(home), 0);
  assert_int_equal(home.text("SELECT value FROM meta WHERE key='long'").size(), 40'000);
}

}  // namespace
}  // namespace det::test

int test_store() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(an_absent_store_is_made_only_when_asked_for),
      cmocka_unit_test(only_its_owner_can_read_it),
      cmocka_unit_test(each_file_is_private_whatever_the_umask),
      cmocka_unit_test(a_store_that_was_deleted_is_told),
      cmocka_unit_test(a_store_in_the_place_of_another_is_not_written_to),
      cmocka_unit_test(old_stores_are_upgraded_with_all_their_data),
      cmocka_unit_test(a_store_of_a_newer_release_is_refused),
      cmocka_unit_test(the_database_of_another_program_is_left_alone),
      cmocka_unit_test(what_is_no_database_is_refused),
      cmocka_unit_test(a_store_that_cannot_be_written_is_a_question_of_access),
      cmocka_unit_test(a_store_that_cannot_be_made_says_where_another_may_be),
      cmocka_unit_test(the_queries_of_a_reading_see_one_moment),
      cmocka_unit_test(a_store_that_stays_locked_is_busy),
      cmocka_unit_test(a_full_disk_is_told_and_harms_nothing),
      cmocka_unit_test(a_network_file_system_gets_no_shared_memory),
      cmocka_unit_test(a_transaction_that_is_left_changes_nothing),
      cmocka_unit_test(the_log_is_cleared_while_reports_flow),
      cmocka_unit_test(who_closes_a_store_last_leaves_a_short_log),
  };
  return cmocka_run_group_tests_name("store", tests, nullptr, nullptr);
}

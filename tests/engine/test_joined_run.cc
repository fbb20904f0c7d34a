// The other ranks of a job in the store of their chief.
#include "core/engine/engine.h"
#include "tests/cmocka.h"
#include "tests/engine/home.h"

namespace det::test {
namespace {

// A job of two ranks, of which the chief has started.
struct Job {
  explicit Job(bool command_starts_all = true) {
    engine::RunRequest asked = home.request();
    asked.options = options;
    asked.command_starts_all = command_starts_all;
    asked.workers = {{1, ProcessIdentity::current()}};
    chief = engine::start_live_run(asked);
    ticket = {home.store(), chief->journal_id(), ProcessIdentity::current(), chief->info()};
  }

  std::unique_ptr<engine::RunBackend> join() const {
    return engine::join_live_run(engine::ticket_from_json(engine::to_json(ticket)), 1, nullptr,
                                 options);
  }
  void expect_unreachable(const std::string &why) const {
    const auto worker = join();
    assert_true(contains(worker->unreachable(), why));
    assert_true(contains(worker->unreachable(), "rank 1"));
    assert_true(contains(worker->unreachable(), "DET_HOME"));
    assert_int_equal(worker->info().trial_id, 1);
    assert_code(Code::unsupported, worker->best_validation());
  }

  Home home;
  engine::StoreOptions options;
  std::unique_ptr<engine::RunBackend> chief;
  engine::RunTicket ticket;
};

void a_worker_takes_part_in_the_run_of_its_chief(void **) {
  const Job job;
  const auto worker = job.join();
  assert_true(worker->unreachable().empty());
  assert_string_equal(to_wire(worker->info().config).c_str(),
                      to_wire(job.chief->info().config).c_str());
  assert_string_equal(worker->info().allocation_id.c_str(),
                      job.chief->info().allocation_id.c_str());
  assert_string_not_equal(worker->journal_id().c_str(), job.chief->journal_id().c_str());
  assert_true(worker->run_directory() != job.chief->run_directory());
  assert_int_equal(job.home.count("SELECT COUNT(*) FROM runs"), 1);
  assert_int_equal(job.home.count("SELECT node FROM ranks WHERE rank=1"), 1);
}

void a_job_is_started_again_by_what_started_all_its_ranks(void **) {
  for (const bool starts_all : {true, false}) {
    const Job job(starts_all);
    engine::Engine engine(job.home.store(), false, job.options);
    for (const Json &told : {engine.trials().get(1), engine.control().act(engine::Target::trial, 1,
                                                                          engine::Action::pause)}) {
      const Json &command = told.at("resume"), &note = told.at("resume_note");
      assert_equal(command.is_null(), !starts_all);
      assert_equal(note.is_null(), starts_all);
      const std::string text = (starts_all ? command : note).get<std::string>();
      assert_true(contains(text, "DET_TRIAL_ID=1 DET_HOME="));
      assert_true(contains(text, "./digits --fast"));
    }
  }
}

void a_directory_without_a_store_is_not_the_chiefs(void **) {
  Job job;
  job.ticket.store_directory = job.home.path() / "elsewhere";
  job.expect_unreachable("this path has none");
  assert_false(std::filesystem::exists(job.ticket.store_directory));
}

void another_store_at_the_same_path_is_left_alone(void **) {
  Job job;
  const Job other;
  job.ticket.store_directory = other.home.store();
  job.expect_unreachable("another store is at this path");
  assert_int_equal(other.home.count("SELECT COUNT(*) FROM ranks"), 2);
}

void another_machine_needs_a_file_system_of_the_network(void **) {
  Job job;
  job.ticket.chief.boot_id = "another machine";
  job.expect_unreachable("is not shared with that machine");
}

// A chief on another machine, with its store on a file system that this one shares.
struct JobOnNetwork {
  JobOnNetwork() {
    network.on_network = [](const std::filesystem::path &) { return true; };
    engine::RunRequest asked = home.request();
    asked.options = network;
    asked.workers = {{1, ProcessIdentity::current()}};
    chief = engine::start_live_run(asked);
    ticket = {home.store(), chief->journal_id(), ProcessIdentity::current(), chief->info()};
    ticket.chief.boot_id = "another machine";
  }

  Home home;
  engine::StoreOptions network;
  std::unique_ptr<engine::RunBackend> chief;
  engine::RunTicket ticket;
};

void another_machine_uses_a_store_on_the_network(void **) {
  JobOnNetwork job;
  const auto worker = engine::join_live_run(job.ticket, 1, nullptr, job.network);
  assert_true(worker->unreachable().empty());
  deliver(*worker, {metrics(1, "training", 1, {{"loss", 1}})});
  engine::Database store = engine::open_store(job.home.store(), false, job.network);
  assert_true(store.query("SELECT 1 FROM metrics").next());
}

// It would go without a store for good because of what passes.
void a_store_on_the_network_that_is_busy_is_an_error(void **) {
  JobOnNetwork job;
  job.network.busy_timeout = std::chrono::milliseconds(20);
  engine::Database other = engine::open_store(job.home.store(), false, job.network);
  other.run("BEGIN EXCLUSIVE");
  assert_code(Code::busy, engine::join_live_run(job.ticket, 1, nullptr, job.network));
  other.run("ROLLBACK");
}

void a_store_that_fails_on_the_same_machine_is_an_error(void **) {
  Job job;
  job.options.busy_timeout = std::chrono::milliseconds(20);
  engine::Database other = job.home.look();
  other.run("BEGIN EXCLUSIVE");
  assert_code(Code::busy, job.join());
  other.run("ROLLBACK");
}

void the_metadata_of_checkpoints_is_left_to_storage_without_a_store(void **) {
  Job job;
  job.ticket.store_directory = "/nil";
  const auto worker = job.join();
  assert_false(worker->checkpoints().metadata("any").has_value());
}

}  // namespace
}  // namespace det::test

int test_joined_run() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_worker_takes_part_in_the_run_of_its_chief),
      cmocka_unit_test(a_job_is_started_again_by_what_started_all_its_ranks),
      cmocka_unit_test(a_directory_without_a_store_is_not_the_chiefs),
      cmocka_unit_test(another_store_at_the_same_path_is_left_alone),
      cmocka_unit_test(another_machine_needs_a_file_system_of_the_network),
      cmocka_unit_test(another_machine_uses_a_store_on_the_network),
      cmocka_unit_test(a_store_on_the_network_that_is_busy_is_an_error),
      cmocka_unit_test(a_store_that_fails_on_the_same_machine_is_an_error),
      cmocka_unit_test(the_metadata_of_checkpoints_is_left_to_storage_without_a_store),
  };
  return cmocka_run_group_tests_name("joined_run", tests, nullptr, nullptr);
}

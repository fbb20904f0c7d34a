// Many processes and one store, and what is left of those that die.
#include <sys/wait.h>

#include <algorithm>

#include "core/engine/runs/recover_runs.h"
#include "core/journal/run_directory.h"
#include "core/journal/spool.h"
#include "tests/cmocka.h"
#include "tests/engine/home.h"

namespace det::test {
namespace {

// Runs `work` in a child; gives its exit status: what `work` returns, 99 when it throws.
template <class Work>
pid_t spawn(const Work &work) {
  const pid_t child = fork();
  if (child != 0) return child;
  int status = 99;
  try {
    status = work();
  } catch (const std::exception &e) {
    print_message("# %s\n", e.what());
  }
  _exit(status);
}

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void many_processes_make_and_use_one_store(void **) {
  constexpr int processes = 8;
  constexpr int reports = 50;
  const Home home;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    children.push_back(spawn([&] {
      const auto run = home.start();
      for (uint64_t step = 1; step <= reports; ++step)
        deliver(*run, {metrics(step, "training", static_cast<int64_t>(step), {{"loss", 1}})});
      run->operations().complete(1, 0.5);
      run->end_run(engine::RunEnd::ok);
      return 0;
    }));
  }
  for (const pid_t child : children) assert_int_equal(status_of(child), 0);
  assert_int_equal(home.count("SELECT COUNT(*) FROM trials WHERE state='COMPLETED'"), processes);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics"), processes * reports);
  assert_int_equal(home.count("SELECT COUNT(*) FROM meta WHERE key='cluster_id'"), 1);
}

void of_processes_that_start_one_trial_at_once_one_runs_it(void **) {
  const Home home;
  home.start()->end_run(engine::RunEnd::ok);
  int gate[2], tried[2];
  assert_int_equal(pipe(gate), 0);
  assert_int_equal(pipe(tried), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    children.push_back(spawn([&] {
      close(gate[1]);
      std::unique_ptr<engine::RunBackend> run;
      const Code code = code_of([&] { run = home.resume(1); });
      char byte = 0;
      (void)!write(tried[1], &byte, 1);
      (void)!read(gate[0], &byte, 1);  // until the parent lets all go: the winner stays that long
      return run ? 1 : code == Code::state ? 0 : 98;
    }));
  }
  close(gate[0]);
  close(tried[1]);
  char byte = 0;
  for (size_t i = 0; i < children.size(); ++i) assert_int_equal(read(tried[0], &byte, 1), 1);
  assert_int_equal(home.count("SELECT last_run FROM trials"), 2);  // the winner's
  close(gate[1]);
  int winners = 0;
  for (const pid_t child : children) {
    const int status = status_of(child);
    assert_in_range(status, 0, 1);
    winners += status;
  }
  assert_int_equal(winners, 1);
}

// With a report in its journal.
pid_t die_while_running(const Home &home) {
  return spawn([&] {
    const auto run = home.start();
    const auto spool = journal::Spool::create(run->run_directory(), journal_of(*run));
    const journal::NamedValue loss{"loss", 1};
    spool->append_metrics("training", 1, &loss, 1);
    kill(getpid(), SIGKILL);
    return 0;
  });
}

void a_dead_run_is_recorded_and_its_trial_goes_on(void **) {
  const Home home;
  assert_int_equal(status_of(die_while_running(home)), -SIGKILL);
  assert_int_equal(home.resume(1)->info().run_id, 2);
  assert_string_equal(home.text("SELECT exit FROM runs WHERE run_id=1").c_str(), "died");
}

void journals_left_behind_reach_the_store_once(void **) {
  const Home home;
  assert_int_equal(status_of(die_while_running(home)), -SIGKILL);
  const auto alive = home.start();
  Logger log(LogLevel::error);
  const journal::Recovery recovery = engine::recover_runs(home.store(), log);
  assert_int_equal(recovery.ranks.size(), 1);
  assert_int_equal(recovery.ranks[0].trial_id, 1);
  assert_int_equal(recovery.ranks[0].reports, 1);
  assert_int_equal(recovery.busy, 1);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics"), 1);
  assert_string_equal(home.text("SELECT exit FROM runs WHERE trial_id=1").c_str(), "died");
  assert_false(std::filesystem::exists(home.store() / "runs/1.1"));
  assert_int_equal(engine::recover_runs(home.store(), log).ranks.size(), 0);
}

void a_journal_that_cannot_be_shipped_stays(void **) {
  const Home home;
  assert_int_equal(status_of(die_while_running(home)), -SIGKILL);
  const auto journal = home.store() / "runs/1.1/1.spool";
  {
    const char another_byte_order[] = {1, 2, 3, 4};
    const Fd file = open_file(journal, O_RDWR);
    assert_int_equal(pwrite(file.get(), another_byte_order, 4, 12), 4);
  }
  Logger log(LogLevel::error, [](LogLevel, const std::string &) {});
  assert_code(Code::unsupported, engine::recover_runs(home.store(), log));
  assert_true(std::filesystem::exists(journal));
  assert_string_equal(home.text("SELECT exit FROM runs WHERE trial_id=1").c_str(), "");
}

void journals_of_a_run_that_the_store_lost_are_set_aside(void **) {
  const Home home;
  assert_int_equal(status_of(die_while_running(home)), -SIGKILL);
  home.look().run("UPDATE runs SET journal_id='of another run'");
  Logger log(LogLevel::error, [](LogLevel, const std::string &) {});
  assert_code(Code::not_found, engine::recover_runs(home.store(), log));
  assert_int_equal(engine::recover_runs(home.store(), log).ranks.size(), 0);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics"), 0);
  int kept = 0;
  for (const auto &aside : std::filesystem::directory_iterator(home.store() / "runs"))
    if (aside.path().filename().string().starts_with("unknown-"))
      kept += std::filesystem::exists(aside.path() / "1.spool") ? 1 : 0;
  assert_int_equal(kept, 1);
}

// Where no store decides: a process of a cluster's run was killed, and two take its place.
void of_processes_that_are_one_rank_at_once_one_gets_its_directory(void **) {
  constexpr int processes = 4;
  const Home home;
  const JournalKey key{1, 1, 0, "journal"};
  for (int round = 0; round < 20; ++round) {
    assert_int_equal(
        status_of(spawn([&] {
          const OwnerLock owner =
              journal::make_run_directory(home.store(), key, {.has_predecessors = true});
          open_file(journal::run_directory(home.store(), 1, 1) / "0.spool", O_WRONLY | O_CREAT);
          return 0;
        })),
        0);
    int begin[2], end[2];
    assert_equal(pipe(begin), 0);
    assert_equal(pipe(end), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i)
      children.push_back(spawn([&] {
        close(begin[1]);
        close(end[1]);
        char byte = 0;
        static_cast<void>(!read(begin[0], &byte, 1));
        try {
          const OwnerLock owner =
              journal::make_run_directory(home.store(), key, {.has_predecessors = true});
          static_cast<void>(!read(end[0], &byte, 1));
          return 1;
        } catch (const Error &error) {
          return error.code == Code::state ? 0 : 2;
        }
      }));
    close(begin[0]);
    close(begin[1]);
    // Those that were refused leave; the one that was not waits.
    for (int refused = 0; refused < processes - 1; ++refused) {
      int status = 0;
      const pid_t gone = wait(&status);
      assert_true(WIFEXITED(status));
      assert_int_equal(WEXITSTATUS(status), 0);
      std::erase(children, gone);
    }
    close(end[0]);
    close(end[1]);
    assert_int_equal(status_of(children.front()), 1);
  }
  // What the killed ones left is all there, and nothing of those that were refused.
  for (const auto &entry : std::filesystem::directory_iterator(home.store() / "runs"))
    assert_false(entry.path().filename().string().starts_with(".part-"));
  int journals = 0;
  for (const auto &directory : journal::list_run_directories(home.store()))
    journals += std::filesystem::exists(directory / "0.spool") ? 1 : 0;
  assert_int_equal(journals, 20);
}

// It is forked before the store is open, which must not be carried over.
void a_rank_that_is_killed_is_recorded_as_dead(void **) {
  const Home home;
  int tickets[2];
  assert_int_equal(pipe(tickets), 0);
  const pid_t worker = spawn([&] {
    std::string text(1 << 16, '\0');
    text.resize(
        static_cast<size_t>(std::max<ssize_t>(read(tickets[0], text.data(), text.size()), 0)));
    const auto joined =
        engine::join_live_run(engine::ticket_from_json(parse_json(text, "a ticket")), 1, nullptr);
    kill(getpid(), SIGKILL);
    return joined ? 1 : 2;
  });
  engine::RunRequest asked = home.request();
  asked.workers = {{0, ProcessIdentity::of(worker)}};
  const auto chief = engine::start_live_run(asked);
  const std::string ticket = to_wire(engine::to_json(engine::RunTicket{
      home.store(), chief->journal_id(), ProcessIdentity::current(), chief->info()}));
  assert_int_equal(write(tickets[1], ticket.data(), ticket.size()), ticket.size());
  assert_int_equal(status_of(worker), -SIGKILL);
  close(tickets[0]);
  close(tickets[1]);
  Logger log(LogLevel::error);
  engine::recover_runs(home.store(), log);
  assert_string_equal(home.text("SELECT exit FROM ranks WHERE rank=1").c_str(), "died");
  assert_int_equal(home.count("SELECT COUNT(*) FROM runs WHERE exit IS NULL"), 1);  // the chief's
  chief->end_run(engine::RunEnd::ok);
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "died");
}

void a_directory_half_made_is_cleared(void **) {
  const Home home;
  const auto alive = home.start();
  std::filesystem::create_directory(home.store() / "runs/.part-x");
  Logger log(LogLevel::error);
  engine::recover_runs(home.store(), log);
  assert_false(std::filesystem::exists(home.store() / "runs/.part-x"));
  assert_true(std::filesystem::exists(alive->run_directory()));
}

void a_directory_half_made_is_cleared_where_nothing_else_is_left(void **) {
  const Home home;
  home.start()->end_run(engine::RunEnd::ok);
  assert_true(journal::list_run_directories(home.store()).empty());
  std::filesystem::create_directory(home.store() / "runs/.part-x");
  Logger log(LogLevel::error);
  engine::recover_runs(home.store(), log);
  assert_false(std::filesystem::exists(home.store() / "runs/.part-x"));
}

}  // namespace
}  // namespace det::test

int test_recovery() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(many_processes_make_and_use_one_store),
      cmocka_unit_test(of_processes_that_start_one_trial_at_once_one_runs_it),
      cmocka_unit_test(a_dead_run_is_recorded_and_its_trial_goes_on),
      cmocka_unit_test(journals_left_behind_reach_the_store_once),
      cmocka_unit_test(a_journal_that_cannot_be_shipped_stays),
      cmocka_unit_test(journals_of_a_run_that_the_store_lost_are_set_aside),
      cmocka_unit_test(of_processes_that_are_one_rank_at_once_one_gets_its_directory),
      cmocka_unit_test(a_rank_that_is_killed_is_recorded_as_dead),
      cmocka_unit_test(a_directory_half_made_is_cleared),
      cmocka_unit_test(a_directory_half_made_is_cleared_where_nothing_else_is_left),
  };
  return cmocka_run_group_tests_name("recovery", tests, nullptr, nullptr);
}

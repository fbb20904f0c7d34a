// Ranks as processes, of which one is killed.
#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/context/fakes.h"
#include "tests/context/home.h"

namespace {

using namespace det;
using namespace det::context;
using test::Home;
using test::report;

// Two ranks of one machine.
std::unique_ptr<comm::Communicator> join_pair(int rank, int port) {
  comm::Launch launch;
  launch.ranks = {rank, 2, rank, 2, 0, 1};
  return comm::join(launch, {.port = port});
}

// Runs `work` as a rank in a child, until it is killed.
class RankProcess {
 public:
  template <class Work>
  RankProcess(int rank, int port, const Work &work) : pid_(fork()) {
    if (pid_ != 0) return;             // the parent, or a failure
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that fails leaves nobody behind
    try {
      const auto communicator = join_pair(rank, port);
      work(*communicator);
      for (;;) pause();
    } catch (const std::exception &e) {
      print_message("# rank %d: %s\n", rank, e.what());
    }
    _exit(99);
  }
  ~RankProcess() { kill_it(); }

  void kill_it() {
    if (pid_ <= 0) return;  // ended before; -1 would be everybody
    kill(pid_, SIGKILL);
    end();
  }
  // The signal it died of; 0: none.
  int end() {
    int status = 0;
    if (pid_ > 0) waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_;
};

// While it lives nothing is delivered.
class Locked {
 public:
  explicit Locked(const Home &home) {
    assert_int_equal(sqlite3_open(engine::store_path(home.store()).c_str(), &database_), 0);
    assert_int_equal(sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), 0);
  }
  ~Locked() { sqlite3_close(database_); }

 private:
  sqlite3 *database_ = nullptr;
};

constexpr int reports = 5;

// A rank that reports once the store is locked, and waits for its death.
void report_and_wait(const Home &home, comm::Communicator &communicator) {
  const auto core = home.start(communicator);
  communicator.allgather("locked");
  for (int64_t step = 1; step <= reports; ++step) report(*core, "dead", step);
  communicator.allgather("reported");
  for (;;) pause();
}

CoreOptions logging_to(const Home &home, std::string &logged) {
  CoreOptions options = home.options();
  options.log_level = LogLevel::warning;
  options.log = [&](const LogLine &line) { logged += line.text; };
  return options;
}

// One rank here, and one in a process that reports and waits for its death.
struct Pair {
  Pair(const Home &home, int rank)
      : dying(1 - rank, port, [&](comm::Communicator &c) { report_and_wait(home, c); }),
        communicator(join_pair(rank, port)),
        core(Core::start(logging_to(home, logged), communicator.get())) {}

  const int port = free_port();
  RankProcess dying;
  const std::unique_ptr<comm::Communicator> communicator;
  std::string logged;
  const std::shared_ptr<Core> core;
};

void the_death_of_a_worker_is_the_death_of_the_run(void **) {
  const Home home;
  Pair pair(home, 0);
  {
    const Locked locked(home);
    pair.communicator->allgather("locked");
    pair.communicator->allgather("reported");
    pair.dying.kill_it();
  }
  pair.core->close(engine::RunEnd::ok);
  assert_non_null(strstr(pair.logged.c_str(), "rank 1 died without closing"));
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "died");
  assert_string_equal(home.text("SELECT group_concat(exit) FROM ranks").c_str(), "ok,died");
  assert_string_equal(home.text("SELECT state FROM trials").c_str(), "ACTIVE");

  assert_int_equal(home.client()->get_trial(1).at("waiting").get<int>(), reports);
  assert_int_equal(home.client()->sync().at("journals").size(), 1);
  assert_int_equal(home.client()->list_metrics(1, "dead", {}).at("metrics").size(), reports);
  assert_false(home.has_run_directories());
}

void a_dead_worker_that_others_recover_counts_all_the_same(void **) {
  const Home home;
  Pair pair(home, 0);
  {
    const Locked locked(home);
    pair.communicator->allgather("locked");
    report(*pair.core, "alive", 1);
    pair.communicator->allgather("reported");
  }
  // Both live: nothing is taken from them.
  assert_string_equal(to_wire(home.client()->sync()).c_str(), R"({"journals":[],"busy":2})");
  pair.dying.kill_it();
  const Json sync = home.client()->sync();
  assert_int_equal(sync.at("journals").size(), 1);
  assert_int_equal(sync.at("busy").get<int>(), 1);
  assert_string_equal(home.text("SELECT COUNT(*) FROM runs WHERE exit IS NULL").c_str(), "1");
  assert_int_equal(home.client()->list_metrics(1, "dead", {}).at("metrics").size(), reports);

  pair.core->close(engine::RunEnd::ok);
  assert_non_null(strstr(pair.logged.c_str(), "rank 1 died without closing"));
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "died");
  assert_int_equal(home.client()->list_metrics(1, "alive", {}).at("metrics").size(), 1);
}

void a_worker_outlives_its_chief_and_loses_nothing(void **) {
  const Home home;
  Pair pair(home, 1);
  {
    const Locked locked(home);
    pair.communicator->allgather("locked");
    pair.communicator->allgather("reported");
    pair.dying.kill_it();
  }
  const Json sync = home.client()->sync();
  assert_int_equal(sync.at("journals").size(), 1);
  assert_int_equal(sync.at("busy").get<int>(), 1);
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "died");
  report(*pair.core, "alive", 1);
  pair.core->close(engine::RunEnd::ok);
  assert_string_equal(home.text("SELECT group_concat(exit) FROM ranks").c_str(), "died,ok");
  assert_int_equal(home.client()->list_metrics(1, "alive", {}).at("metrics").size(), 1);
  assert_int_equal(home.client()->list_metrics(1, "dead", {}).at("metrics").size(), reports);
  assert_false(home.has_run_directories());
}

void a_kill_ends_all_ranks(void **) {
  const Home home;
  const int port = free_port();
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  const auto work = [&](comm::Communicator &communicator) {
    const auto core = home.start(communicator);
    if (communicator.is_chief()) test::require(write(ready[1], "", 1) == 1, "told");
    for (;;) pause();
  };
  RankProcess chief(0, port, work);
  RankProcess worker(1, port, work);
  char byte = 0;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  home.client()->control(engine::Target::trial, 1, engine::Action::kill);
  assert_int_equal(chief.end(), SIGKILL);
  assert_int_equal(worker.end(), SIGKILL);
  assert_string_equal(home.text("SELECT exit FROM runs").c_str(), "killed");
  assert_string_equal(home.text("SELECT group_concat(exit) FROM ranks").c_str(), "killed,killed");
  close(ready[0]);
  close(ready[1]);
}

}  // namespace

int test_rank_crash() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_death_of_a_worker_is_the_death_of_the_run),
      cmocka_unit_test(a_dead_worker_that_others_recover_counts_all_the_same),
      cmocka_unit_test(a_worker_outlives_its_chief_and_loses_nothing),
      cmocka_unit_test(a_kill_ends_all_ranks),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// Jobs of several machines: their ranks meet through leaders, and what goes wrong is told to all.
#include <dirent.h>

#include <atomic>
#include <memory>
#include <numeric>

#include "core/comm/join/layout.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"
#include "tests/expect_error.h"
#include "tests/patience.h"

namespace det::test {
namespace {

// A thread of a busy machine may be kept from running for seconds; it must not be named for that.
constexpr std::chrono::milliseconds brief(5000);

int open_files() {
  const std::unique_ptr<DIR, int (*)(DIR *)> folder(opendir("/proc/self/fd"), closedir);
  int count = 0;
  while (readdir(folder.get()) != nullptr) ++count;
  return count;
}

// Each machine but the chief's is connected with one that came before it, and none with too many.
void every_machine_has_a_place(void **) {
  for (const int machines : {1, 2, 64, 65, 66, 129, 2048, 100'000}) {
    std::vector<int> children(static_cast<size_t>(machines));
    for (int number = 1; number < machines; ++number) {
      assert_in_range(comm::parent_of(number), 0, number - 1);
      ++children[static_cast<size_t>(comm::parent_of(number))];
    }
    for (int number = 0; number < machines; ++number) {
      assert_int_equal(children[static_cast<size_t>(number)], comm::children_of(number, machines));
      assert_in_range(comm::children_of(number, machines), 0, comm::fan_out);
    }
  }
}

void meet(comm::Communicator &job) {
  const comm::Ranks &ranks = job.ranks();
  const comm::Message mine = std::to_string(ranks.rank);
  const int first = ranks.cross_rank * ranks.local_size;
  for (int round = 0; round < 3; ++round) {
    require(job.allgather(mine) == numbers(0, ranks.size), "allgather");
    require(job.gather(mine).value_or(numbers(0, ranks.size)) == numbers(0, ranks.size), "gather");
    require(job.broadcast(mine) == "0", "broadcast");
    require(job.allgather_local(mine) == numbers(first, ranks.local_size), "allgather_local");
  }
}

// More machines than the chief is connected with; each rank has one connection with each that it
// talks to, which is two files where both are in this process.
void many_machines_meet_through_each_other(void **) {
  for (const auto &[machines, per_machine] : {std::pair(140, 1), std::pair(68, 2)}) {
    const int size = machines * per_machine;
    (void)free_port();  // so that the file that it keeps is there already
    const int before = open_files();
    std::atomic<int> met{0}, counted{0}, files{0};
    const Outcome outcome = run_ranks(machines, per_machine, [&](comm::Communicator &job) {
      meet(job);
      ++met;
      if (job.is_chief()) {
        while (met < size) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        files = open_files() - before;
        counted = 1;
      }
      while (counted == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    assert_string_equal(outcome.all().c_str(), "");
    assert_int_equal(files, 2 * (size - 1));
  }
}

// As a list of numbers for each process may say; the chief leads its machine all the same.
void a_chief_need_not_be_the_first_of_its_machine(void **) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  for (const bool force_tcp : {false, true}) {
    const int port = free_port();
    const std::vector<comm::Ranks> all{{0, 5, 2, 3, 0, 2},
                                       {1, 5, 0, 3, 0, 2},
                                       {2, 5, 1, 3, 0, 2},
                                       {3, 5, 1, 2, 1, 2},
                                       {4, 5, 0, 2, 1, 2}};
    const Outcome outcome = run_threads(5, [&](int rank) {
      comm::Launch launch;
      launch.ranks = all[static_cast<size_t>(rank)];
      launch.chief_ip = "127.0.0.1";
      const auto job =
          comm::join(launch, {port, 0, force_tcp, std::chrono::seconds(TEST_PATIENCE_SECONDS)});
      const comm::Message mine = std::to_string(rank);
      require(job->allgather(mine) == numbers(0, 5), "allgather");
      require(job->broadcast_local(mine) == (rank < 3 ? "1" : "4"), "broadcast_local");
      const std::vector<comm::Message> here = rank < 3 ? std::vector<comm::Message>{"1", "2", "0"}
                                                       : std::vector<comm::Message>{"4", "3"};
      require(job->allgather_local(mine) == here, "allgather_local");
      require(job->gather_local(mine).value_or(here) == here, "gather_local");
    });
    assert_string_equal(outcome.all().c_str(), "");
  }
}

// A thread for each, over one connection.
void both_channels_may_be_used_at_once(void **) {
  const auto work = [](comm::Communicator &job) {
    const comm::Ranks &ranks = job.ranks();
    const auto of = [](int rank, int round) {
      return comm::Message(std::string(round % 50 == 0 ? 400'000 : static_cast<size_t>(round % 300),
                                       static_cast<char>('a' + rank)));
    };
    const auto list = [&](int first, int count, int round) {
      std::vector<comm::Message> messages;
      for (int i = 0; i < count; ++i) messages.push_back(of(first + i, round));
      return messages;
    };
    const Outcome outcome = run_threads(2, [&](int thread) {
      const int first = ranks.cross_rank * ranks.local_size;
      for (int round = 0; round < 300; ++round) {
        const comm::Message mine = of(ranks.rank, round);
        if (thread == 0) require(job.allgather(mine) == list(0, ranks.size, round), "global");
        else require(job.allgather_local(mine) == list(first, ranks.local_size, round), "local");
      }
    });
    require(outcome.all().empty(), outcome.all());
  };
  for (const auto &[machines, per_machine] : {std::pair(1, 3), std::pair(2, 2)})
    assert_string_equal(run_ranks(machines, per_machine, work, {.force_tcp = true}).all().c_str(),
                        "");
}

constexpr int machines = 3, per_machine = 2, size = machines * per_machine;

// Whichever rank it is: a leader, one of its machine, or the chief.
void a_rank_that_leaves_is_named_to_all(void **) {
  for (int missing = 0; missing < size; ++missing) {
    const Outcome outcome = run_ranks(machines, per_machine, [&](comm::Communicator &job) {
      meet(job);
      if (job.ranks().rank != missing) job.allgather("x");
    });
    for (int rank = 0; rank < size; ++rank) {
      if (rank == missing) continue;
      assert_int_equal(outcome.code(rank), Code::unavailable);
      if (!contains(outcome.text(rank), "rank " + std::to_string(missing)))
        fail_msg("rank %d of %d: %s", rank, missing, outcome.text(rank).c_str());
    }
  }
}

void a_rank_that_is_silent_is_named_to_all(void **) {
  for (int missing = 0; missing < size; ++missing) {
    std::atomic<int> waiting{size - 1};
    const auto work = [&](comm::Communicator &job) {
      if (job.ranks().rank == missing) {
        while (waiting > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return;
      }
      // It waits for its own when the chief would have given it up.
      if (missing == 3 && job.ranks().rank == 2) std::this_thread::sleep_for(brief / 2);
      try {
        job.allgather("x");
      } catch (...) {
        --waiting;
        throw;
      }
      --waiting;
    };
    const Outcome outcome = run_ranks(machines, per_machine, work, {.timeout = brief});
    for (int rank = 0; rank < size; ++rank) {
      if (rank == missing) continue;
      assert_int_equal(outcome.code(rank), Code::timeout);
      if (!contains(outcome.text(rank), "rank " + std::to_string(missing) + " did not take part"))
        fail_msg("rank %d of %d: %s", rank, missing, outcome.text(rank).c_str());
    }
  }
}

void a_rank_that_calls_something_else_is_named_to_all(void **) {
  for (int other = 0; other < size; ++other) {
    const Outcome outcome = run_ranks(machines, per_machine, [&](comm::Communicator &job) {
      const std::string message(job.ranks().rank % 2 == 0 ? 1 : 3'000'000, 'x');
      if (job.ranks().rank == other) job.gather(message);
      else job.allgather(message);
    });
    for (int rank = 0; rank < size; ++rank) {
      assert_int_equal(outcome.code(rank), Code::conflict);
      if (!contains(outcome.text(rank), "rank " + std::to_string(other) + " called gather (call"))
        fail_msg("rank %d of %d: %s", rank, other, outcome.text(rank).c_str());
    }
  }
}

// A loop of broadcasts, which wait for nobody.
void broadcasts_find_a_rank_that_is_gone(void **) {
  for (int missing = 1; missing < size; ++missing) {
    const Outcome outcome = run_ranks(machines, per_machine, [&](comm::Communicator &job) {
      if (job.ranks().rank == missing) return;
      for (int i = 0; i < 2'000; ++i) job.broadcast("x");
    });
    for (int rank = 0; rank < size; ++rank) {
      if (rank == missing) continue;
      if (!contains(outcome.text(rank), "rank " + std::to_string(missing)))
        fail_msg("rank %d of %d: %s", rank, missing, outcome.text(rank).c_str());
      assert_int_equal(outcome.code(rank), Code::unavailable);
    }
  }
}

// Joins as all but one of the ranks.
Outcome join_without(int missing) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  const int port = free_port();
  return run_threads(size, [&](int rank) {
    if (rank == missing) return;
    comm::Launch launch;
    launch.ranks = ranks_of(rank, machines, per_machine);
    launch.chief_ip = "127.0.0.1";
    comm::join(launch, {port, 0, false, brief});
  });
}

void a_rank_that_does_not_come_is_named(void **) {
  const Outcome without_leader = join_without(2);
  assert_true(contains(without_leader.text(0), "these did not come in time: machines 1;"));
  const Outcome without_other = join_without(3);
  for (const int rank : {0, 1, 2, 4, 5}) {
    assert_int_equal(without_other.code(rank), Code::timeout);
    if (!contains(without_other.text(rank), "did not come in time: local ranks 1 of machine 1;"))
      fail_msg("rank %d: %s", rank, without_other.text(rank).c_str());
  }
}

// A leader that cannot join tells so to those who wait for it.
void a_leader_that_is_refused_tells_its_machine(void **) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  const int port = free_port();
  const Outcome outcome = run_threads(4, [&](int rank) {
    comm::Launch launch;
    launch.ranks = ranks_of(rank, 2, 2);
    if (rank >= 2) ++launch.ranks.size;
    launch.chief_ip = "127.0.0.1";
    comm::join(launch, {port, 0, false, std::chrono::seconds(TEST_PATIENCE_SECONDS)});
  });
  for (int rank = 0; rank < 4; ++rank) {
    if (!contains(outcome.text(rank), "a process came that is rank 2 of 5"))
      fail_msg("rank %d: %s", rank, outcome.text(rank).c_str());
    assert_int_equal(outcome.code(rank), Code::invalid);
  }
}

}  // namespace
}  // namespace det::test

int test_machine_tree() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_machine_has_a_place),
      cmocka_unit_test(many_machines_meet_through_each_other),
      cmocka_unit_test(a_chief_need_not_be_the_first_of_its_machine),
      cmocka_unit_test(both_channels_may_be_used_at_once),
      cmocka_unit_test(a_rank_that_leaves_is_named_to_all),
      cmocka_unit_test(a_rank_that_is_silent_is_named_to_all),
      cmocka_unit_test(a_rank_that_calls_something_else_is_named_to_all),
      cmocka_unit_test(broadcasts_find_a_rank_that_is_gone),
      cmocka_unit_test(a_rank_that_does_not_come_is_named),
      cmocka_unit_test(a_leader_that_is_refused_tells_its_machine),
  };
  return cmocka_run_group_tests_name("machine_tree", tests, nullptr, nullptr);
}

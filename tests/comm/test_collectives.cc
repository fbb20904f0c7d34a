// Gather, allgather and broadcast, of all ranks and of those of one machine.
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <random>

#include "core/comm/functions.h"
#include "core/comm/joined.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"
#include "tests/comm/thread_transport.h"
#include "tests/expect_error.h"
#include "tests/patience.h"

namespace det::test {
namespace {

using Messages = std::vector<comm::Message>;
using Run = Outcome (*)(int nodes, int per_node,
                        const std::function<void(comm::Communicator &)> &work);

Outcome over_sockets(int nodes, int per_node,
                     const std::function<void(comm::Communicator &)> &work) {
  return run_ranks(nodes, per_node, work);
}
Outcome over_tcp(int nodes, int per_node, const std::function<void(comm::Communicator &)> &work) {
  return run_ranks(nodes, per_node, work, {.force_tcp = true});
}
Outcome over_functions(int nodes, int per_node,
                       const std::function<void(comm::Communicator &)> &work) {
  ThreadNetwork network(nodes * per_node, false);
  return network.run(nodes, per_node, work);
}
Outcome over_a_mesh(int nodes, int per_node,
                    const std::function<void(comm::Communicator &)> &work) {
  ThreadNetwork network(nodes * per_node, true);
  return network.run(nodes, per_node, work);
}

Outcome over_memory(int nodes, int per_node,
                    const std::function<void(comm::Communicator &)> &work) {
  ThreadNetwork network(nodes * per_node, true, true);
  return network.run(nodes, per_node, work);
}

constexpr Run transports[] = {over_sockets, over_tcp, over_functions, over_a_mesh, over_memory};

struct Shape {
  int nodes, per_node;
};
constexpr Shape shapes[] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 4}, {4, 1}, {3, 3}, {1, 9}};

void on_everything(const std::function<void(comm::Communicator &)> &work) {
  for (const Run run : transports)
    for (const Shape &shape : shapes)
      assert_string_equal(run(shape.nodes, shape.per_node, work).all().c_str(), "");
}

void every_rank_gets_what_the_collective_says(void **) {
  on_everything([](comm::Communicator &job) {
    const comm::Ranks &ranks = job.ranks();
    const comm::Message mine = std::to_string(ranks.rank);
    const int first_here = ranks.cross_rank * ranks.local_size;
    require(job.broadcast(mine) == "0", "broadcast");
    require(job.broadcast_local(mine) == std::to_string(first_here), "broadcast_local");
    require(job.allgather(mine) == numbers(0, ranks.size), "allgather");
    require(job.allgather_local(mine) == numbers(first_here, ranks.local_size), "allgather_local");
    const auto all = job.gather(mine);
    require(all.has_value() == (ranks.rank == 0), "gather gives the chief alone a list");
    require(!all || *all == numbers(0, ranks.size), "gather");
    const auto here = job.gather_local(mine);
    require(here.has_value() == (ranks.local_rank == 0), "gather_local gives local chiefs a list");
    require(!here || *here == numbers(first_here, ranks.local_size), "gather_local");
  });
}

// Of any size, and different on every rank.
void messages_arrive_as_they_were_sent(void **) {
  on_everything([](comm::Communicator &job) {
    const int size = job.ranks().size;
    const auto message_of = [](int rank, size_t round) -> comm::Message {
      constexpr size_t sizes[] = {0, 1, 24, 2008, 2009, 3968, 3969, 8192, 70'000, 1'500'000};
      if ((static_cast<size_t>(rank) + round) % 4 == 3) return std::nullopt;
      return std::string(sizes[(round + static_cast<size_t>(rank)) % std::size(sizes)],
                         static_cast<char>('a' + rank));
    };
    for (size_t round = 0; round < 11; ++round) {
      Messages expected;
      for (int rank = 0; rank < size; ++rank) expected.push_back(message_of(rank, round));
      const comm::Message mine = message_of(job.ranks().rank, round);
      require(job.allgather(mine) == expected, "allgather " + std::to_string(round));
      require(job.broadcast(mine) == expected[0], "broadcast " + std::to_string(round));
      const auto list = job.gather(mine);
      require(!list || *list == expected, "gather " + std::to_string(round));
    }
  });
}

void gather_and_allgather_wait_for_everybody(void **) {
  for (const Run run : transports) {
    std::atomic<int> arrived{0};
    const Outcome outcome = run(1, 3, [&](comm::Communicator &job) {
      for (int round = 1; round <= 20; ++round) {
        if (job.ranks().rank == round % 3)
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++arrived;
        if (round % 2 == 0) job.gather(std::nullopt);
        else job.allgather(std::nullopt);
        require(arrived >= 3 * round, "nobody passes before the last one came");
      }
    });
    assert_string_equal(outcome.all().c_str(), "");
  }
}

void no_broadcast_to_a_rank_that_sleeps_is_lost(void **) {
  for (const Run run : transports) {
    const Outcome outcome = run(1, 2, [](comm::Communicator &job) {
      if (job.ranks().rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      for (int i = 0; i < 10'000; ++i)
        require(job.broadcast(std::to_string(i)) == std::to_string(i), std::to_string(i));
    });
    assert_string_equal(outcome.all().c_str(), "");
  }
}

// Nor is the last one to a rank that comes when all others have left, which its answer does not
// reach: as the last of a machine, over a socket of the machine, and over TCP.
void the_last_broadcast_is_heard_when_all_others_have_left(void **) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  for (const bool force_tcp : {false, true}) {
    const int port = free_port();
    std::atomic<int> gone{0};
    const Outcome outcome = run_threads(4, [&](int rank) {
      comm::Launch launch;
      launch.ranks = ranks_of(rank, 2, 2);
      launch.chief_ip = "127.0.0.1";
      {
        const auto job =
            comm::join(launch, {port, 0, force_tcp, std::chrono::seconds(TEST_PATIENCE_SECONDS)});
        // After so long a broadcast asks for answers.
        if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
        while (rank == 3 && gone < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        require(job->broadcast("x") == "x", "the message");
      }
      ++gone;
    });
    assert_string_equal(outcome.all().c_str(), "");
  }
}

// The two channels keep an order each.
void local_calls_may_come_between_global_ones_in_any_order(void **) {
  const Outcome outcome = over_sockets(2, 2, [](comm::Communicator &job) {
    const bool chief = job.is_chief();
    for (int i = 0; i < 100; ++i) {
      const comm::Message mine = std::to_string(job.ranks().rank);
      comm::Message global, local;
      if (chief) global = job.broadcast(mine);
      if (job.is_local_chief()) local = job.broadcast_local(mine);
      if (!job.is_local_chief()) local = job.broadcast_local(mine);
      if (!chief) global = job.broadcast(mine);
      require(global == "0" && local == (job.ranks().cross_rank == 0 ? "0" : "2"), "both");
    }
  });
  assert_string_equal(outcome.all().c_str(), "");
}

// A killed job leaves nothing in /dev/shm.
void the_memory_of_ranks_that_have_joined_has_no_name(void **) {
  const Outcome outcome = over_sockets(1, 2, [](comm::Communicator &job) {
    require(job.shares_memory(), "in memory");
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      require(!contains(line, "/dev/shm/detcore-") || contains(line, "(deleted)"), line);
    job.allgather("x");  // until both have looked
  });
  assert_string_equal(outcome.all().c_str(), "");
}

// Where the memory that they would share cannot be had, they send messages.
void without_shared_memory_all_is_the_same(void **) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Outcome outcome = over_sockets(1, 3, [](comm::Communicator &job) {
    require(job.allgather(std::to_string(job.ranks().rank)) == numbers(0, 3), "allgather");
    require(job.broadcast_local(std::to_string(job.ranks().rank)) == "0", "broadcast_local");
  });
  setrlimit(RLIMIT_FSIZE, &before);
  assert_string_equal(outcome.all().c_str(), "");
}

// Calls, sizes and pauses as a seed has them, the same on every rank apart from the pauses.
void a_long_mixture_stays_in_step(void **) {
  const char *count = std::getenv("DET_SOAK");
  const int rounds = count != nullptr ? std::atoi(count) : 4'000;
  const Outcome outcome = over_sockets(2, 2, [rounds](comm::Communicator &job) {
    const comm::Ranks &ranks = job.ranks();
    std::mt19937 plan(7);
    std::mt19937 pauses(static_cast<unsigned>(ranks.rank));
    for (int round = 0; round < rounds; ++round) {
      const unsigned call = plan() % 6;
      std::vector<size_t> sizes(static_cast<size_t>(ranks.size));
      for (size_t &size : sizes) size = plan() % (plan() % 100 == 0 ? 300'000 : 200);
      const auto of = [&](int rank) {
        return comm::Message(
            std::string(sizes[static_cast<size_t>(rank)], static_cast<char>('a' + rank)));
      };
      if (pauses() % 100 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(pauses() % 500));
      const int first = 2 * ranks.cross_rank;
      const comm::Message mine = of(ranks.rank);
      const Messages all{of(0), of(1), of(2), of(3)};
      const Messages here{of(first), of(first + 1)};
      bool right = false;
      if (call == 0) right = job.allgather(mine) == all;
      if (call == 1) right = job.gather(mine).value_or(all) == all;
      if (call == 2) right = job.broadcast(mine) == of(0);
      if (call == 3) right = job.allgather_local(mine) == here;
      if (call == 4) right = job.gather_local(mine).value_or(here) == here;
      if (call == 5) right = job.broadcast_local(mine) == of(first);
      require(right, "call " + std::to_string(round));
    }
  });
  assert_string_equal(outcome.all().c_str(), "");
}

}  // namespace
}  // namespace det::test

int test_collectives() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_rank_gets_what_the_collective_says),
      cmocka_unit_test(messages_arrive_as_they_were_sent),
      cmocka_unit_test(gather_and_allgather_wait_for_everybody),
      cmocka_unit_test(no_broadcast_to_a_rank_that_sleeps_is_lost),
      cmocka_unit_test(the_last_broadcast_is_heard_when_all_others_have_left),
      cmocka_unit_test(local_calls_may_come_between_global_ones_in_any_order),
      cmocka_unit_test(the_memory_of_ranks_that_have_joined_has_no_name),
      cmocka_unit_test(without_shared_memory_all_is_the_same),
      cmocka_unit_test(a_long_mixture_stays_in_step),
  };
  return cmocka_run_group_tests_name("collectives", tests, nullptr, nullptr);
}

// Ranks that do not do the same: each of them gets an error, and nobody waits for ever.
#include <sys/wait.h>
#include <cstdio>

#include <atomic>
#include <csignal>

#include "core/comm/agreement.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"
#include "tests/comm/thread_transport.h"
#include "tests/expect_error.h"
#include "tests/failing_memory.h"
#include "tests/patience.h"
#include "tests/sanitizer.h"

namespace det::test {
namespace {

using Part = std::function<void(comm::Communicator &)>;

// Short ones, such as are announced first, and such as a socket does not hold.
size_t message_size = 1;
void gather(comm::Communicator &job) { job.gather(std::string(message_size, 'x')); }
void allgather(comm::Communicator &job) { job.allgather(std::string(message_size, 'x')); }
void broadcast(comm::Communicator &job) { job.broadcast(std::string(message_size, 'x')); }

struct Named {
  const char *name;
  void (*call)(comm::Communicator &);
};
constexpr Named calls[] = {{"gather", gather}, {"allgather", allgather}, {"broadcast", broadcast}};

// A broadcast waits for nobody: its root may hear of a mismatch some calls later.
void call_and_then_some(comm::Communicator &job, const Named &named) {
  named.call(job);
  for (int i = 0; i < 256; ++i) named.call(job);
}

void assert_contains(const std::string &text, const std::string &part) {
  if (!contains(text, part)) fail_msg("'%s' is not in '%s'", part.c_str(), text.c_str());
}

// The ranks of one machine over each transport.
std::vector<Outcome> everywhere(
    int size, const Part &work,
    std::chrono::milliseconds timeout = std::chrono::seconds(TEST_PATIENCE_SECONDS)) {
  std::vector<Outcome> outcomes;
  for (const bool force_tcp : {false, true})
    outcomes.push_back(run_ranks(1, size, work, {.force_tcp = force_tcp, .timeout = timeout}));
  for (const bool any_pair : {false, true})
    outcomes.push_back(ThreadNetwork(size, any_pair).run(1, size, work, timeout));
  outcomes.push_back(ThreadNetwork(size, true, true).run(1, size, work, timeout));
  return outcomes;
}

void expect_conflict(const Outcome &outcome, const char *one, const char *other) {
  for (int rank = 0; rank < 3; ++rank) {
    assert_int_equal(outcome.code(rank), Code::conflict);
    assert_contains(outcome.text(rank), std::string("called ") + one);
    assert_contains(outcome.text(rank), std::string("called ") + other);
  }
}

void a_mismatch_is_an_error_on_every_rank_that_names_both_calls(void **) {
  for (const size_t size : {1U, 10'000U, 3'000'000U}) {
    message_size = size;
    for (const Named &of_chief : calls) {
      for (const Named &of_others : calls) {
        if (of_chief.call == of_others.call) continue;
        const auto work = [&](comm::Communicator &job) {
          call_and_then_some(job, job.is_chief() ? of_chief : of_others);
        };
        for (const Outcome &outcome : everywhere(3, work))
          expect_conflict(outcome, of_chief.name, of_others.name);
      }
    }
  }
  message_size = 1;
}

// With the same collectives underneath.
void calls_of_the_api_are_told_apart(void **) {
  const auto nothing = [] { return std::string("x"); };
  const auto work = [&](comm::Communicator &job) {
    const comm::Call download{comm::ApiCall::checkpoint_download, "some-id"};
    const comm::Call restore{comm::ApiCall::checkpoint_restore, "some-id"};
    for (int i = 0; i < 300; ++i)
      comm::chief_decides(job, job.is_chief() ? download : restore, nothing);
  };
  for (const Outcome &outcome : everywhere(3, work)) {
    for (int rank = 0; rank < 3; ++rank) {
      assert_int_equal(outcome.code(rank), Code::conflict);
      assert_contains(outcome.text(rank), "called det_checkpoint_download");
      assert_contains(outcome.text(rank), "called det_checkpoint_reader_open");
    }
  }
}

void a_step_of_the_api_is_no_collective_of_the_caller(void **) {
  const auto work = [](comm::Communicator &job) {
    if (job.ranks().rank == 2) job.allgather("x");
    comm::all_agree(job, {comm::ApiCall::checkpoint_upload}, [] { return std::string(); });
  };
  for (const Outcome &outcome : everywhere(3, work)) {
    for (int rank = 0; rank < 3; ++rank) {
      assert_int_equal(outcome.code(rank), Code::conflict);
      assert_contains(outcome.text(rank), "called det_checkpoint_upload (allgather, call");
      assert_contains(outcome.text(rank), "called allgather (call");
    }
  }
}

void arguments_that_must_agree_are_compared(void **) {
  const auto work = [](comm::Communicator &job) {
    const std::string id = "id-of-rank-" + std::to_string(job.ranks().rank / 2);
    comm::all_agree(job, {comm::ApiCall::checkpoint_download, id}, [] { return std::string(); });
  };
  for (const Outcome &outcome : everywhere(4, work)) {
    for (int rank = 0; rank < 4; ++rank) {
      assert_int_equal(outcome.code(rank), Code::conflict);
      assert_contains(outcome.text(rank), "with another argument");
      assert_contains(outcome.text(rank),
                      "det_checkpoint_download('id-of-rank-" + std::to_string(rank / 2) + "')");
    }
  }
}

// In which ranks that wait for each other must both have come.
constexpr std::chrono::milliseconds to_meet{under_tsan ? 4000 : 3000};

// Each waits for the other, in different channels.
void a_global_call_against_a_local_one_names_both(void **) {
  const auto work = [](comm::Communicator &job) {
    if (job.is_chief()) job.gather("x");
    else job.gather_local("x");
  };
  for (const Outcome &outcome : everywhere(2, work, to_meet)) {
    for (int rank = 0; rank < 2; ++rank) {
      assert_int_equal(outcome.code(rank), Code::conflict);
      assert_contains(outcome.text(rank), "called gather (call");
      assert_contains(outcome.text(rank), "called gather_local (call");
    }
  }
}

// On one of two machines; those of the other wait for them.
void so_do_ranks_of_several_machines(void **) {
  for (const bool force_tcp : {false, true}) {
    for (const int local : {0, 1, 2, 3}) {
      const auto work = [&](comm::Communicator &job) {
        if (job.ranks().rank == local) job.gather_local("x");
        else job.gather("x");
      };
      const Outcome outcome = run_ranks(2, 2, work, {.force_tcp = force_tcp, .timeout = to_meet});
      for (int rank = 0; rank < 4; ++rank) {
        assert_int_equal(outcome.code(rank), Code::conflict);
        assert_contains(outcome.text(rank), "called gather (call");
        assert_contains(outcome.text(rank), "called gather_local (call");
      }
    }
  }
}

// A rank that came early hears from a chief that came late whom that one waited for.
void the_silent_rank_is_blamed_and_not_the_chief(void **) {
  constexpr std::chrono::milliseconds timeout(1200);
  std::atomic<int> waiting{0};
  const auto work = [&](comm::Communicator &job) {
    if (job.ranks().rank == 2) {
      while (waiting < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    if (job.is_chief()) std::this_thread::sleep_for(timeout / 2);
    try {
      job.allgather("x");
    } catch (...) {
      ++waiting;
      throw;
    }
    ++waiting;
  };
  std::vector<Outcome> outcomes;
  outcomes.push_back(run_ranks(1, 3, work, {.timeout = timeout}));
  waiting = 0;
  outcomes.push_back(run_ranks(1, 3, work, {.force_tcp = true, .timeout = timeout}));
  waiting = 0;
  outcomes.push_back(ThreadNetwork(3, false).run(1, 3, work, timeout));
  for (const Outcome &outcome : outcomes) {
    for (const int rank : {0, 1}) {
      assert_int_equal(outcome.code(rank), Code::timeout);
      assert_contains(outcome.text(rank), "rank 2 did not take part");
    }
  }
}

// Its root waits for nobody, and still hears of a rank that is cut off.
void a_loop_of_broadcasts_finds_a_silent_rank(void **) {
  std::atomic<bool> is_over{false};
  const auto work = [&](comm::Communicator &job) {
    if (!job.is_chief()) {
      while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    try {
      for (int call = 0; call < 200; ++call) {
        job.broadcast("x");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    } catch (...) {
      is_over = true;
      throw;
    }
    is_over = true;
  };
  for (const bool any_pair : {false, true}) {
    is_over = false;
    const Outcome outcome =
        ThreadNetwork(2, any_pair).run(1, 2, work, std::chrono::milliseconds(400));
    assert_int_equal(outcome.code(0), Code::timeout);
    assert_contains(outcome.text(0), "rank 1 did not take part");
  }
}

// Two agree, the third does something else: nobody is left alone in the moving of bulk.
void a_mismatch_of_one_rank_leaves_nobody_in_bulk(void **) {
  message_size = 10'000;
  for (const bool any_pair : {false, true}) {
    const Outcome outcome = ThreadNetwork(3, any_pair).run(1, 3, [](comm::Communicator &job) {
      if (job.ranks().rank == 2) allgather(job);
      broadcast(job);
    });
    for (int rank = 0; rank < 3; ++rank) assert_int_equal(outcome.code(rank), Code::conflict);
  }
}

void one_call_too_many_is_a_mismatch_too(void **) {
  const Outcome outcome = run_ranks(1, 2, [](comm::Communicator &job) {
    job.broadcast("x");
    if (job.is_chief()) job.broadcast("y");
    job.gather("z");
  });
  for (int rank = 0; rank < 2; ++rank) {
    assert_int_equal(outcome.code(rank), Code::conflict);
    assert_true(contains(outcome.text(rank), "called gather (call"));
  }
}

void a_rank_that_leaves_is_an_error_on_the_others(void **) {
  const Outcome outcome = run_ranks(1, 3, [](comm::Communicator &job) {
    if (job.ranks().rank == 2) return;
    job.allgather("x");
  });
  assert_string_equal(outcome.text(2).c_str(), "");
  for (int rank = 0; rank < 2; ++rank) {
    assert_int_equal(outcome.code(rank), Code::unavailable);
    assert_true(contains(outcome.text(rank), "rank 2"));
  }
}

void a_silent_rank_is_an_error_after_the_timeout(void **) {
  for (const size_t size : {1U, 10'000U}) {
    message_size = size;
    for (const Named &named : calls) {
      // The chief of a short broadcast waits for nobody.
      if (named.call == broadcast && size == 1) continue;
      std::atomic<int> waiting{2};
      const auto work = [&](comm::Communicator &job) {
        if (job.ranks().rank == 1) {
          while (waiting > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return;
        }
        try {
          named.call(job);
        } catch (...) {
          --waiting;
          throw;
        }
        --waiting;
      };
      const std::chrono::milliseconds timeout(300);
      std::vector<Outcome> outcomes;
      if (named.call != broadcast) outcomes.push_back(run_ranks(1, 3, work, {.timeout = timeout}));
      for (const bool any_pair : {false, true}) {
        waiting = 2;
        outcomes.push_back(ThreadNetwork(3, any_pair).run(1, 3, work, timeout));
      }
      for (const Outcome &outcome : outcomes) {
        for (const int rank : {0, 2}) {
          assert_int_equal(outcome.code(rank), Code::timeout);
          assert_true(contains(outcome.text(rank), "rank"));
        }
      }
    }
  }
  message_size = 1;
}

void a_host_may_stop_waiting(void **) {
  const auto work = [](comm::Communicator &job) {
    job.allgather("x");
    if (job.ranks().rank != 1) {
      job.gather("x");
      return;
    }
    int questions = 0;
    job.ask_while_waiting([&] { return ++questions < 3; });
    Code first = Code::internal;
    try {
      job.gather_local("x");
    } catch (const Error &e) {
      first = e.code;
    }
    require(first == Code::callback, "the wait was stopped");
    require(questions == 3, "it was asked as often as it took");
    job.allgather("x");
  };
  for (const Outcome &outcome : everywhere(3, work, std::chrono::seconds(TEST_PATIENCE_SECONDS))) {
    assert_int_equal(outcome.code(1), Code::callback);
    for (const int rank : {0, 2}) {
      assert_int_equal(outcome.code(rank), Code::unavailable);
      assert_contains(outcome.text(rank), "rank 1 was stopped while it waited");
    }
  }
}

// The last rank comes while another one is asked whether to go on, and is not to.
void who_stops_when_all_have_come_has_the_result_too(void **) {
  for (const int size : {3, 9}) {
    for (const size_t length : {1U, 10'000U}) {
      message_size = length;
      for (const Named &named : calls) {
        std::atomic<bool> is_asked{false};
        const bool is_broadcast = named.call == broadcast;
        const int late = is_broadcast ? 0 : size - 1;
        std::atomic<int> results{0};
        const Outcome outcome = run_ranks(1, size, [&](comm::Communicator &job) {
          const int rank = job.ranks().rank;
          if (rank == 1)
            job.ask_while_waiting([&] {
              is_asked = true;
              // A short message needs rank 1 no more: the others have the result once the late one
              // has come.
              const auto enough = std::chrono::steady_clock::now() +
                                  std::chrono::milliseconds(length == 1 ? TEST_PATIENCE_MS : 20);
              while (results < size - 1 && std::chrono::steady_clock::now() < enough)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
              return false;
            });
          while (rank == late && !is_asked)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          named.call(job);
          ++results;
          if (rank == 1) job.gather("stops");  // after all
        });
        if (results != 0) assert_int_equal(results, size);
        if (length == 1) assert_int_equal(results, size);
        assert_int_equal(outcome.code(1), Code::callback);
      }
    }
  }
  message_size = 1;
}

void a_rank_out_of_memory_is_named(void **) {
  if (under_tsan) return;  // where memory never runs out
  const auto work = [](comm::Communicator &job) {
    allocations_to_fail = job.is_chief() ? 0 : 1;
    for (int i = 0; i < 2; ++i) job.allgather("x");  // the first one may be over for the other rank
  };
  for (const Outcome &outcome : everywhere(2, work)) {
    for (const int rank : {0, 1}) {
      assert_contains(outcome.text(rank), "rank 1: out of memory");
      assert_int_equal(outcome.code(rank), Code::no_memory);
    }
  }
}

void a_failure_is_final(void **) {
  const Outcome outcome = run_ranks(1, 2, [](comm::Communicator &job) {
    if (!job.is_chief()) return;
    std::string first, second;
    for (std::string *text : {&first, &second}) {
      try {
        job.allgather("x");
      } catch (const Error &e) {
        *text = e.what();
      }
    }
    require(!first.empty() && first == second, "the same error again");
    try {
      job.gather_local("x");
      require(false, "the local channel works on");
    } catch (const Error &e) {
      require(e.what() == first, "the same error on the local channel");
    }
  });
  assert_string_equal(outcome.all().c_str(), "");
}

// Also of what is no collective, such as a wait for sums.
void what_fails_outside_of_a_collective_is_final_too(void **) {
  for (const bool force_tcp : {false, true}) {
    std::atomic<bool> has_failed{false};
    const auto work = [&](comm::Communicator &job) {
      if (job.is_chief()) {
        try {
          job.await("waiting for sums", [](auto) -> bool { throw Error(Code::io, "no sums"); });
        } catch (const Error &) {
          has_failed = true;
        }
      }
      while (!has_failed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      try {
        job.allgather("x");
        require(false, "a collective works on");
      } catch (const Error &e) {
        require(contains(e.what(), "no sums"), "the same error");
      }
    };
    assert_string_equal(run_ranks(1, 2, work, {.force_tcp = force_tcp}).all().c_str(), "");
  }
}

// Ranks as processes; rank 1 dies without a word in its `work`, and the others are told of it in
// theirs.
void expect_death_of_rank_1(int size, const Part &work, bool force_tcp = false) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  const int port = free_port();
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      int status = 1;
      try {
        comm::Launch launch;
        launch.ranks = ranks_of(rank, 1, size);
        const auto job =
            comm::join(launch, {port, 0, force_tcp, std::chrono::seconds(TEST_PATIENCE_SECONDS)});
        job->broadcast("ready");
        work(*job);
      } catch (const Error &e) {
        status = e.code == Code::unavailable && contains(e.what(), "rank 1") ? 42 : 2;
        if (status == 2) std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
      }
      _exit(status);
    }
    children.push_back(child);
  }
  int status = 0;
  for (int rank = 0; rank < size; ++rank) {
    waitpid(children[static_cast<size_t>(rank)], &status, 0);
    if (rank == 1) assert_int_equal(WTERMSIG(status), SIGKILL);
    else assert_int_equal(WEXITSTATUS(status), 42);
  }
}

void a_killed_rank_is_an_error_on_the_others(void **) {
  expect_death_of_rank_1(3, [](comm::Communicator &job) {
    if (job.ranks().rank == 1) raise(SIGKILL);
    for (int i = 0; i < 100'000; ++i) job.allgather("x");
  });
}

// Such as a worker of a data loader, which still has what the rank had open.
void a_killed_rank_with_a_child_that_lives_is_told_at_once(void **) {
  for (const bool force_tcp : {false, true}) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const auto begin = std::chrono::steady_clock::now();
    expect_death_of_rank_1(
        3,
        [&](comm::Communicator &job) {
          if (job.ranks().rank == 1) {
            if (fork() == 0) {
              char word = 0;
              close(ends[1]);
              _exit(static_cast<int>(read(ends[0], &word, 1)));  // until the end of the test
            }
            raise(SIGKILL);
          }
          for (int i = 0; i < 100'000; ++i) job.allgather("x");
        },
        force_tcp);
    assert_true(std::chrono::steady_clock::now() - begin <
                std::chrono::seconds(TEST_PATIENCE_SECONDS / 2));
    close(ends[0]);
    close(ends[1]);
  }
}

// It has said its word, which all may read, and does not come to where they wait until all have
// read that of rank 0, which is long. With nine ranks they meet in another way.
void a_rank_killed_before_it_has_read_is_an_error_on_the_others(void **) {
  for (const int size : {3, 9}) {
    for (const bool is_gather : {false, true}) {
      int ends[2];
      assert_int_equal(pipe(ends), 0);
      expect_death_of_rank_1(size, [&](comm::Communicator &job) {
        const int rank = job.ranks().rank;
        char word = 0;
        if (rank == 1) {
          job.ask_while_waiting(
              [&] { return write(ends[1], &word, 1) == 1 && raise(SIGKILL) == 0; });
        } else if (rank == 2) {
          require(read(ends[0], &word, 1) == 1, "rank 1 waits for this one");
        }
        const std::string said(rank == 0 ? 1'000'000 : 1, 'x');
        if (is_gather) job.gather(said);
        else job.allgather(said);
      });
      close(ends[0]);
      close(ends[1]);
    }
  }
}

void a_forked_child_is_refused_and_harms_nothing(void **) {
  const Outcome outcome = run_ranks(1, 2, [](comm::Communicator &job) {
    if (job.is_chief()) {
      const pid_t child = fork();
      if (child == 0) {
        try {
          job.broadcast("x");
        } catch (const Error &e) {
          _exit(e.code == Code::state ? 0 : 1);
        }
        _exit(2);
      }
      int status = 0;
      waitpid(child, &status, 0);
      require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child is refused");
    }
    require(job.allgather("x").size() == 2, "the parent goes on");
  });
  assert_string_equal(outcome.all().c_str(), "");
}

// As the clean-up of a data loader does.
void a_forked_child_may_free_its_copy(void **) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  const int port = free_port();
  const Outcome outcome = run_threads(2, [&](int rank) {
    comm::Launch launch;
    launch.ranks = ranks_of(rank, 1, 2);
    auto job = comm::join(launch, {port, 0, false, std::chrono::seconds(TEST_PATIENCE_SECONDS)});
    if (rank == 0) {
      // The other rank's message is here already when the child frees its copy.
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      const pid_t child = fork();
      if (child == 0) {
        job.reset();
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends well");
    }
    require(job->allgather("x").size() == 2, "the parent goes on");
  });
  assert_string_equal(outcome.all().c_str(), "");
}

void the_callers_transport_is_destroyed_once(void **) {
  ThreadNetwork network(3, true);
  network.run(1, 3, [](comm::Communicator &job) { job.allgather("x"); });
  assert_int_equal(network.destroyed(), 3);
}

}  // namespace
}  // namespace det::test

int test_failures() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_mismatch_is_an_error_on_every_rank_that_names_both_calls),
      cmocka_unit_test(calls_of_the_api_are_told_apart),
      cmocka_unit_test(a_step_of_the_api_is_no_collective_of_the_caller),
      cmocka_unit_test(arguments_that_must_agree_are_compared),
      cmocka_unit_test(a_global_call_against_a_local_one_names_both),
      cmocka_unit_test(so_do_ranks_of_several_machines),
      cmocka_unit_test(the_silent_rank_is_blamed_and_not_the_chief),
      cmocka_unit_test(a_loop_of_broadcasts_finds_a_silent_rank),
      cmocka_unit_test(a_mismatch_of_one_rank_leaves_nobody_in_bulk),
      cmocka_unit_test(one_call_too_many_is_a_mismatch_too),
      cmocka_unit_test(a_rank_that_leaves_is_an_error_on_the_others),
      cmocka_unit_test(a_silent_rank_is_an_error_after_the_timeout),
      cmocka_unit_test(a_host_may_stop_waiting),
      cmocka_unit_test(who_stops_when_all_have_come_has_the_result_too),
      cmocka_unit_test(a_rank_out_of_memory_is_named),
      cmocka_unit_test(a_failure_is_final),
      cmocka_unit_test(what_fails_outside_of_a_collective_is_final_too),
      cmocka_unit_test(a_killed_rank_is_an_error_on_the_others),
      cmocka_unit_test(a_killed_rank_with_a_child_that_lives_is_told_at_once),
      cmocka_unit_test(a_rank_killed_before_it_has_read_is_an_error_on_the_others),
      cmocka_unit_test(a_forked_child_is_refused_and_harms_nothing),
      cmocka_unit_test(a_forked_child_may_free_its_copy),
      cmocka_unit_test(the_callers_transport_is_destroyed_once),
  };
  return cmocka_run_group_tests_name("failures", tests, nullptr, nullptr);
}

// Who gets into a job, and who does not.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/comm/join/endpoint.h"
#include "core/comm/join/handshake.h"
#include "core/comm/join/rendezvous.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"
#include "tests/comm/thread_transport.h"
#include "tests/expect_error.h"
#include "tests/patience.h"

namespace det::test {
namespace {

// Joins with whatever numbers each rank is given.
Outcome join_all(const std::vector<comm::Ranks> &all,
                 std::chrono::milliseconds timeout = std::chrono::seconds(5)) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  const int port = free_port();
  return run_threads(static_cast<int>(all.size()), [&](int rank) {
    comm::Launch launch;
    launch.ranks = all[static_cast<size_t>(rank)];
    launch.chief_ip = "127.0.0.1";
    comm::join(launch, {port, 0, false, timeout});
  });
}

void numbers_that_contradict_each_other_are_refused_on_every_rank(void **) {
  const std::vector<std::vector<comm::Ranks>> wrong{
      {{0, 2, 0, 2, 0, 1}, {1, 2, 0, 2, 0, 1}},                      // both local rank 0
      {{0, 2, 0, 1, 0, 2}, {1, 2, 0, 1, 0, 2}},                      // both machine 0
      {{0, 3, 0, 2, 0, 2}, {1, 3, 1, 2, 0, 2}, {2, 3, 0, 1, 0, 2}},  // three on one machine
      {{0, 3, 0, 3, 0, 1}, {1, 3, 1, 3, 0, 1}, {2, 3, 0, 2, 1, 2}},  // not the same machines
  };
  for (const auto &ranks : wrong) {
    const Outcome outcome = join_all(ranks);
    for (size_t rank = 0; rank < ranks.size(); ++rank) assert_true(outcome[rank] != nullptr);
    assert_true(contains(outcome.all(), "check the numbers") ||
                contains(outcome.all(), "says that") || contains(outcome.all(), "did not come"));
  }
}

// Whoever came first, and whoever did not get in.
void two_processes_of_one_rank_are_told_so(void **) {
  const Outcome outcome = join_all({{0, 3, 0, 3, 0, 1}, {1, 3, 1, 3, 0, 1}, {1, 3, 1, 3, 0, 1}});
  for (int process = 0; process < 3; ++process) {
    assert_int_equal(outcome.code(process), Code::invalid);
    assert_true(contains(outcome.text(process), "two processes are rank 1"));
  }
}

void a_rank_of_another_job_is_told_so(void **) {
  const Outcome outcome = join_all({{0, 2, 0, 2, 0, 1}, {4, 5, 4, 5, 0, 1}});
  for (int process = 0; process < 2; ++process) {
    assert_int_equal(outcome.code(process), Code::invalid);
    assert_true(contains(outcome.text(process), "a process came that is rank 4 of 5"));
  }
}

// The chief sends away whoever is silent for too long: a rank that was stopped comes again.
void a_rank_that_was_taken_for_a_stranger_comes_again(void **) {
  const comm::Endpoint endpoint{comm::Endpoint::Kind::tcp, "127.0.0.1", free_port()};
  const Outcome outcome = run_threads(2, [&](int who) {
    comm::Patience patience(std::chrono::seconds(TEST_PATIENCE_SECONDS));
    if (who == 1) {
      comm::apply_at(endpoint, {ranks_of(1, 1, 2)}, "secret", patience);
      return;
    }
    {
      const std::vector<UnsharedFd> door = comm::listen_at(endpoint);
      pollfd knocks{door[0].get(), POLLIN, 0};
      poll(&knocks, 1, -1);
      const Fd visitor(accept(door[0].get(), nullptr, nullptr));
      const std::string challenge = comm::make_challenge();
      (void)!::send(visitor.get(), challenge.data(), challenge.size(), MSG_NOSIGNAL);
    }
    comm::Rendezvous door("secret");
    door.open(endpoint);
    require(door.gather(ranks_of(0, 1, 2), 0, patience).size() == 1, "it comes again");
  });
  assert_string_equal(outcome.all().c_str(), "");
}

// The chief, in a process of its own, may open few files.
void a_chief_out_of_descriptors_says_so_to_all(void **) {
  constexpr int size = 40;
  const int port = free_port();
  const auto join_as = [&](int rank) {
    comm::Launch launch;
    launch.ranks = ranks_of(rank, 1, size);
    comm::join(launch, {port, 0, false, std::chrono::seconds(5)});
  };
  int said[2];
  assert_int_equal(pipe(said), 0);
  const pid_t chief = fork();
  if (chief == 0) {
    const rlimit few{static_cast<rlim_t>(said[1] + 8), static_cast<rlim_t>(said[1] + 8)};
    setrlimit(RLIMIT_NOFILE, &few);
    std::string text;
    try {
      join_as(0);
    } catch (const Error &e) {
      text = e.what();
    }
    (void)!write(said[1], text.data(), text.size());
    _exit(0);
  }
  close(said[1]);
  const Outcome outcome = run_threads(size - 1, [&](int thread) { join_as(thread + 1); });
  char text[1000] = "";
  assert_true(read(said[0], text, sizeof text - 1) > 0);
  close(said[0]);
  waitpid(chief, nullptr, 0);
  assert_non_null(strstr(text, "ulimit -n"));
  assert_true(contains(outcome.all(), "ulimit -n"));
  assert_false(contains(outcome.all(), "DET_DISTRIBUTED_SECRET"));
}

// What a rank sends and receives does not grow with the job.
void joining_costs_every_rank_the_same(void **) {
  const auto cost = [](int nodes) {
    ThreadNetwork network(nodes * 4, false);
    assert_string_equal(network.run(nodes, 4, [](comm::Communicator &) {}).all().c_str(), "");
    return std::pair(network.messages(), network.bytes());
  };
  const auto [few_messages, few_bytes] = cost(4);
  const auto [messages, bytes] = cost(32);
  assert_in_range(messages, 1, 8 * few_messages + 100);
  assert_in_range(bytes, 1, 8 * few_bytes + 4000);
  print_message("# joining of 128 ranks: %zu messages, %zu bytes\n", messages, bytes);
}

void ranks_that_do_not_come_are_named(void **) {
  const Outcome outcome = join_all({{0, 3, 0, 3, 0, 1}}, std::chrono::milliseconds(200));
  assert_int_equal(outcome.code(0), Code::timeout);
  assert_true(contains(outcome.text(0), "1, 2"));
}

void a_chief_that_does_not_come_is_an_error(void **) {
  const Outcome outcome = join_all({{1, 2, 1, 2, 0, 1}}, std::chrono::milliseconds(200));
  assert_int_equal(outcome.code(0), Code::timeout);
  assert_true(contains(outcome.text(0), "rank 0"));
}

void several_machines_need_an_address_and_a_secret(void **) {
  unsetenv("DET_DISTRIBUTED_SECRET");
  unsetenv("DET_SESSION_TOKEN");
  comm::Launch launch;
  launch.ranks = {0, 2, 0, 1, 0, 2};
  assert_true(contains(expect_error(Code::invalid, [&] { comm::join(launch, {}); }), "chief_ip"));
  launch.chief_ip = "127.0.0.1";
  const comm::JoinOptions free{.port = free_port()};
  assert_true(contains(expect_error(Code::invalid, [&] { comm::join(launch, free); }),
                       "DET_DISTRIBUTED_SECRET"));
}

void impossible_ports_are_refused(void **) {
  comm::Launch launch;
  launch.ranks = {0, 2, 0, 2, 0, 1};
  assert_true(contains(expect_error(Code::invalid, [&] { comm::join(launch, {.port = 70'000}); }),
                       "70000"));
  assert_true(
      contains(expect_error(Code::invalid,
                            [&] { comm::join(launch, {.port = 65'000, .port_offset = 1'000}); }),
               "66000"));
}

void two_jobs_need_two_ports(void **) {
  const int port = free_port();
  const comm::Endpoint endpoint{comm::Endpoint::Kind::tcp, "127.0.0.1", port};
  comm::Rendezvous first("secret"), second("secret");
  first.open(endpoint);
  assert_true(contains(expect_error(Code::busy, [&] { second.open(endpoint); }), "pub_port"));
}

// What the ranks of a job say whose chief is at `address`.
Outcome join_two_machines(
    const std::string &address, int port, const std::function<void(int)> &before = [](int) {}) {
  return run_threads(4, [&](int rank) {
    before(rank);
    comm::Launch launch;
    launch.ranks = ranks_of(rank, 2, 2);
    launch.chief_ip = address;
    comm::join(launch, {port, 0, false, std::chrono::seconds(5)});
  });
}

void addresses_of_ipv6_have_brackets_or_none(void **) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  for (const char *address : {"::1", "::ffff:127.0.0.1", "127.0.0.1", "localhost"})
    assert_string_equal(join_two_machines(address, free_port()).all().c_str(), "");
  assert_string_equal(comm::parse_endpoint("tcp:[::1]:99").name.c_str(), "::1");
  const comm::Endpoint endpoint{comm::Endpoint::Kind::tcp, "::1", 99};
  assert_string_equal(endpoint.text().c_str(), "tcp:[::1]:99");
}

// One of the addresses of a name is enough.
void a_port_that_is_taken_on_ipv4_alone_is_busy(void **) {
  const int port = free_port();
  comm::Rendezvous other("secret"), both("secret");
  other.open({comm::Endpoint::Kind::tcp, "0.0.0.0", port});
  expect_error(Code::busy, [&] { both.open({comm::Endpoint::Kind::tcp, "", port}); });
}

void a_chief_that_fails_at_the_door_says_so_to_all(void **) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  const int port = free_port();
  comm::Rendezvous other("secret");
  other.open({comm::Endpoint::Kind::tcp, "0.0.0.0", port});
  const Outcome busy = join_two_machines("127.0.0.1", port);
  for (const int rank : {0, 1}) {
    assert_int_equal(busy.code(rank), Code::busy);
    assert_true(contains(busy.text(rank), "another job on this machine uses"));
  }
  const Outcome unknown = join_two_machines("no-such-host.invalid", free_port());
  for (int rank = 0; rank < 4; ++rank) {
    assert_int_equal(unknown.code(rank), Code::invalid);
    assert_true(contains(unknown.text(rank), "chief_ip"));
  }
}

// Each rank a process, since each has its own variables; what it says when it fails to join.
std::vector<std::string> join_as_processes(int nodes, int per_node, bool force_tcp,
                                           const std::function<void(int)> &before) {
  const int port = free_port();
  std::vector<std::pair<pid_t, int>> children;
  int start[2];  // closed when all are there, so that they wait for the same time
  assert_int_equal(pipe(start), 0);
  for (int rank = 0; rank < nodes * per_node; ++rank) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      std::string text;
      char none;
      close(start[1]);
      (void)!read(start[0], &none, 1);
      try {
        before(rank);
        comm::Launch launch;
        launch.ranks = ranks_of(rank, nodes, per_node);
        launch.chief_ip = "127.0.0.1";
        comm::join(launch, {port, 0, force_tcp, std::chrono::seconds(5)});
      } catch (const Error &e) {
        text = e.what();
      }
      (void)!write(ends[1], text.data(), text.size());
      _exit(0);
    }
    close(ends[1]);
    children.emplace_back(child, ends[0]);
  }
  for (const int end : start) close(end);
  std::vector<std::string> said;
  for (const auto &[child, end] : children) {
    char text[2000] = "";
    (void)!read(end, text, sizeof text - 1);
    close(end);
    waitpid(child, nullptr, 0);
    said.emplace_back(text);
  }
  return said;
}

void who_was_turned_away_is_named_to_those_who_waited(void **) {
  for (const bool force_tcp : {false, true}) {
    const auto said = join_as_processes(1, 3, force_tcp, [](int rank) {
      setenv("DET_DISTRIBUTED_SECRET", rank == 1 ? "another" : "of the tests", 1);
    });
    for (const int rank : {0, 2}) {
      assert_true(contains(said[static_cast<size_t>(rank)], "local ranks 1"));
      assert_true(contains(said[static_cast<size_t>(rank)], "turned away meanwhile"));
      assert_true(contains(said[static_cast<size_t>(rank)], "says that it is rank 1"));
      assert_true(contains(said[static_cast<size_t>(rank)], "DET_DISTRIBUTED_SECRET"));
    }
    assert_true(contains(said[1], "DET_DISTRIBUTED_SECRET"));
  }
}

void a_leader_without_the_secret_is_named_above_and_says_so_below(void **) {
  const auto said = join_as_processes(2, 2, false, [](int rank) {
    unsetenv("DET_SESSION_TOKEN");
    if (rank == 2) unsetenv("DET_DISTRIBUTED_SECRET");
    else setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  });
  for (const int rank : {0, 1})
    assert_true(contains(said[static_cast<size_t>(rank)], "says that it is rank 2"));
  for (const int rank : {2, 3})
    assert_true(contains(said[static_cast<size_t>(rank)], "there is no secret"));
}

void a_chief_without_the_secret_says_so_to_all(void **) {
  const auto said = join_as_processes(2, 2, false, [](int rank) {
    unsetenv("DET_SESSION_TOKEN");
    if (rank == 0) unsetenv("DET_DISTRIBUTED_SECRET");
    else setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  });
  for (const std::string &each : said) assert_true(contains(each, "there is no secret"));
}

void what_speaks_another_protocol_is_named(void **) {
  const comm::Endpoint endpoint{comm::Endpoint::Kind::tcp, "127.0.0.1", free_port()};
  comm::Rendezvous door("secret");
  door.open(endpoint);
  comm::Patience patience(std::chrono::seconds(2));
  const UnsharedFd web = comm::connect_to(endpoint, patience);
  (void)!::send(web.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
  const std::string text =
      expect_error(Code::timeout, [&] { door.gather(ranks_of(0, 1, 2), 0, patience); });
  assert_true(contains(text, "a process at 127.0.0.1, which is no detcore of this release"));
}

void a_rank_that_died_while_it_joined_may_come_again(void **) {
  const comm::Endpoint endpoint{comm::Endpoint::Kind::tcp, "127.0.0.1", free_port()};
  comm::Rendezvous door("secret");
  door.open(endpoint);
  const Outcome outcome = run_threads(2, [&](int who) {
    comm::Patience patience(std::chrono::seconds(TEST_PATIENCE_SECONDS));
    if (who == 0) {
      require(door.gather(ranks_of(0, 2, 3), 1, patience).size() == 3, "all members");
      return;
    }
    // As a rank of this machine and as the leader of the other one.
    comm::apply_at(endpoint, {ranks_of(1, 2, 3)}, "secret", patience);
    const auto again = comm::apply_at(endpoint, {ranks_of(1, 2, 3)}, "secret", patience);
    comm::apply_at(endpoint, {ranks_of(3, 2, 3), 7}, "secret", patience);
    const auto leader = comm::apply_at(endpoint, {ranks_of(3, 2, 3), 8}, "secret", patience);
    require(leader.welcome.number == 1, "its number is the same");
    comm::apply_at(endpoint, {ranks_of(2, 2, 3)}, "secret", patience);
  });
  assert_string_equal(outcome.all().c_str(), "");
}

void an_address_that_is_none_is_refused(void **) {
  assert_true(contains(
      expect_error(Code::invalid,
                   [&] {
                     comm::listen_at({comm::Endpoint::Kind::tcp, "no such host.invalid", 1});
                   }),
      "chief_ip"));
  assert_true(contains(expect_error(Code::corrupt, [&] { comm::parse_endpoint("tcp:nowhere"); }),
                       "address"));
  assert_true(
      contains(expect_error(Code::corrupt, [&] { comm::parse_endpoint("http://x"); }), "address"));
  const comm::Endpoint endpoint = comm::parse_endpoint("tcp:[::1]:99");
  assert_int_equal(endpoint.port, 99);
}

// What a stranger sends must not disturb those who belong to the job.
void strangers_are_kept_out(void **) {
  const comm::Endpoint endpoint{comm::Endpoint::Kind::tcp, "127.0.0.1", free_port()};
  comm::Rendezvous door("secret");
  door.open(endpoint);
  const auto stranger = [&](const std::string &says) {
    comm::Patience patience(std::chrono::seconds(TEST_PATIENCE_SECONDS));
    UnsharedFd fd = comm::connect_to(endpoint, patience);
    (void)!::send(fd.get(), says.data(), says.size(), MSG_NOSIGNAL);
    return fd;
  };
  const UnsharedFd silent = stranger("");
  const UnsharedFd rude = stranger(std::string(10'000, '\xff'));
  const UnsharedFd web = stranger("GET / HTTP/1.1\r\n\r\n");
  const UnsharedFd half = stranger("detcomm1");
  const Outcome outcome = run_threads(3, [&](int who) {
    comm::Patience patience(std::chrono::seconds(TEST_PATIENCE_SECONDS));
    if (who == 0) {
      require(door.gather(ranks_of(0, 1, 2), 0, patience).size() == 1, "the member");
    } else if (who == 1) {
      comm::apply_at(endpoint, {ranks_of(1, 1, 2)}, "wrong", patience);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      comm::apply_at(endpoint, {ranks_of(1, 1, 2)}, "secret", patience);
    }
  });
  assert_string_equal(outcome.text(0).c_str(), "");
  assert_int_equal(outcome.code(1), Code::access);
  assert_true(contains(outcome.text(1), "DET_DISTRIBUTED_SECRET"));
  assert_string_equal(outcome.text(2).c_str(), "");
}

void a_false_chief_is_recognised(void **) {
  const std::string challenge = comm::make_challenge();
  comm::Applicant applicant({ranks_of(1, 1, 2), 7}, "secret");
  const std::string hello = applicant.answer(challenge);
  const std::string welcome = comm::make_welcome(challenge, hello, "secret", {5, 6});
  const comm::Welcome known = applicant.judge(welcome);
  assert_int_equal(known.rank, 5);
  assert_int_equal(known.number, 6);
  for (size_t at = 0; at < welcome.size(); ++at) {
    std::string other = welcome;
    other[at] = static_cast<char>(other[at] ^ 1);
    expect_error(Code::access, [&] { applicant.judge(other); });
  }
  const std::string guessed = comm::make_welcome(challenge, hello, "guess", {5, 6});
  assert_true(contains(expect_error(Code::access, [&] { applicant.judge(guessed); }), "chief"));
  assert_true(contains(expect_error(Code::access, [&] { applicant.judge(""); }), "chief"));
  assert_true(contains(expect_error(Code::access, [&] { applicant.answer("SSH-2.0-OpenSSH_9.2"); }),
                       "no detcore"));
  // An answer counts for the challenge it was made for only.
  const std::optional<comm::Hello> verified = comm::verify_hello(challenge, hello, "secret");
  assert_int_equal(verified.value().ranks.rank, 1);
  assert_int_equal(verified.value().ranks.local_size, 2);
  assert_int_equal(verified.value().door, 7);
  assert_false(comm::verify_hello(comm::make_challenge(), hello, "secret").has_value());
  for (size_t at = 0; at < hello.size(); ++at) {
    std::string other = hello;
    other[at] = static_cast<char>(other[at] ^ 1);
    assert_false(comm::verify_hello(challenge, other, "secret").has_value());
  }
}

}  // namespace
}  // namespace det::test

int test_join() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(numbers_that_contradict_each_other_are_refused_on_every_rank),
      cmocka_unit_test(two_processes_of_one_rank_are_told_so),
      cmocka_unit_test(a_rank_of_another_job_is_told_so),
      cmocka_unit_test(a_rank_that_was_taken_for_a_stranger_comes_again),
      cmocka_unit_test(a_chief_out_of_descriptors_says_so_to_all),
      cmocka_unit_test(joining_costs_every_rank_the_same),
      cmocka_unit_test(ranks_that_do_not_come_are_named),
      cmocka_unit_test(a_chief_that_does_not_come_is_an_error),
      cmocka_unit_test(several_machines_need_an_address_and_a_secret),
      cmocka_unit_test(impossible_ports_are_refused),
      cmocka_unit_test(two_jobs_need_two_ports),
      cmocka_unit_test(addresses_of_ipv6_have_brackets_or_none),
      cmocka_unit_test(a_port_that_is_taken_on_ipv4_alone_is_busy),
      cmocka_unit_test(a_chief_that_fails_at_the_door_says_so_to_all),
      cmocka_unit_test(who_was_turned_away_is_named_to_those_who_waited),
      cmocka_unit_test(a_leader_without_the_secret_is_named_above_and_says_so_below),
      cmocka_unit_test(a_chief_without_the_secret_says_so_to_all),
      cmocka_unit_test(what_speaks_another_protocol_is_named),
      cmocka_unit_test(a_rank_that_died_while_it_joined_may_come_again),
      cmocka_unit_test(an_address_that_is_none_is_refused),
      cmocka_unit_test(strangers_are_kept_out),
      cmocka_unit_test(a_false_chief_is_recognised),
  };
  return cmocka_run_group_tests_name("join", tests, nullptr, nullptr);
}

// Who gets into a job, and who does not.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "core/comm/apply.h"
#include "core/comm/endpoint.h"
#include "core/comm/handshake.h"
#include "core/comm/rendezvous.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"
#include "tests/comm/thread_transport.h"
#include "tests/expect_error.h"

namespace det::test {
namespace {

// Joins with whatever numbers each rank is given.
Outcome join_all(const std::vector<comm::Ranks> &all,
                 std::chrono::milliseconds timeout = std::chrono::seconds(2)) {
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
    comm::Patience patience(std::chrono::seconds(20));
    if (who == 1) {
      comm::apply_at(endpoint, {ranks_of(1, 1, 2)}, "secret", patience);
      return;
    }
    {
      const std::vector<Fd> door = comm::listen_at(endpoint);
      pollfd knocks{door[0].get(), POLLIN, 0};
      poll(&knocks, 1, -1);
      const Fd visitor(accept(door[0].get(), nullptr, nullptr));
      const std::string challenge = comm::make_challenge();
      (void)!::send(visitor.get(), challenge.data(), challenge.size(), MSG_NOSIGNAL);
    }
    comm::Rendezvous door({endpoint}, "secret");
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
    comm::join(launch, {port, 0, false, std::chrono::seconds(3)});
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
  assert_true(contains(expect_error(Code::invalid, [&] { comm::join(launch, {}); }),
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
  const comm::Rendezvous first({endpoint}, "secret");
  assert_true(contains(expect_error(Code::busy, [&] { comm::Rendezvous({endpoint}, "secret"); }),
                       "pub_port"));
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
  comm::Rendezvous door({endpoint}, "secret");
  const auto stranger = [&](const std::string &says) {
    comm::Patience patience(std::chrono::seconds(5));
    Fd fd = comm::connect_to(endpoint, patience);
    (void)!::send(fd.get(), says.data(), says.size(), MSG_NOSIGNAL);
    return fd;
  };
  const Fd silent = stranger("");
  const Fd rude = stranger(std::string(10'000, '\xff'));
  const Fd web = stranger("GET / HTTP/1.1\r\n\r\n");
  const Fd half = stranger("detcomm1");
  const Outcome outcome = run_threads(3, [&](int who) {
    comm::Patience patience(std::chrono::seconds(20));
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
      cmocka_unit_test(an_address_that_is_none_is_refused),
      cmocka_unit_test(strangers_are_kept_out),
      cmocka_unit_test(a_false_chief_is_recognised),
  };
  return cmocka_run_group_tests_name("join", tests, nullptr, nullptr);
}

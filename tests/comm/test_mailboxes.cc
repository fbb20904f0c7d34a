// What ranks that share memory read there of each other.
#include <functional>
#include <string_view>

#include "core/base/error.h"
#include "core/comm/mailbox_group.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/patience.h"

namespace det::test {
namespace {

// Of a rank that has nothing to send and looks whether its peers are there.
struct Peers : comm::Transport {
  bool send(int, comm::Channel, const comm::FrameHead &, std::string_view,
            comm::Patience &) override {
    return false;
  }
  bool receive_head(int, comm::Channel, comm::FrameHead &, comm::Patience &) override {
    return false;
  }
  std::string receive_payload(int, comm::Channel, const comm::FrameHead &,
                              comm::Patience &) override {
    return "";
  }
  void check_peer(int peer) override { look(peer); }

  std::function<void(int)> look = [](int) {};
};

// Rank 0 of three in a collective, and what it is told.
struct Waiting {
  std::string told() {
    comm::MailboxGroup group({mine,
                              peers,
                              comm::Channel::global,
                              {0, 1, 2},
                              {0, 1, 2},
                              std::chrono::seconds(TEST_PATIENCE_SECONDS),
                              job},
                             nullptr);
    return expect_error(Code::unavailable, [&] { group.allgather("x", {}); });
  }

  comm::Mailboxes of_rank(size_t rank) const {
    return {comm::SharedMemory::open(memory.name(), size), 3, rank};
  }

  const size_t size = comm::Mailboxes::size_for(3);
  const comm::SharedMemory memory = comm::SharedMemory::create(size);
  comm::Mailboxes mine = of_rank(0), rank_1 = of_rank(1), rank_2 = of_rank(2);
  Peers peers;
  comm::JobFailure job;
};

const Error rank_1_is_gone(Code::unavailable, "rank 1 is gone");

// Rank 2 finds that rank 1 is gone, when rank 0 has just looked whether somebody told something.
void a_rank_that_left_when_it_had_told_why_is_not_blamed(void **) {
  Waiting waiting;
  waiting.peers.look = [&](int peer) {
    if (peer != 1) return;
    waiting.rank_2.fail(rank_1_is_gone);
    waiting.rank_2.quit();
  };
  assert_string_equal(waiting.told().c_str(), "rank 1 is gone");
}

void a_connection_that_is_closed_then_is_not_either(void **) {
  Waiting waiting;
  waiting.peers.look = [&](int peer) {
    if (peer != 2) return;
    waiting.rank_2.fail(rank_1_is_gone);
    throw Error(Code::unavailable, "rank 2 closed the connection");
  };
  assert_string_equal(waiting.told().c_str(), "rank 1 is gone");
}

// Where there was a long message, there is none any more.
void a_message_that_is_gone_then_is_not_either(void **) {
  Waiting waiting;
  comm::FrameHead head;
  head.collective = comm::Collective::allgather;
  head.sequence = 1;
  head.size = 2 * comm::Mailboxes::largest_payload;
  head.is_bulk = true;
  const std::string_view nowhere(reinterpret_cast<const char *>(16), head.size);
  for (comm::Mailboxes *rank : {&waiting.rank_1, &waiting.rank_2})
    rank->write(comm::Channel::global, head, nowhere);
  assert_true(contains(waiting.told(), "memory of process"));
  Waiting again;
  for (comm::Mailboxes *rank : {&again.rank_1, &again.rank_2})
    rank->write(comm::Channel::global, head, nowhere);
  again.rank_2.fail(rank_1_is_gone);
  assert_string_equal(again.told().c_str(), "rank 1 is gone");
}

void a_rank_that_left_without_a_word_is_named(void **) {
  Waiting waiting;
  waiting.rank_2.quit();
  assert_true(contains(waiting.told(), "rank 2 left the job"));
}

// Who tells may be killed or interrupted while it writes, which stops no other one.
void the_first_failure_that_is_told_stays(void **) {
  Waiting waiting;
  assert_false(waiting.mine.failure().has_value());
  const Error other(Code::conflict, std::string(10'000, 'x'));
  waiting.rank_2.fail(rank_1_is_gone);
  waiting.rank_1.fail(other);
  waiting.rank_2.fail(other);
  for (const comm::Mailboxes *rank : {&waiting.mine, &waiting.rank_1, &waiting.rank_2}) {
    assert_int_equal(rank->failure().value().code, Code::unavailable);
    assert_string_equal(rank->failure()->what(), "rank 1 is gone");
  }
  Waiting again;
  again.rank_2.fail(other);
  const std::string told = again.mine.failure().value().what();
  assert_true(told.size() > 100 && told == std::string(told.size(), 'x'));
}

// Who looks at it would take that for what it does instead.
void a_rank_whose_job_has_failed_is_seen_in_no_other_collective(void **) {
  Waiting waiting;
  waiting.job.note(rank_1_is_gone);
  assert_string_equal(waiting.told().c_str(), "rank 1 is gone");
  assert_false(waiting.rank_1.entered(comm::Channel::global, 0).has_value());
}

}  // namespace
}  // namespace det::test

int test_mailboxes() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_rank_that_left_when_it_had_told_why_is_not_blamed),
      cmocka_unit_test(a_connection_that_is_closed_then_is_not_either),
      cmocka_unit_test(a_message_that_is_gone_then_is_not_either),
      cmocka_unit_test(a_rank_that_left_without_a_word_is_named),
      cmocka_unit_test(the_first_failure_that_is_told_stays),
      cmocka_unit_test(a_rank_whose_job_has_failed_is_seen_in_no_other_collective),
  };
  return cmocka_run_group_tests_name("mailboxes", tests, nullptr, nullptr);
}

// What the ranks say of themselves, and what they are told of their machine.
#include "core/comm/join/layout.h"

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"
#include "tests/expect_error.h"

namespace det::test {
namespace {

std::vector<comm::Message> introduce(const std::vector<comm::Ranks> &all) {
  std::vector<comm::Message> messages;
  for (const comm::Ranks &ranks : all)
    messages.emplace_back(comm::encode({ranks, "memory of " + std::to_string(ranks.rank)}));
  return messages;
}

std::vector<comm::Ranks> job_of(int nodes, int per_node) {
  std::vector<comm::Ranks> all;
  for (int rank = 0; rank < nodes * per_node; ++rank)
    all.push_back(ranks_of(rank, nodes, per_node));
  return all;
}

void every_rank_is_told_of_its_machine(void **) {
  const std::vector<comm::Ranks> all = job_of(256, 64);
  const std::vector<comm::Message> answers = comm::answer_introductions(introduce(all));
  assert_int_equal(answers.size(), all.size());
  for (const int rank : {0, 63, 64, 16'383}) {
    const comm::Ranks &ranks = all[static_cast<size_t>(rank)];
    const comm::Machine machine = comm::decode_machine(*answers[static_cast<size_t>(rank)], ranks);
    assert_int_equal(machine.members.size(), 64);
    assert_int_equal(machine.members[static_cast<size_t>(ranks.local_rank)], rank);
    assert_string_equal(machine.memory.c_str(),
                        ("memory of " + std::to_string(machine.members[0])).c_str());
  }
}

void contradictions_name_two_ranks(void **) {
  const auto refusal = [](size_t rank, const std::function<void(comm::Ranks &)> &change) {
    std::vector<comm::Ranks> all = job_of(2, 2);
    change(all[rank]);
    return expect_error(Code::invalid, [&] { comm::answer_introductions(introduce(all)); });
  };
  assert_true(contains(refusal(3, [](comm::Ranks &r) { r.size = 5; }), "ranks 0 and 3"));
  assert_true(contains(refusal(2, [](comm::Ranks &r) { r.cross_size = 3; }), "ranks 0 and 2"));
  assert_true(contains(refusal(3, [](comm::Ranks &r) { r.local_rank = 0; }), "ranks 2 and 3"));
  assert_true(contains(refusal(3, [](comm::Ranks &r) { r.local_size = 3; }), "ranks 2 and 3"));
  assert_true(contains(refusal(1, [](comm::Ranks &r) { r.rank = 0; }), "the same rank"));
  assert_true(contains(refusal(1, [](comm::Ranks &r) { r.cross_rank = 1; }), "ranks 1 and 3"));
  std::vector<comm::Ranks> all = job_of(2, 2);
  all[3].cross_rank = 0;
  all[3].local_rank = 1;
  all[1].cross_rank = 1;
  all[1].local_rank = 1;
  comm::answer_introductions(introduce(all));  // numbered across machines
}

// However large the machines are that the ranks speak of, each of them is looked at once: a square
// of so many, in memory or in steps, would not end.
void the_work_grows_with_the_ranks_alone(void **) {
  constexpr int size = 300'000;
  const std::vector<comm::Ranks> machine = job_of(1, size);
  const std::vector<comm::Message> answers = comm::answer_introductions(introduce(machine));
  size_t bytes = 0;
  for (const comm::Message &answer : answers) bytes += answer->size();
  assert_in_range(bytes, 1, 40 * size);
  assert_int_equal(comm::decode_machine(*answers[7], machine[7]).members.back(), size - 1);

  std::vector<comm::Ranks> alone = job_of(size, 1);
  for (comm::Ranks &ranks : alone) ranks.local_size = size;
  assert_true(
      contains(expect_error(Code::invalid, [&] { comm::answer_introductions(introduce(alone)); }),
               "says that"));
}

void members_in_any_order_are_told(void **) {
  const std::vector<std::vector<int>> orders{{0, 1, 2, 3, 4, 5},
                                             {0, 2, 4, 1, 3, 5},
                                             {0, 5, 1, 4, 2, 3},
                                             {0, 3, 5, 4, 2, 1},
                                             {0, 1, 5, 4, 3, 2}};
  for (const std::vector<int> &order : orders) {
    std::vector<comm::Ranks> all = job_of(1, 6);
    for (size_t seat = 0; seat < order.size(); ++seat)
      all[static_cast<size_t>(order[seat])].local_rank = static_cast<int>(seat);
    const std::vector<comm::Message> answers = comm::answer_introductions(introduce(all));
    assert_equal(comm::decode_machine(*answers[3], all[3]).members, order);
  }
}

void what_makes_no_sense_is_refused(void **) {
  std::vector<comm::Message> messages = introduce(job_of(1, 2));
  messages[1]->resize(23);
  expect_error(Code::corrupt, [&] { comm::answer_introductions(messages); });
  messages[1].reset();
  expect_error(Code::corrupt, [&] { comm::answer_introductions(messages); });
  const comm::Ranks ranks = ranks_of(0, 1, 2);
  expect_error(Code::corrupt, [&] { comm::decode_machine("short", ranks); });
  expect_error(Code::corrupt, [&] { comm::decode_machine(std::string(12, '\x7f'), ranks); });
  const std::string good = *comm::answer_introductions(introduce(job_of(1, 2)))[0];
  for (size_t at = 0; at < 12; ++at) {
    std::string bad = good;
    bad[at] = '\x7f';
    expect_error(Code::corrupt, [&] { comm::decode_machine(bad, ranks); });
  }
}

}  // namespace
}  // namespace det::test

int test_layout() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_rank_is_told_of_its_machine),
      cmocka_unit_test(contradictions_name_two_ranks),
      cmocka_unit_test(the_work_grows_with_the_ranks_alone),
      cmocka_unit_test(members_in_any_order_are_told),
      cmocka_unit_test(what_makes_no_sense_is_refused),
  };
  return cmocka_run_group_tests_name("layout", tests, nullptr, nullptr);
}

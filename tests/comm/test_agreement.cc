// What one rank throws reaches all of them.
#include "core/comm/agreement.h"

#include "tests/cmocka.h"
#include "tests/comm/ranks.h"

namespace det::test {
namespace {

using Texts = std::vector<std::string>;

void all_ranks_get_all_values(void **) {
  const Outcome outcome = run_ranks(2, 2, [](comm::Communicator &communicator) {
    const comm::Ranks &ranks = communicator.ranks();
    const Texts values =
        comm::all_agree(communicator, {}, [&] { return "of " + std::to_string(ranks.rank); });
    require(values == Texts{"of 0", "of 1", "of 2", "of 3"}, "values of all");
    const Texts local =
        comm::all_agree_local(communicator, {}, [&] { return std::to_string(ranks.rank); });
    require(local == (ranks.cross_rank == 0 ? Texts{"0", "1"} : Texts{"2", "3"}), "local values");
  });
  assert_string_equal(outcome.all().c_str(), "");
}

void an_error_on_one_rank_is_an_error_on_all(void **) {
  const Outcome outcome = run_ranks(1, 3, [](comm::Communicator &communicator) {
    comm::all_agree(communicator, {}, [&]() -> std::string {
      if (communicator.ranks().rank == 1) throw Error(Code::full, "writing 'x': no room");
      return "";
    });
  });
  assert_string_equal(outcome.text(0).c_str(), "rank 1: writing 'x': no room");
  assert_string_equal(outcome.text(1).c_str(), "writing 'x': no room");
  assert_string_equal(outcome.text(2).c_str(), "rank 1: writing 'x': no room");
  for (int rank = 0; rank < 3; ++rank) assert_int_equal(outcome.code(rank), Code::full);
}

void what_the_chief_decides_is_everybodys(void **) {
  const Outcome outcome = run_ranks(2, 2, [](comm::Communicator &communicator) {
    const comm::Ranks &ranks = communicator.ranks();
    const auto decide = [&] { return std::to_string(ranks.rank); };
    require(comm::chief_decides(communicator, {}, decide) == "0", "the chief's value");
    require(
        comm::local_chief_decides(communicator, {}, decide) == std::to_string(2 * ranks.cross_rank),
        "the local chief's value");
    comm::chief_decides(communicator, {},
                        []() -> std::string { throw Error(Code::state, "too late"); });
  });
  for (int rank = 0; rank < 4; ++rank) assert_int_equal(outcome.code(rank), Code::state);
  assert_string_equal(outcome.text(3).c_str(), "rank 0: too late");
}

}  // namespace
}  // namespace det::test

int test_agreement() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(all_ranks_get_all_values),
      cmocka_unit_test(an_error_on_one_rank_is_an_error_on_all),
      cmocka_unit_test(what_the_chief_decides_is_everybodys),
  };
  return cmocka_run_group_tests_name("agreement", tests, nullptr, nullptr);
}

// What one rank throws reaches all of them.
#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"

namespace det::test {
namespace {

std::string text_of(const std::exception_ptr &thrown) {
  if (!thrown) return "";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception &e) {
    return e.what();
  }
}

Code code_of(const std::exception_ptr &thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error &e) {
    return e.code;
  }
  return Code::internal;
}

void all_ranks_get_all_values(void **) {
  const auto thrown = run_ranks(2, 2, [](Communicator &communicator) {
    const auto values =
        all_agree(communicator, [&] { return "of " + std::to_string(communicator.ranks().rank); });
    assert_true(values == (std::vector<std::string>{"of 0", "of 1", "of 2", "of 3"}));
    const auto local =
        all_agree_local(communicator, [&] { return std::to_string(communicator.ranks().rank); });
    assert_int_equal(local.size(), 2);
    assert_int_equal(std::stoi(local[0]), communicator.ranks().cross_rank * 2);
  });
  for (const auto &error : thrown) assert_string_equal(text_of(error).c_str(), "");
}

void an_error_on_one_rank_is_an_error_on_all(void **) {
  const auto thrown = run_ranks(1, 3, [](Communicator &communicator) {
    all_agree(communicator, [&]() -> std::string {
      if (communicator.ranks().rank == 1) throw Error(Code::full, "writing 'x': no room");
      return "";
    });
  });
  assert_string_equal(text_of(thrown[0]).c_str(), "rank 1: writing 'x': no room");
  assert_string_equal(text_of(thrown[1]).c_str(), "writing 'x': no room");
  assert_string_equal(text_of(thrown[2]).c_str(), "rank 1: writing 'x': no room");
  for (const auto &error : thrown) assert_int_equal(code_of(error), Code::full);
}

void what_the_chief_decides_is_everybodys(void **) {
  const auto thrown = run_ranks(2, 2, [](Communicator &communicator) {
    const auto decide = [&] { return std::to_string(communicator.ranks().rank); };
    assert_string_equal(chief_decides(communicator, decide).c_str(), "0");
    assert_int_equal(std::stoi(local_chief_decides(communicator, decide)),
                     communicator.ranks().cross_rank * 2);
    chief_decides(communicator, []() -> std::string { throw Error(Code::state, "too late"); });
  });
  for (const auto &error : thrown) assert_int_equal(code_of(error), Code::state);
  assert_string_equal(text_of(thrown[3]).c_str(), "rank 0: too late");
}

}  // namespace
}  // namespace det::test

int main() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(all_ranks_get_all_values),
      cmocka_unit_test(an_error_on_one_rank_is_an_error_on_all),
      cmocka_unit_test(what_the_chief_decides_is_everybodys),
  };
  return cmocka_run_group_tests_name("agreement", tests, nullptr, nullptr);
}

// Which ranks of a machine can run at the same time.
#include "core/comm/cores.h"

#include <sched.h>

#include "tests/cmocka.h"

namespace det::test {
namespace {

std::string cores(std::initializer_list<int> numbers) {
  cpu_set_t set{};
  for (const int number : numbers) CPU_SET(number, &set);
  return {reinterpret_cast<const char *>(&set), sizeof set};
}

void ranks_that_may_run_anywhere_need_as_many_cores(void **) {
  assert_true(comm::has_core_for_each({cores({0, 1}), cores({0, 1})}));
  assert_false(comm::has_core_for_each({cores({0, 1}), cores({0, 1}), cores({0, 1})}));
}

// As mpirun and srun bind them.
void ranks_that_are_bound_need_different_cores(void **) {
  assert_true(comm::has_core_for_each({cores({3}), cores({1})}));
  assert_true(comm::has_core_for_each({cores({0, 1}), cores({0}), cores({2, 3})}));
  assert_false(comm::has_core_for_each({cores({1}), cores({1})}));
  assert_false(comm::has_core_for_each({cores({1}), cores({0, 1}), cores({0, 1})}));
}

void this_process_has_cores(void **) {
  assert_true(comm::has_core_for_each({comm::cores_of_this_process()}));
}

}  // namespace
}  // namespace det::test

int test_cores() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(ranks_that_may_run_anywhere_need_as_many_cores),
      cmocka_unit_test(ranks_that_are_bound_need_different_cores),
      cmocka_unit_test(this_process_has_cores),
  };
  return cmocka_run_group_tests_name("cores", tests, nullptr, nullptr);
}

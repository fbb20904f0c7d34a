#include "core/comm/join/slurm.h"

#include "tests/expect_error.h"

using namespace det;
using namespace det::comm;

namespace {

void tasks_per_node_are_counted_out(void **) {
  assert_equal(parse_tasks_per_node("3"), std::vector<int>({3}));
  assert_equal(parse_tasks_per_node("4(x2),3"), std::vector<int>({4, 4, 3}));
  assert_equal(parse_tasks_per_node("1,2,1(x3)"), std::vector<int>({1, 2, 1, 1, 1}));
}

void tasks_per_node_of_another_form_are_refused(void **) {
  for (const char *text :
       {"", ",", "3,", ",3", "0", "-1", "x", "3(", "3(x", "3(x2", "3(x0)", "3(2)", "3(x2)4", "3 ",
        "2147483648", "1(x99999999999999999999)", "1(x1048577)", "1(x1048576),1"})
    expect_error(Code::invalid, [&] { parse_tasks_per_node(text); });
  assert_int_equal(parse_tasks_per_node("1(x1048576)").size(), 1048576);
}

void the_first_host_is_found(void **) {
  const std::pair<const char *, const char *> lists[] = {
      {"vm", "vm"},
      {"node01,node02", "node01"},
      {"node[01-03,7],other", "node01"},
      {"node[7,01-03]", "node7"},
      {"rack[0-1]node[3-4]", "rack0node3"},
      {"gpu[001]-ib.cluster", "gpu001-ib.cluster"},
  };
  for (const auto &[list, host] : lists) assert_string_equal(first_host(list).c_str(), host);
}

void hosts_of_another_form_are_refused(void **) {
  const std::string endless(300, 'a');
  for (const std::string &list :
       {std::string(), std::string(",a"), std::string("node["), std::string("node[]"),
        std::string("node[1"), std::string("node[-1]"), std::string("node[a-b]"),
        std::string("node[1[2]]"), std::string("node]"), std::string("a b"), std::string("a;b"),
        std::string("-oProxyCommand"), std::string("a\0b", 3), std::string("\xff"), endless})
    expect_error(Code::invalid, [&] { first_host(list); });
}

}  // namespace

int test_slurm() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(tasks_per_node_are_counted_out),
      cmocka_unit_test(tasks_per_node_of_another_form_are_refused),
      cmocka_unit_test(the_first_host_is_found),
      cmocka_unit_test(hosts_of_another_form_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// Every kind of range that metrics may be, and what they cost.
#include <array>
#include <cstdlib>
#include <det/nlohmann_json.hpp>
#include <list>
#include <map>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cpp/fixture.h"
#include "tests/sanitizer.h"

namespace {

thread_local long allocations = 0;  // of this thread: the library has others

}  // namespace

#if !DET_TEST_UNDER_TSAN  // which has an operator new of its own
// Not inlined: the compiler would see malloc() and operator delete as a pair that does not match.
[[gnu::noinline]] void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void *operator new(size_t size, const std::nothrow_t &) noexcept {
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

namespace {

using namespace cpp_test;
using std::literals::operator""sv;

struct Named {
  std::string label;
  float amount;
};

// As views of <ranges> that find out where they begin: nothing for a const one.
struct Lazy {
  const std::vector<det_metric> &metrics;
  auto begin() { return metrics.begin(); }
  auto end() { return metrics.end(); }
};

nlohmann::json reported(const Run &run) {
  run.core.train().flush();
  return run.client().list_metrics(run.trial()).as<nlohmann::json>()["metrics"];
}

// Reports `metrics`, which must take no memory and arrive as loss 0.5 and epoch 2.
template <class Metrics>
void expect_arrival(const Run &run, int64_t step, Metrics &&metrics) {
  const det::Train train = run.core.train();
  const long before = allocations;
  train.report_training_metrics(step, std::forward<Metrics>(metrics));
  assert_equal(allocations - before, 0);
  const nlohmann::json report = reported(run).back();
  assert_equal(report["steps_completed"], step);
  assert_equal(report["metrics"], (nlohmann::json{{"loss", 0.5}, {"epoch", 2.0}}));
}

void any_range_of_a_name_and_a_number_will_do(void **) {
  const Run run;
  run.core.train().report_training_metrics(0,
                                           {{"loss", 0.5}});  // the group is new: that takes memory
  int64_t step = 0;
  const det_metric array[] = {{"loss", 0.5}, {"epoch", 2}};
  const std::vector<det_metric> vector(array, array + 2);
  const std::map<std::string, double> map = {{"loss", 0.5}, {"epoch", 2}};
  const std::list<std::tuple<std::string, float>> list = {{"loss", 0.5F}, {"epoch", 2.F}};
  const std::array<std::pair<const char *, float>, 2> pairs = {{{"loss", 0.5F}, {"epoch", 2.F}}};
  const std::vector<Named> structs = {{"loss", 0.5F}, {"epoch", 2.F}};
  const std::vector<std::pair<std::string_view, double>> views = {
      {"loss and more"sv.substr(0, 4), 0.5}, {"epoch"sv, 2}};
  expect_arrival(run, ++step, array);
  expect_arrival(run, ++step, vector);
  expect_arrival(run, ++step, map);
  expect_arrival(run, ++step, list);
  expect_arrival(run, ++step, pairs);
  expect_arrival(run, ++step, structs);
  expect_arrival(run, ++step, views);
  expect_arrival(run, ++step, std::initializer_list<det_metric>{{"loss", 0.5}, {"epoch", 2}});
  expect_arrival(run, ++step, Lazy{vector});
  run.core.close();
}

void a_braced_list_takes_no_memory(void **) {
  const Run run;
  const det::Train train = run.core.train();
  train.report_training_metrics(0, {{"loss", 0.5}});
  const long before = allocations;
  for (int step = 1; step < 100; ++step)
    train.report_training_metrics(step, {{"loss", 0.5}, {"accuracy", 0.25}});
  assert_equal(allocations - before, 0);
  run.core.close();
}

void many_metrics_arrive_too(void **) {
  const Run run;
  const std::string longest(255, 'x');
  std::map<std::string, int> owned;
  for (int i = 0; i < 1000; ++i) owned[longest.substr(4) + std::to_string(i)] = i;
  std::vector<std::pair<std::string_view, int>> views(owned.begin(), owned.end());
  run.core.train().report_metrics("owned", 1, owned);
  run.core.train().report_metrics("views", 1, views);
  run.core.train().report_metrics("none", 1, std::map<std::string, int>());
  const nlohmann::json all = reported(run);
  assert_equal(all.size(), 3);
  assert_equal(all[0]["metrics"].size(), 1000);
  assert_equal(all[0]["metrics"][longest.substr(4) + "999"], 999.0);
  assert_equal(all[0]["metrics"], all[1]["metrics"]);
  assert_equal(all[2]["metrics"].size(), 0);
  run.core.close();
}

void values_are_kept_whatever_they_are(void **) {
  const Run run;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  run.core.train().report_validation_metrics(1, {{"a", nan}, {"b", -1 / 0.0}});
  run.core.train().report_metrics_json("json", 1,
                                       nlohmann::json{{"a", {nan, 1 / 0.0}}, {"\"b", "ü"}});
  const nlohmann::json all = reported(run);
  assert_equal(all[0]["metrics"], (nlohmann::json{{"a", "NaN"}, {"b", "-Infinity"}}));
  assert_equal(all[1]["metrics"], (nlohmann::json{{"a", {"NaN", "Infinity"}}, {"\"b", "ü"}}));
  run.core.close();
}

void metrics_that_are_wrong_are_refused(void **) {
  const Run run;
  const det::Train train = run.core.train();
  const auto refused = [&](const std::string &part, auto metrics) {
    expect_part(
        expect_error(det::Code::invalid, [&] { train.report_training_metrics(1, metrics); }), part);
  };
  refused("name", std::map<std::string, double>{{"", 1}});
  refused("255", std::map<std::string, double>{{std::string(256, 'x'), 1}});
  refused("name", std::vector<det_metric>{{nullptr, 1}});
  refused("twice", std::vector<std::pair<std::string_view, int>>{{"a", 1}, {"a", 2}});
  expect_error(det::Code::invalid, [&] { train.report_training_metrics(-1, {{"a", 1}}); });
  assert_equal(reported(run).size(), 0);
  run.core.close();
}

void bare_numbers_that_are_not_finite_are_read(void **) {
  const det::Json text = R"({"a": NaN, "b": [-Infinity, Infinity, "NaN \" Infinity\\"], "NaN": 1})";
  const auto read = text.as<nlohmann::ordered_json>();
  const double infinity = std::numeric_limits<double>::infinity();
  assert_true(std::isnan(read["a"].get<double>()));
  assert_true(read["b"][0] == -infinity && read["b"][1] == infinity);
  assert_true(read["b"][2] == "NaN \" Infinity\\" && read["NaN"] == 1);
  assert_string_equal(det::Json(read).text().substr(0, 10).c_str(), R"({"a":NaN,")");
}

}  // namespace

int test_metrics() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(any_range_of_a_name_and_a_number_will_do),
      cmocka_unit_test(a_braced_list_takes_no_memory),
      cmocka_unit_test(many_metrics_arrive_too),
      cmocka_unit_test(values_are_kept_whatever_they_are),
      cmocka_unit_test(metrics_that_are_wrong_are_refused),
      cmocka_unit_test(bare_numbers_that_are_not_finite_are_read),
  };
  return cmocka_run_group_tests_name("metrics", tests, nullptr, nullptr);
}

// Plots of fixed series, character by character.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/cmocka.h"
#include "wrappers/cli/plot.h"
#include "wrappers/cli/random_forest.h"

using det::cli::Panel;
using det::cli::Panels;
using det::cli::Point;
using det::cli::render_plot;
using det::cli::Series;
using det::cli::Terminal;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double max = std::numeric_limits<double>::max();

Terminal terminal(bool utf8, int width = 50) {
  Terminal out;
  out.utf8 = utf8;
  out.width = width;
  return out;
}

Panels panel(std::vector<Series> series) {
  return {"", {{.name = "", .series = std::move(series), .x = {"steps"}, .y = {"loss"}}}};
}

Series falling() {
  Series series{"loss", {}, 0};
  for (int step = 0; step <= 40; ++step) series.points.push_back({step * 10.0, 400.0 / (step + 4)});
  return series;
}

Series rising() {
  Series series{"accuracy", {}, 1};
  for (int step = 0; step <= 400; step += 80) {
    series.points.push_back({static_cast<double>(step), step == 160 ? nan : step / 5.0});
  }
  return series;
}

void braille_draws_one_series(void **) {
  const std::string expected =
      R"(100 ┤⡇
    │⢸
    │⠸⡀
 80 ┤ ⡇
    │ ⢱
    │ ⠈⡆
    │  ⢱
 60 ┤  ⠈⢆
    │   ⠈⢆
    │     ⢣
 40 ┤      ⠣⡀
    │       ⠈⠢⡀
    │         ⠈⠢⣀⡀
 20 ┤            ⠈⠑⠢⢄⣀⡀
    │                 ⠈⠑⠒⠒⠤⠤⣀⣀⣀
    │                          ⠉⠉⠉⠒⠒⠒⠒⠢⠤⠤⠤⠤⠤⣀⣀⣀⣀
    └┬──────────┬─────────┬──────────┬─────────┬
     0         100       200        300       400
                        steps
  ● loss: last 9.09091, lowest 9.09091 at 400, highest 100 at 0
)";
  assert_string_equal(render_plot(panel({falling()}), terminal(true)).c_str(), expected.c_str());
}

void braille_marks_each_of_two_series_and_leaves_gaps(void **) {
  const std::string expected =
      R"(100 ┤●
    │●
    │●⡄
 80 ┤ ⢇                                      ⢀⡠⠔
    │ ⠸⡀                                  ⣀⠤⠒⠁
    │  ⢇                               ⡠▲⠊
 60 ┤  ⠘⡄                          ⢀⡠⠒⠉
    │   ⠘⡄                      ▲⠔⠊⠁
    │    ⠈⢆                   ⠐⠉
 40 ┤      ⠣⡀
    │       ⠈●⡀
    │         ⠈⠒⠤⢄⡀
 20 ┤             ⠈⠑⠢●⢄⡀
    │      ⢀⡠⠔         ⠈⠉⠉⠉⠒⠒●⠤⠤⣀⣀⣀⣀⡀
    │   ▲⠤⠒⠁                        ⠈●⠉⠉⠉⠑⠒⠒⠒●⠒⠒
  0 ┤⡠⠔⠊
    └┬──────────┬─────────┬──────────┬─────────┬
     0         100       200        300       400
                        steps
  ● loss: last 9.09091, lowest 9.09091 at 400, highest 100 at 0
  ▲ accuracy: last 80, lowest 0 at 0, highest 80 at 400, 1 not finite
)";
  assert_string_equal(render_plot(panel({falling(), rising()}), terminal(true)).c_str(),
                      expected.c_str());
}

void ascii_draws_without_any_other_character(void **) {
  const std::string expected =
      R"(100 +*
    |*
    | *
 80 + *                                       ++
    |  *                                  ++++
    |  *                              ++++
 60 +   *                          +++
    |    *                      +++
    |    **                   ++
 40 +      *
    |       ***
    |          *****
 20 +               *******
    |       ++             ****************
    |   ++++                               *****
  0 ++++
    ++----------+---------+----------+---------+
     0         100       200        300       400
                        steps
  * loss: last 9.09091, lowest 9.09091 at 400, highest 100 at 0
  + accuracy: last 80, lowest 0 at 0, highest 80 at 400, 1 not finite
)";
  assert_string_equal(render_plot(panel({falling(), rising()}), terminal(false)).c_str(),
                      expected.c_str());
}

void plot_is_empty_without_a_finite_value(void **) {
  assert_string_equal(render_plot(panel({}), terminal(true)).c_str(), "");
  assert_string_equal(render_plot(panel({{"loss", {{1, nan}}, 1}}), terminal(true)).c_str(), "");
}

// Whatever the numbers, the picture keeps its 19 lines and a line for each series.
void plot_survives_extreme_values(void **) {
  const std::vector<std::vector<Point>> extremes = {
      {{5, 3}},
      {{5, 0}},
      {{0, max}, {1, -max}},
      {{0, max}},
      {{0, 5e-324}, {1, 0}},
      {{0, 1e300}, {1, 1e300 * (1 + 1e-15)}},
      {{9e15, 1}, {9e15 + 2, 2}},
      {{0, 1}, {9.2e18, 2}},
      {{0, -HUGE_VAL}, {1, 2}, {2, HUGE_VAL}},
  };
  for (const std::vector<Point> &points : extremes) {
    for (const int width : {1, 30, 80, 10000}) {
      const std::string plot = render_plot(panel({{"x", points, 0}}), terminal(true, width));
      assert_int_equal(std::count(plot.begin(), plot.end(), '\n'), 20);
      assert_equal(plot.find("nan"), std::string::npos);
    }
  }
}

void thinned_lines_keep_their_peaks(void **) {
  std::vector<Point> points;
  for (int step = 0; step < 1000000; ++step)
    points.push_back({static_cast<double>(step), step == 777777 ? 5.0 : std::sin(step)});
  const std::vector<Point> few =
      det::cli::thinned(points, det::cli::fit_axis({"steps"}, 0, 999999, 8), 800);
  assert_in_range(few.size(), 800, 4 * 801);
  assert_true(std::any_of(few.begin(), few.end(),
                          [](const Point &point) { return point.x == 777777 && point.y == 5; }));
}

void smoothing_divides_the_start_out_and_leaves_gaps(void **) {
  const std::vector<Point> smooth =
      det::cli::smoothed({{0, 1}, {1, 3}, {2, nan}, {3, 5}, {4, HUGE_VAL}, {5, 5}}, 0.5);
  const std::vector<double> expected = {1, 7.0 / 3, nan, 27.0 / 7, HUGE_VAL, 67.0 / 15};
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected[i])) assert_true(std::fabs(smooth[i].y - expected[i]) < 1e-12);
    else assert_false(std::isfinite(smooth[i].y));
  }
}

std::string ticks_of(const det::cli::Dimension &dimension, double low, double high) {
  std::string text;
  for (const std::string &label : det::cli::fit_axis(dimension, low, high, 6).labels)
    text += (text.empty() ? "" : " ") + label;
  return text;
}

void ticks_are_round_numbers_and_times(void **) {
  using det::cli::Scale;
  assert_string_equal(ticks_of({"x"}, 0.13, 0.61).c_str(), "0.2 0.3 0.4 0.5 0.6");
  assert_string_equal(ticks_of({"layers", "", Scale::linear, {}, true}, 2, 4).c_str(), "2 3 4");
  assert_string_equal(ticks_of({"x", "", Scale::log}, 2e-5, 0.3).c_str(), "1e-04 0.001 0.01 0.1");
  assert_string_equal(ticks_of({"x", "", Scale::log}, 2, 60).c_str(), "2 5 10 20 50");
  assert_string_equal(ticks_of({"x", "", Scale::log}, 1e-300, 1e300).c_str(),
                      "1e-300 1e-200 1e-100 1 1e+100 1e+200 1e+300");
  assert_string_equal(ticks_of({"x", "", Scale::clock}, 1767225595, 1767225725).c_str(),
                      "01-01 00:00:00 01-01 00:00:30 01-01 00:01:00 01-01 00:01:30 01-01 00:02:00");
  assert_string_equal(ticks_of({"x", "", Scale::clock}, 1767225600, 1767229200).c_str(),
                      "00:00 00:10 00:20 00:30 00:40 00:50 01:00");
  assert_string_equal(ticks_of({"x", "", Scale::categories, {"a", "b"}}, 0, 0).c_str(), "a b");
}

void points_that_a_log_axis_has_not_are_gaps(void **) {
  Series series{"x", {{0, 1}, {1, 1}, {2, 0}, {3, -1}, {4, 2}}, 0};
  det::cli::fit_to_scales(series, det::cli::Scale::log, det::cli::Scale::log);
  assert_int_equal(series.not_positive, 3);
  assert_int_equal(series.points.size(), 4);
  assert_true(std::isnan(series.points[1].y) && series.points[3].y == 2);
}

// 200 results that follow from the first two of four variables.
det::cli::ForestImportance importances(double (*result)(double, double)) {
  std::vector<det::cli::Variable> variables(4);
  variables[1].category = true;
  std::vector<double> results;
  unsigned state = 1;
  const auto random = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  for (int i = 0; i < 200; ++i) {
    const double number = random() % 1000 / 1000.0, category = random() % 3;
    results.push_back(result(number, category));
    variables[0].values.push_back(number);
    variables[1].values.push_back(category);
    variables[2].values.push_back(random() % 1000 / 1000.0);
    variables[3].values.push_back(i % 2 ? nan : 1);  // that half of them do not have
  }
  return det::cli::forest_importance(variables, results);
}

void a_forest_finds_the_variable_that_matters(void **) {
  const auto one = importances([](double number, double) { return number * number; });
  assert_true(one.explained > 0.95);
  assert_true(one.variables[0].mean > 0.8 && one.variables[0].mean < 1.2);
  for (const size_t other : {1, 2, 3}) assert_true(one.variables[other].mean < 0.02);
  // Also a category, and what matters only together with another.
  const auto both = importances(
      [](double number, double category) { return category == 1 ? number : 1 - number; });
  assert_true(both.variables[0].mean > 0.5 && both.variables[1].mean > 0.5);
  assert_true(both.variables[2].mean < 0.05 && both.variables[3].mean < 0.05);
}

void a_forest_explains_no_noise(void **) {
  static unsigned state = 7;
  const auto noise = importances([](double, double) {
    state = state * 22695477 + 1;
    return static_cast<double>(state >> 16);
  });
  assert_true(noise.explained < 0.1);
  for (const det::cli::Importance &each : noise.variables) assert_true(each.mean < 0.15);
}

}  // namespace

int test_plot() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(braille_draws_one_series),
      cmocka_unit_test(braille_marks_each_of_two_series_and_leaves_gaps),
      cmocka_unit_test(ascii_draws_without_any_other_character),
      cmocka_unit_test(plot_is_empty_without_a_finite_value),
      cmocka_unit_test(plot_survives_extreme_values),
      cmocka_unit_test(thinned_lines_keep_their_peaks),
      cmocka_unit_test(smoothing_divides_the_start_out_and_leaves_gaps),
      cmocka_unit_test(ticks_are_round_numbers_and_times),
      cmocka_unit_test(points_that_a_log_axis_has_not_are_gaps),
      cmocka_unit_test(a_forest_finds_the_variable_that_matters),
      cmocka_unit_test(a_forest_explains_no_noise),
  };
  return cmocka_run_group_tests_name("plot", tests, nullptr, nullptr);
}

// Plots of fixed series, character by character.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/cmocka.h"
#include "wrappers/cli/plot/plot.h"

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

void parallel_lines_are_drawn_with_the_best_over_the_others(void **) {
  det::cli::Parallel figure;
  figure.dimensions = {{"lr", "", det::cli::Scale::log},
                       {"kind", "", det::cli::Scale::categories, {"a", "b"}},
                       {"loss"}};
  figure.trials = {{1e-3, nan, 9}, {1e-1, 1, 8}, {1e-2, 0, 4}, {1e-3, 0, 1}};
  assert_string_equal(render_plot(figure, terminal(false, 40)).c_str(),
                      R"(lr (log)         kind               loss
0.1                b                   9
.........................              .
                         ..........
                                   .....





..
  ...                                 ..
     ...                           ...
        ..                      ...
          ...               ....
             ...         ...
                ...   ...
****************************************
0.001              a                   1
The best quarter of 4 trials is drawn over the others, in *.
)");
  figure.trials.clear();
  assert_string_equal(render_plot(figure, terminal(false)).c_str(), "");
}

void bars_are_as_long_as_their_values(void **) {
  const det::cli::Bars figure{
      "", "importance", {{"lr", 0.5, 0.125}, {"units", 0.25, 0}, {"none", 0, 0}}, {"a note"}};
  assert_string_equal(render_plot(figure, terminal(false, 40)).c_str(), R"(importance
   lr  ################# 0.50 +- 0.12
units  ######### 0.25 +- 0.00
 none  0.00 +- 0.00
a note
)");
  assert_string_equal(render_plot(det::cli::Bars{}, terminal(true)).c_str(), "");
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
      cmocka_unit_test(bars_are_as_long_as_their_values),
      cmocka_unit_test(parallel_lines_are_drawn_with_the_best_over_the_others),
      cmocka_unit_test(ticks_are_round_numbers_and_times),
      cmocka_unit_test(points_that_a_log_axis_has_not_are_gaps),
  };
  return cmocka_run_group_tests_name("plot", tests, nullptr, nullptr);
}

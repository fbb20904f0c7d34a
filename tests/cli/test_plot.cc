// Plots of fixed series, character by character.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/cmocka.h"
#include "wrappers/cli/plot.h"
#include "wrappers/cli/svg.h"

using det::cli::Point;
using det::cli::render_plot;
using det::cli::render_svg;
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
  assert_string_equal(render_plot({falling()}, terminal(true)).c_str(), expected.c_str());
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
  assert_string_equal(render_plot({falling(), rising()}, terminal(true)).c_str(), expected.c_str());
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
  assert_string_equal(render_plot({falling(), rising()}, terminal(false)).c_str(),
                      expected.c_str());
}

void plot_is_empty_without_a_finite_value(void **) {
  assert_string_equal(render_plot({}, terminal(true)).c_str(), "");
  assert_string_equal(render_plot({{"loss", {{1, nan}}, 1}}, terminal(true)).c_str(), "");
  assert_string_equal(render_svg({{"loss", {{1, nan}}, 1}}, "").c_str(), "");
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
      const std::string plot = render_plot({{"x", points, 0}}, terminal(true, width));
      assert_int_equal(std::count(plot.begin(), plot.end(), '\n'), 20);
      assert_equal(plot.find("nan"), std::string::npos);
    }
    assert_equal(render_svg({{"x", points, 0}}, "t").find("nan"), std::string::npos);
  }
}

void svg_escapes_names_and_lifts_the_line_at_gaps(void **) {
  Series series{"a<b>&\"c\"", {{0, 0}, {10, 1}, {20, nan}, {30, 2}}, 1};
  const std::string svg = render_svg({series}, "t<itle");
  assert_true(svg.find("a&lt;b&gt;&amp;&quot;c&quot;") != std::string::npos);
  assert_true(svg.find("t&lt;itle") != std::string::npos);
  assert_true(svg.find("d=\"M80 400L80 400L293.33 220M720 40L720 40\"") != std::string::npos);
}

void svg_of_a_million_points_stays_small(void **) {
  Series series{"loss", {}, 0};
  for (int step = 0; step < 1000000; ++step) {
    series.points.push_back({static_cast<double>(step), step == 777777 ? 5.0 : std::sin(step)});
  }
  const std::string svg = render_svg({series}, "t");
  assert_true(svg.size() < 100000);
  assert_true(svg.find("577.78 40L") != std::string::npos);  // the peak is still there
}

}  // namespace

int test_plot() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(braille_draws_one_series),
      cmocka_unit_test(braille_marks_each_of_two_series_and_leaves_gaps),
      cmocka_unit_test(ascii_draws_without_any_other_character),
      cmocka_unit_test(plot_is_empty_without_a_finite_value),
      cmocka_unit_test(plot_survives_extreme_values),
      cmocka_unit_test(svg_escapes_names_and_lifts_the_line_at_gaps),
      cmocka_unit_test(svg_of_a_million_points_stays_small),
  };
  return cmocka_run_group_tests_name("plot", tests, nullptr, nullptr);
}

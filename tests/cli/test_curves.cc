// Curves from reports, and where their samples stand along the axes.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/cmocka.h"
#include "wrappers/cli/exit_code.h"
#include "wrappers/cli/plot/curve_panel.h"
#include "wrappers/cli/plot/curve_reader.h"

using det::cli::Along;
using det::cli::Curve;
using det::cli::CurveBuilder;
using det::cli::Panel;
using det::cli::Report;

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void reports_are_read_with_all_their_numbers(void **) {
  std::vector<Report> reports;
  const auto next = det::cli::parse_reports(
      R"({"metrics": [
        {"group": "training", "steps_completed": 7, "trial_run_id": 1, "time": "2026-01-31T12:00:00.5+00:00",
         "metrics": {"loss": 0.5, "a.b": {"c": {"d": 1}, "e": -2}, "text": "high", "list": [1, {"x": 2}],
                     "none": null, "yes": true, "up": "Infinity", "down": "-Infinity", "no": "NaN"},
         "batch_metrics": [{"loss": 9}]},
        {"metrics": {"loss": 18446744073709551615, "next": 3}, "group": "gpu", "steps_completed": null,
         "time": null, "batch_metrics": {"metrics": {"loss": 1}}}],
        "next": 41})",
      [&](const Report &report) { reports.push_back(report); });
  assert_int_equal(next.value_or(0), 41);
  assert_int_equal(reports.size(), 2);
  assert_string_equal(reports[0].group.c_str(), "training");
  assert_true(reports[0].steps == 7 && reports[0].time == "2026-01-31T12:00:00.5+00:00");
  const std::vector<std::pair<std::string, double>> expected = {
      {"loss", 0.5},    {"a.b.c.d", 1},      {"a.b.e", -2},  {"none", unknown},
      {"up", infinite}, {"down", -infinite}, {"no", unknown}};
  assert_int_equal(reports[0].values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    assert_string_equal(reports[0].values[i].first.c_str(), expected[i].first.c_str());
    assert_true(same(reports[0].values[i].second, expected[i].second));
  }
  assert_true(std::isnan(reports[1].steps) && reports[1].time.empty());
  assert_true(reports[1].group == "gpu" && reports[1].values.size() == 2);
  assert_true(reports[1].values[0].second == 18446744073709551616.0);
}

void an_answer_that_is_cut_is_an_error(void **) {
  const std::string answer = R"({"metrics": [{"group": "training", "metrics": {"loss": 1}}]})";
  for (size_t size = 0; size + 1 < answer.size(); ++size) {
    bool failed = false;
    try {
      det::cli::parse_reports(std::string_view(answer).substr(0, size), [](const Report &) {});
    } catch (const det::cli::Failure &) {
      failed = true;
    }
    assert_true(failed);
  }
  for (const char *other : {"[]", "3", "{}", R"({"metrics": {}, "next": null})", "[[[]]]"})
    assert_false(
        det::cli::parse_reports(other, [](const Report &) { assert_true(false); }).has_value());
}

void the_epoch_is_what_a_report_says_or_the_one_before(void **) {
  CurveBuilder builder(1, 10);
  builder.add({"training", 5, "", {{"loss", 3}}});
  builder.add({"training", 10, "", {{"loss", 2}, {"epoch", 3}}});
  builder.add({"validation", 10, "", {{"loss", 2.5}}});
  builder.add({"training", 30, "", {{"epochs", 4.5}, {"loss", 1}}});
  builder.add({"validation", 29, "", {{"loss", 2}}});
  builder.add({"validation", 40, "", {{"loss", 1}}});
  builder.add({"validation", unknown, "", {{"loss", 1}}});
  const std::vector<Curve> curves = builder.take();
  assert_string_equal(curves[0].metric.c_str(), "loss");
  const double training[] = {0.5, 3, 4.5}, validation[] = {3, 3, 4.5, unknown};
  for (size_t i = 0; i < 3; ++i) assert_true(same(curves[0].samples[i].epoch, training[i]));
  const Curve &other = curves[2];
  assert_true(other.group == "validation" && other.samples.size() == 4);
  for (size_t i = 0; i < 4; ++i) assert_true(same(other.samples[i].epoch, validation[i]));
}

// Two trials that begin an hour apart; the second value of each comes later, in another group.
std::vector<Curve> two_trials() {
  std::vector<Curve> all;
  for (const int64_t trial : {1, 2}) {
    const std::string hour = trial == 1 ? "T10" : "T11";
    CurveBuilder builder(trial, 4);
    builder.add({"training", 4, "2026-01-31" + hour + ":00:00.5+00:00", {{"loss", 1}}});
    builder.add({"training", 8, "2026-01-31" + hour + ":00:30+00:00", {{"loss", infinite}}});
    builder.add({"validation", 8, "2026-01-31" + hour + ":01:00.5+00:00", {{"loss", 2}}});
    std::vector<Curve> curves = builder.take();
    det::cli::start_together(curves);
    all.insert(all.end(), curves.begin(), curves.end());
  }
  return all;
}

void places_are_steps_epochs_and_times(void **) {
  constexpr double ten = 1769853600;  // 2026-01-31 10:00 UTC
  const std::vector<Curve> curves = two_trials();
  const auto panel_along = [&](Along along) {
    det::cli::require_places(curves, along);
    return det::cli::panel_of(curves, {.along = along});
  };
  const auto places = [](const Panel &panel, const std::vector<double> &expected) {
    std::vector<double> found;
    for (const det::cli::Series &series : panel.series)
      for (const det::cli::Point &point : series.points) found.push_back(point.x);
    assert_true(found == expected);
  };
  const Panel steps = panel_along(Along::steps), epochs = panel_along(Along::epochs),
              time = panel_along(Along::time), relative = panel_along(Along::relative);
  places(steps, {4, 8, 8, 4, 8, 8});
  places(epochs, {1, 2, 2, 1, 2, 2});
  places(time, {ten + 0.5, ten + 30, ten + 60.5, ten + 3600.5, ten + 3630, ten + 3660.5});
  places(relative, {0, 29.5, 60, 0, 29.5, 60});  // in each trial from its first value on
  assert_string_equal(steps.x.label().c_str(), "steps");
  assert_string_equal(epochs.x.label().c_str(), "epochs");
  assert_string_equal(time.x.label().c_str(), "time (UTC)");
  assert_string_equal(relative.x.label().c_str(), "time (s)");
  assert_true(steps.x.whole && !epochs.x.whole && time.x.scale == det::cli::Scale::clock);
  assert_string_equal(time.series[3].name.c_str(), "trial 2 validation.loss");
  assert_int_equal(time.series[2].not_finite, 1);
}

void what_has_no_place_is_told(void **) {
  CurveBuilder builder(3, unknown);
  builder.add({"training", unknown, "", {{"loss", 1}}});
  const std::vector<Curve> curves = builder.take();
  const std::vector<std::pair<Along, std::string>> expected = {
      {Along::steps, "no steps for 'loss'"},
      {Along::epochs, "'records_per_epoch'"},
      {Along::time, "no times for 'loss'"},
      {Along::relative, "no times for 'loss'"}};
  for (const auto &[along, words] : expected) {
    std::string error;
    try {
      det::cli::require_places(curves, along);
    } catch (const det::cli::Failure &failure) {
      error = failure.what();
    }
    assert_true(error.find("trial 3") != error.npos && error.find(words) != error.npos);
  }
  assert_int_equal(det::cli::panel_of(curves, {.along = Along::epochs}).series[0].points.size(), 0);
  for (const Along along : {Along::steps, Along::epochs, Along::time, Along::relative})
    assert_true(det::cli::along_named(det::cli::along_name(along)) == along);
  assert_false(det::cli::along_named("").has_value());
}

void log_axes_leave_out_what_they_do_not_have(void **) {
  CurveBuilder builder(1, unknown);
  const double values[] = {5, 0, -1, unknown, infinite, 1e-300, 1e300, 3};
  for (int i = 0; i < 8; ++i)
    builder.add({"training", static_cast<double>(i), "", {{"loss", values[i]}}});
  const Panel panel =
      det::cli::panel_of(builder.take(), {.smoothing = 0, .log_x = true, .log_y = true});
  const det::cli::Series &series = panel.series[0];
  assert_int_equal(series.points.size(), 7);  // not step 0
  assert_int_equal(series.not_positive, 3);
  assert_int_equal(series.not_finite, 2);
  const det::cli::Axes axes = det::cli::fit_axes(panel, 6, 6);
  assert_true(axes.y.log && axes.y.low == 1e-300 && axes.y.high == 1e300 && axes.x.low == 5);
}

void curves_of_one_trial_share_a_colour(void **) {
  const auto curve = [](int64_t trial, const char *group) {
    return Curve{trial, group, "loss", {{1, unknown, unknown, 0.5}}};
  };
  const Panel many = det::cli::panel_of(
      {curve(3, "training"), curve(3, "validation"), curve(7, "training"), curve(7, "validation")},
      {});
  const int colours[] = {0, 0, 1, 1}, dashes[] = {0, 1, 0, 1};
  for (size_t i = 0; i < 4; ++i) {
    assert_int_equal(many.series[i].colour, colours[i]);
    assert_int_equal(many.series[i].dashes, dashes[i]);
  }
  const Panel one = det::cli::panel_of({curve(3, "training"), curve(3, "validation")}, {});
  assert_int_equal(one.series[1].colour, -1);
  assert_int_equal(one.series[1].dashes, 0);
}

}  // namespace

int test_curves() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(reports_are_read_with_all_their_numbers),
      cmocka_unit_test(an_answer_that_is_cut_is_an_error),
      cmocka_unit_test(the_epoch_is_what_a_report_says_or_the_one_before),
      cmocka_unit_test(places_are_steps_epochs_and_times),
      cmocka_unit_test(what_has_no_place_is_told),
      cmocka_unit_test(log_axes_leave_out_what_they_do_not_have),
      cmocka_unit_test(curves_of_one_trial_share_a_colour),
  };
  return cmocka_run_group_tests_name("curves", tests, nullptr, nullptr);
}

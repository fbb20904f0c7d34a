#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>

#include "core/tensorboard/event_writer.h"
#include "tests/cmocka.h"
#include "tests/temporary_directory.h"
#include "tests/tensorboard/event_reader.h"

namespace {

using namespace det;
using namespace det::tensorboard;
namespace fs = std::filesystem;

Report metrics(const char *group, int64_t steps, std::vector<MetricValue> values) {
  Report report;
  report.kind = ReportKind::metrics;
  report.group = group;
  report.steps = steps;
  report.values = std::move(values);
  return report;
}

Report metrics_json(const char *group, int64_t steps, const char *text, const char *batches = "") {
  Report report;
  report.kind = ReportKind::metrics_json;
  report.group = group;
  report.steps = steps;
  report.text = text;
  report.batches = batches;
  return report;
}

// A chief's writer in a storage of its own, with a clock the test turns.
struct Plot {
  TemporaryDirectory storage;
  int64_t now_us = 1'700'000'000'000'000;
  int warnings = 0;
  std::shared_ptr<const TensorboardFiles> files = std::make_shared<TensorboardFiles>(
      TensorboardMode::automatic, TensorboardPlace{storage.path(), "c", 1, 2, "a", 0});
  EventWriter writer{
      make_file(), std::make_shared<Logger>(LogLevel::warning,
                                            [this](LogLevel, const std::string &) { ++warnings; })};

  std::shared_ptr<EventFile> make_file() const {
    return std::make_shared<EventFile>(files, "", [this] { return now_us; });
  }

  fs::path directory() const { return storage / "c/tensorboard/experiment/1/trial/2"; }

  void write(const Report &report) { writer.write({&report, 1}); }

  std::vector<fs::path> event_files() const {
    std::vector<fs::path> found;
    if (fs::exists(directory()))
      for (const auto &entry : fs::directory_iterator(directory())) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }

  // Scalars of all files; each file must begin with its version.
  std::vector<ReadEvent> scalars() const {
    std::vector<ReadEvent> all;
    for (const fs::path &file : event_files()) {
      auto events = read_records(read_file(file));
      assert_string_equal(events.at(0).file_version.c_str(), "brain.Event:2");
      all.insert(all.end(), events.begin() + 1, events.end());
    }
    return all;
  }

  // Tag and step → value.
  std::map<std::pair<std::string, int64_t>, float> points() const {
    std::map<std::pair<std::string, int64_t>, float> points;
    for (const ReadEvent &event : scalars()) points[{event.tag, event.step}] = event.value.value();
    return points;
  }
};

using Points = std::map<std::pair<std::string, int64_t>, float>;

void training_metrics_are_tagged_by_name(void **) {
  Plot plot;
  plot.write(metrics("training", 5, {{"loss", 0.25}}));
  assert_equal(plot.points(), Points{{{"Determined/loss", 5}, 0.25F}});
}

void validation_metrics_get_a_prefix_once(void **) {
  Plot plot;
  plot.write(metrics("validation", 5, {{"loss", 1}, {"val_x", 2}, {"value", 3}}));
  assert_equal(plot.points(), Points{{{"Determined/val_loss", 5}, 1},
                                     {{"Determined/val_x", 5}, 2},
                                     {{"Determined/value", 5}, 3}});
}

void other_groups_and_kinds_make_no_file(void **) {
  Plot plot;
  plot.write(metrics("inference", 5, {{"loss", 1}}));
  plot.write(metrics("training", 5, {}));
  Report status;
  status.kind = ReportKind::status;
  status.group = "training";
  plot.write(status);
  assert_true(fs::is_empty(plot.storage.path()));
}

void a_name_in_a_batch_is_plotted_per_batch_only(void **) {
  Plot plot;
  plot.write(metrics_json("training", 10, R"({"loss": 3.5, "acc": 0.75, "note": 1})",
                          R"([{"loss": 3, "note": "text"}, {"loss": 4}])"));
  assert_equal(plot.points(), Points{{{"Determined/loss", 8}, 3},
                                     {{"Determined/loss", 9}, 4},
                                     {{"Determined/acc", 10}, 0.75F}});
}

void batches_of_a_validation_are_not_plotted(void **) {
  Plot plot;
  plot.write(metrics_json("validation", 10, R"({"loss": 3.5})", R"([{"loss": 3}])"));
  assert_equal(plot.points(), Points{{{"Determined/val_loss", 10}, 3.5F}});
}

void only_numbers_and_truth_values_are_scalars(void **) {
  Plot plot;
  plot.write(metrics_json("training", 1,
                          R"({"s": "1", "o": {"x": 1}, "l": [1], "n": null, "t": true, "f": false,
                              "i": 9007199254740993, "big": 1e300})"));
  assert_equal(plot.points(), Points{{{"Determined/t", 1}, 1},
                                     {{"Determined/f", 1}, 0},
                                     {{"Determined/i", 1}, 9007199254740992.0F},
                                     {{"Determined/big", 1}, HUGE_VALF}});
}

void non_finite_metrics_are_plotted_as_such(void **) {
  Plot plot;
  plot.write(metrics_json("training", 1, R"({"a": NaN, "b": -Infinity})"));
  plot.write(metrics("training", 2, {{"a", HUGE_VAL}}));
  const auto points = plot.points();
  assert_int_equal(points.size(), 3);
  assert_true(std::isnan(points.at({"Determined/a", 1})));
  assert_equal(points.at({"Determined/b", 1}), -HUGE_VALF);
  assert_equal(points.at({"Determined/a", 2}), HUGE_VALF);
}

void events_carry_the_time_of_the_report(void **) {
  Plot plot;
  Report report = metrics("training", 1, {{"loss", 1}});
  report.time_us = 1'600'000'000'500'000;
  plot.write(report);
  assert_equal(plot.scalars().at(0).wall_time, 1'600'000'000.5);
}

void one_file_serves_the_whole_run(void **) {
  Plot plot;
  plot.write(metrics("training", 1, {{"loss", 1}}));
  plot.now_us += 5'000'000;
  plot.write(metrics("training", 2, {{"loss", 2}}));
  const auto files = plot.event_files();
  assert_int_equal(files.size(), 1);
  assert_true(files[0].filename().string().starts_with("events.out.tfevents.1700000000."));
  assert_int_equal(plot.points().size(), 2);
}

void two_writers_in_one_second_do_not_share_a_file(void **) {
  Plot plot;
  EventWriter second(plot.make_file(), std::make_shared<Logger>());
  plot.write(metrics("training", 1, {{"loss", 1}}));
  const Report report = metrics("training", 2, {{"loss", 2}});
  second.write({&report, 1});
  assert_int_equal(plot.event_files().size(), 2);
  assert_int_equal(plot.points().size(), 2);
}

void a_full_disk_is_a_warning_and_leaves_whole_records(void **) {
  Plot plot;
  plot.write(metrics("training", 1, {{"loss", 1}}));
  const auto size = fs::file_size(plot.event_files().at(0));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{size + 20, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  plot.write(metrics("training", 2, {{"loss", 2}}));
  plot.write(metrics("training", 3, {{"a long name, so that the record does not fit", 3}}));
  setrlimit(RLIMIT_FSIZE, &before);
  assert_int_equal(plot.warnings, 1);
  plot.write(metrics("training", 4, {{"loss", 4}}));
  const auto points = plot.points();
  assert_true(points.contains({"Determined/loss", 1}));
  assert_false(points.contains({"Determined/loss", 2}));
  assert_true(points.contains({"Determined/loss", 4}));
}

}  // namespace

int test_event_writer() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(training_metrics_are_tagged_by_name),
      cmocka_unit_test(validation_metrics_get_a_prefix_once),
      cmocka_unit_test(other_groups_and_kinds_make_no_file),
      cmocka_unit_test(a_name_in_a_batch_is_plotted_per_batch_only),
      cmocka_unit_test(batches_of_a_validation_are_not_plotted),
      cmocka_unit_test(only_numbers_and_truth_values_are_scalars),
      cmocka_unit_test(non_finite_metrics_are_plotted_as_such),
      cmocka_unit_test(events_carry_the_time_of_the_report),
      cmocka_unit_test(one_file_serves_the_whole_run),
      cmocka_unit_test(two_writers_in_one_second_do_not_share_a_file),
      cmocka_unit_test(a_full_disk_is_a_warning_and_leaves_whole_records),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

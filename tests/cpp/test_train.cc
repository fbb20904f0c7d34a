// Reports other than of metrics, and TensorBoard files.
#include <det/nlohmann_json.hpp>
#include <fstream>
#include <stdexcept>

#include "tests/cpp/fixture.h"
#include "tests/patience.h"

namespace {

using namespace cpp_test;

void a_report_may_say_when_and_whose(void **) {
  const Run run;
  det::Report report;
  report.steps_completed = 3;
  report.group = "validation";
  report.metrics_json = R"({"confusion": [1, 2]})";
  report.batch_metrics_json = R"([{"loss": 1}])";
  report.time = det::Time(std::chrono::microseconds(981173106000007));
  report.rank = 7;
  run.core.train().report(report, {{"loss", 0.5}});
  run.core.train().flush(std::chrono::seconds(TEST_PATIENCE_SECONDS));
  const auto all = run.client().list_metrics(1, "validation").as<nlohmann::json>()["metrics"];
  assert_equal(all.size(), 1);
  assert_equal(all[0]["metrics"], (nlohmann::json{{"loss", 0.5}, {"confusion", {1, 2}}}));
  assert_equal(all[0]["batch_metrics"], (nlohmann::json::parse(R"([{"loss": 1}])")));
  assert_equal(all[0]["rank"], 7);
  assert_equal(all[0]["time"], "2001-02-03T04:05:06.000007+00:00");
  run.core.close();
}

void regions_last_as_long_as_their_scope(void **) {
  const Run run;
  const det::Region step = run.core.train().region("step");
  const det::Region forward = run.core.train().region(std::string("forward"));
  {
    const auto timed = step.scope();
    const auto within = forward.scope();
  }
  expect_error(det::Code::state, [&] { step.end(); });
  step.begin();
  step.end();
  expect_error(det::Code::invalid, [&] { static_cast<void>(run.core.train().region("a/b")); });
  expect_error(det::Code::invalid, [] { det::Region().begin(); });
  run.core.close();
  const auto late = step.scope();
  expect_error(det::Code::state, [&] { step.begin(); });
}

void json_keeps_its_order_where_its_value_does(void **) {
  nlohmann::ordered_json value = {
      {"z", 1}, {"a", {1, nullptr}}, {"empty", nlohmann::json::object()}};
  assert_equal(det::Json(value).text(), R"({"z":1,"a":[1,null],"empty":{}})");
  assert_equal(det::Json(value).as<nlohmann::ordered_json>(), value);
  assert_equal(det::Json().as<nlohmann::json>(), nlohmann::json());
  assert_throws<nlohmann::json::parse_error>(
      [] { static_cast<void>(det::Json("{").as<nlohmann::json>()); });
}

void everything_else_is_told_too(void **) {
  const Run run;
  const det::Train train = run.core.train();
  train.set_status("validating");
  train.report_progress(0.5);
  train.log(det::LogLevel::info, std::string("all images seen"));
  train.set_metadata(nlohmann::json{{"kept", 1}});
  assert_equal(train.get_metadata().as<nlohmann::json>()["kept"], 1);
  train.flush(det::Timeout::infinite());
  expect_part(run.client().list_logs(1).text(), "all images seen");
  train.report_early_exit(det::EarlyExitReason::user_requested_stop);
  expect_error(det::Code::not_found,
               [&] { static_cast<void>(train.get_experiment_best_validation()); });
  expect_error(det::Code::invalid, [&] { train.report_progress(2); });
  expect_error(det::Code::invalid, [&] { train.set_metadata(""); });
  expect_error(det::Code::invalid, [&] { train.set_status(nullptr); });
  run.core.close();
}

void the_best_validation_is_that_of_the_experiment(void **) {
  det::CoreOptions options;
  options.config = R"({"searcher": {"name": "single", "metric": "loss", "max_length": 1}})";
  const Run run(options);
  run.core.train().report_validation_metrics(1, {{"loss", 0.5}});
  assert_equal(run.core.train().get_experiment_best_validation(), 0.5);
  run.core.close();
}

void durations_are_rounded_up_and_zero_does_not_wait(void **) {
  using namespace std::chrono_literals;
  static_assert(det::Timeout().capi() == DET_TIMEOUT_DEFAULT);
  static_assert(det::Timeout(1500ms).capi() == 1500);
  static_assert(det::Timeout(1us).capi() == 1);
  static_assert(det::Timeout(1001us).capi() == 2);
  static_assert(det::Timeout(2h).capi() == 7200000);
  static_assert(det::Timeout(0s).capi() == DET_TIMEOUT_NONE);
  static_assert(det::Timeout(-1s).capi() == DET_TIMEOUT_NONE);
  static_assert(det::Timeout(std::chrono::hours::max()).capi() == DET_TIMEOUT_INFINITE);
  const det::Timeout unknown =
      std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN());
  assert_equal(unknown.capi(), DET_TIMEOUT_NONE);
}

struct BoardRun : Run {
  std::filesystem::path board;

  static det::CoreOptions manual() {
    det::CoreOptions options;
    options.tensorboard_mode = det::TensorboardMode::manual;
    return options;
  }
  BoardRun() : Run(manual()), board(core.train().get_tensorboard_path()) {
    std::ofstream(board / "a.txt") << "a";
    std::ofstream(board / "b.txt") << "b";
  }
};

void tensorboard_files_are_chosen_and_named_by_callables(void **) {
  const BoardRun run;
  std::vector<std::string> renamed;
  run.core.train().upload_tensorboard_files(
      [](const std::filesystem::path &path) { return path.filename() == "b.txt"; },
      [&](const std::string &path, int rank) {
        renamed.push_back(path);
        return "rank" + std::to_string(rank) + "/" + path;
      });
  assert_equal(renamed, std::vector<std::string>{"b.txt"});
  run.core.train().upload_tensorboard_files();
  run.core.close();
}

void what_these_throw_comes_back(void **) {
  const BoardRun run;
  const det::Train train = run.core.train();
  assert_throws<std::out_of_range>([&] {
    train.upload_tensorboard_files(
        [](const char *) -> bool { throw std::out_of_range("selector"); });
  });
  assert_throws<int>([&] {
    train.upload_tensorboard_files({}, [](const char *, int) -> std::string { throw 42; });
  });
  expect_error(det::Code::callback, [&] {
    train.upload_tensorboard_files({}, [](const char *, int) { return std::string(5000, 'x'); });
  });
  run.core.close();
}

}  // namespace

int test_train() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_report_may_say_when_and_whose),
      cmocka_unit_test(regions_last_as_long_as_their_scope),
      cmocka_unit_test(json_keeps_its_order_where_its_value_does),
      cmocka_unit_test(everything_else_is_told_too),
      cmocka_unit_test(the_best_validation_is_that_of_the_experiment),
      cmocka_unit_test(durations_are_rounded_up_and_zero_does_not_wait),
      cmocka_unit_test(tensorboard_files_are_chosen_and_named_by_callables),
      cmocka_unit_test(what_these_throw_comes_back),
  };
  return cmocka_run_group_tests_name("train", tests, nullptr, nullptr);
}

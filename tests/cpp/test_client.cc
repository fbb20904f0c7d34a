// Reading and steering, and configurations.
#include <det/nlohmann_json.hpp>
#include <numeric>

#include "tests/cpp/fixture.h"

namespace {

using namespace cpp_test;
using det::Code;
using nlohmann::json;

// A trial that has ended, with a checkpoint.
struct Finished : Run {
  det::Client reader;
  std::string checkpoint;

  static det::CoreOptions of_experiment() {
    det::CoreOptions options;
    options.external_id = "mine";
    options.config =
        R"({"name": "digits", "searcher": {"name": "single", "metric": "loss", "max_length": 3}})";
    return options;
  }
  Finished() : Run(of_experiment()), reader(client()) {
    for (int step = 1; step <= 3; ++step)
      core.train().report_validation_metrics(step, {{"loss", 1.0 / step}});
    const det::CheckpointWriter store = core.checkpoint().write(R"({"steps_completed": 3})");
    checkpoint = store.id();
    store.commit();
    for (const det::Operation operation : core.searcher().operations())
      operation.report_completed(1 / 3.0);
    core.close();
  }
};

void lists_and_entries_can_be_read(void **) {
  const Finished run;
  const det::Client &client = run.reader;
  det::Page page;
  page.name = "dig*";
  page.descending = true;
  assert_equal(client.list_experiments(page).as<json>()["experiments"].size(), 1);
  page.name = "other";
  assert_equal(client.list_experiments(page).as<json>()["experiments"].size(), 0);
  page = {};
  page.archived = det::Page::Archived::only;
  assert_equal(client.list_experiments(page).as<json>()["experiments"].size(), 0);
  assert_equal(client.list_trials(1).as<json>()["trials"].size(), 1);
  assert_equal(client.get_experiment(1).as<json>()["name"], "digits");
  assert_equal(client.get_trial(1).as<json>()["id"], client.find_trial("mine").as<json>()["id"]);
  page = {};
  page.limit = 2;
  assert_equal(client.list_metrics(1, "validation", page).as<json>()["metrics"].size(), 2);
  assert_equal(client.list_metrics(1).as<json>()["metrics"].size(), 3);
  assert_equal(client.list_metric_names(1).as<json>(), (json{{"validation", {"loss"}}}));
  assert_equal(client.list_checkpoints(1).as<json>()["checkpoints"].size(), 1);
  assert_equal(client.get_checkpoint(run.checkpoint).as<json>()["uuid"], run.checkpoint);
  assert_equal(client.find_checkpoint(run.checkpoint.substr(0, 8)).as<json>()["uuid"],
               run.checkpoint);
  assert_equal(client.list_logs(1).as<json>()["logs"].size(), 0);
  assert_equal(client.best_trial(1).as<json>()["checkpoint"]["uuid"], run.checkpoint);
  expect_error(Code::state, [&] { static_cast<void>(client.hparam_importance(1)); });
  expect_part(expect_error(Code::not_found, [&] { static_cast<void>(client.get_trial(9)); }), "9");
}

void a_series_is_three_arrays(void **) {
  const Finished run;
  const det::MetricSeries series = run.reader.get_metric_series(1, "validation", "loss");
  assert_equal(series.size(), 3);
  assert_equal(series.steps_completed()[2], 3);
  const auto values = series.values();
  assert_equal(std::accumulate(values.begin(), values.end(), 0.0), 1 + 1 / 2.0 + 1 / 3.0);
  assert_true(series.times_us()[0] > 0);
  assert_int_equal(run.reader.get_metric_series(1, "validation", "none").size(), 0);
}

void experiments_can_be_steered(void **) {
  const Finished run;
  const det::Client &client = run.reader;
  assert_equal(client.update_experiment(1, json{{"notes", "good"}}).as<json>()["id"], 1);
  expect_error(Code::invalid, [&] { client.update_experiment(1, R"({"nonsense": 1})"); });
  expect_error(Code::state,
               [&] { client.control(det::ClientTarget::trial, 1, det::ClientAction::pause); });
  assert_true(client.collect_garbage(1, true).as<json>()["checkpoints"].is_array());
  assert_equal(client.sync().as<json>()["busy"], 0);
  expect_error(Code::state,
               [&] { static_cast<void>(client.search_events(1, std::chrono::seconds(0))); });
  expect_error(Code::state, [&] { client.post_operations(1, 1, "[]"); });
  assert_equal(client.delete_experiment(1).as<json>()["state"], "DELETED");
}

void what_cannot_be_opened_says_why(void **) {
  const Place place;
  det::ClientOptions options;
  options.master = (place.home / "nowhere").string();
  expect_error(Code::not_found, [&] { static_cast<void>(det::Client::open(options)); });
  det::Failure failure;
  assert_true(!det::Client::open(options, failure));
  assert_equal(failure.code(), Code::not_found);
  options.user = "someone";
  options.password = "";
  expect_error(Code::invalid, [&] { det::Client::login(options); });
  expect_error(Code::invalid, [&] { det::Client::logout(options); });
  expect_error(Code::invalid, [&] { static_cast<void>(det::Client::whoami(options)); });
}

void configurations_are_checked_and_completed(void **) {
  det::ConfigOptions options;
  options.unmanaged = true;
  options.file_name = "mine.yaml";
  const json problems = det::config_check("searcher: {nmae: single}", options).as<json>();
  assert_true(problems.size() > 0);
  options.master_storage = "null";
  options.template_json =
      json{{"checkpoint_storage", {{"type", "directory"}, {"container_path", "/c"}}}};
  const char *right = "searcher: {name: single, metric: loss, max_length: {batches: 3}}";
  assert_equal(
      det::config_complete(right, options).as<json>()["checkpoint_storage"]["container_path"],
      "/c");
  expect_part(expect_error(Code::invalid,
                           [&] { static_cast<void>(det::config_complete("x: 1", options)); }),
              "mine.yaml");
}

}  // namespace

int test_client() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(lists_and_entries_can_be_read),
      cmocka_unit_test(a_series_is_three_arrays),
      cmocka_unit_test(experiments_can_be_steered),
      cmocka_unit_test(what_cannot_be_opened_says_why),
      cmocka_unit_test(configurations_are_checked_and_completed),
  };
  return cmocka_run_group_tests_name("client", tests, nullptr, nullptr);
}

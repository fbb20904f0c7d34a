// What is asked of the records, page by page.
#include <cmath>

#include "tests/engine/suite.h"

namespace det::test {
namespace {

std::vector<int64_t> ids_of(const Json &trials) {
  std::vector<int64_t> ids;
  for (const Json &trial : trials) ids.push_back(trial.at("id").get<int64_t>());
  return ids;
}

// Of all pages, which have two entries each.
std::vector<int64_t> walk(engine::Engine &engine, int64_t experiment_id, engine::Page page) {
  std::vector<int64_t> ids;
  page.limit = 2;
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    const Json list = engine.list_trials(experiment_id, page);
    assert_true(list.at("trials").size() <= 2);
    for (const int64_t id : ids_of(list.at("trials"))) ids.push_back(id);
    next = list.at("next");
  }
  return ids;
}

void pages_lead_through_all_in_either_direction(const World &world) {
  for (int i = 0; i < 5; ++i) world.start()->end(engine::RunExit::ok);
  engine::Engine engine = world.engine();
  assert_equal(walk(engine, 0, {}), (std::vector<int64_t>{1, 2, 3, 4, 5}));
  assert_equal(walk(engine, 0, {.descending = true}), (std::vector<int64_t>{5, 4, 3, 2, 1}));
  assert_equal(engine.list_experiments({}).at("experiments").size(), 5U);
  expect_error(Code::not_found, [&] { engine.get_trial(6); });
  expect_error(Code::not_found, [&] { engine.get_experiment(6); });
}

// A search with a trial for each of these; none: without a validation.
int64_t search_with(const World &world, const std::vector<std::optional<double>> &losses) {
  engine::Engine engine = world.engine();
  engine::Store store(world.directory(), false, world.options());
  const int64_t experiment = engine.create_experiment(
      {{"name", "search"}, {"searcher", {{"name", "random"}, {"metric", "loss"}}}}, "", {});
  for (const std::optional<double> &loss : losses) {
    store.database().run(
        "INSERT INTO trials (experiment_id, state, hparams, seed, task_id, created)"
        " VALUES (?, 'ACTIVE', '{}', 1, '', 1)",
        experiment);
    const int64_t trial = store.database().last_id();
    if (loss)
      engine::ReportWriter(store.database())
          .deliver({trial, 1, 0, std::to_string(trial)}, std::vector{validation(1, 1, *loss)});
  }
  return experiment;
}

void trials_come_by_their_metric_with_those_without_one_last(const World &world) {
  const int64_t experiment = search_with(world, {0.5, std::nullopt, NAN, 0.1, INFINITY, 0.3});
  engine::Engine engine = world.engine();
  assert_equal(walk(engine, experiment, {.by_metric = true}),
               (std::vector<int64_t>{4, 6, 1, 5, 3, 2}));
  const auto best = engine.best_trial(experiment);
  assert_equal(best->trial_id, 4);
  assert_equal(best->value, 0.1);
}

void a_report_is_shown_as_it_was_made(const World &world) {
  auto run = world.start();
  Report report;
  report.sequence = 1;
  report.kind = ReportKind::metrics_json;
  report.group = "my \"own\"";
  report.steps = 7;
  report.text = R"({"a":{"b":[1,2]},"größe":null})";
  report.batches = R"([{"loss":1},{"loss":2}])";
  deliver(*run, {report, validation(2, 7, NAN)});
  engine::Engine engine = world.engine();
  const int64_t trial = run->info().trial_id;
  const Json all = parse_json(engine.metrics_text(trial, {}, {}), "metrics").at("metrics");
  assert_equal(all.size(), 2U);
  assert_equal(all[0].at("metrics"), parse_json(report.text, "metrics"));
  assert_equal(all[0].at("batch_metrics"), parse_json(report.batches, "batches"));
  assert_equal(all[1].at("metrics").at("loss").get<std::string>(), "NaN");
  const Json one = parse_json(engine.metrics_text(trial, "validation", {}), "metrics");
  assert_equal(one.at("metrics").size(), 1U);
  assert_equal(engine.list_metric_names(trial),
               (Json{{"my \"own\"", {"a", "größe"}}, {"validation", {"loss"}}}));
}

void lines_of_a_log_keep_their_order(const World &world) {
  auto run = world.start();
  std::vector<Report> lines(3);
  const std::vector<std::string> texts{"first", "", "größer"};
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].sequence = i + 1;
    lines[i].kind = ReportKind::log;
    lines[i].level = 2;
    lines[i].text = texts[i];
  }
  deliver(*run, lines);
  engine::Engine engine = world.engine();
  const Json logs = engine.list_logs(run->info().trial_id, {}).at("logs");
  for (size_t i = 0; i < lines.size(); ++i) {
    assert_equal(logs[i].at("text").get<std::string>(), texts[i]);
    assert_equal(logs[i].at("level").get<std::string>(), "warning");
  }
}

}  // namespace
}  // namespace det::test

int test_lists() {
  using namespace det::test;
  return run_over_stores(
      "lists",
      {behaviour(pages_lead_through_all_in_either_direction),
       behaviour(trials_come_by_their_metric_with_those_without_one_last),
       behaviour(a_report_is_shown_as_it_was_made), behaviour(lines_of_a_log_keep_their_order)});
}

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
    const Json list = engine.trials().list(experiment_id, page);
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
  assert_equal(engine.experiments().list({}).at("experiments").size(), 5U);
  // Behind the first page as well.
  assert_equal(ids_of(engine.experiments().list({.after = 4}).at("experiments")),
               std::vector<int64_t>{5});
  expect_error(Code::not_found, [&] { engine.trials().get(6); });
  expect_error(Code::not_found, [&] { engine.experiments().get(6); });
}

std::vector<int64_t> experiments_of(engine::Engine &engine, engine::Page page) {
  std::vector<int64_t> ids;
  page.limit = 2;
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    const Json list = engine.experiments().list(page);
    for (const int64_t id : ids_of(list.at("experiments"))) ids.push_back(id);
    next = list.at("next");
  }
  return ids;
}

void lists_have_what_matches(const World &world) {
  engine::RunRequest request = world.request();
  const std::vector<std::string> names{"digits", "digits [2]", "letters", "digits", "letters"};
  for (const std::string &name : names) {
    request.name = name;
    request.config["labels"] = name == "letters" ? Json{"a,\"b\"", "good"} : Json{"fine"};
    engine::start_live_run(request)->end(name == "letters" ? engine::RunExit::error
                                                           : engine::RunExit::ok);
  }
  engine::Store(world.directory(), false, world.options())
      .database()
      .run("UPDATE experiments SET archived=1 WHERE id=4");
  const auto running = world.start();  // 6
  engine::Engine engine = world.engine();
  using engine::Archived;
  const auto expect = [&](const engine::Filter &filter, const std::vector<int64_t> &ids) {
    assert_equal(experiments_of(engine, {.filter = filter}), ids);
    assert_equal(walk(engine, 0, {.filter = filter}), ids);  // each has one trial of its number
    const std::vector<int64_t> back(ids.rbegin(), ids.rend());
    assert_equal(experiments_of(engine, {.descending = true, .filter = filter}), back);
    assert_equal(walk(engine, 0, {.descending = true, .filter = filter}), back);
  };
  expect({}, {1, 2, 3, 5, 6});
  expect({.archived = Archived::only}, {4});
  expect({.archived = Archived::with}, {1, 2, 3, 4, 5, 6});
  expect({.states = {"ERROR", "ACTIVE"}}, {3, 5, 6});
  expect({.name = "digits"}, {1, 6});
  expect({.name = "digits [[]?]"}, {2});
  expect({.name = "[!d]*"}, {3, 5});
  expect({.name = "*s", .archived = Archived::with}, {1, 3, 4, 5, 6});
  expect({.tag = "good"}, {3, 5});
  expect({.tag = "a,\"b\""}, {3, 5});
  expect({.tag = "b"}, {});
  expect({.states = {"COMPLETED"}, .tag = "fine", .archived = Archived::with}, {1, 2, 4});
  expect({.running = true}, {6});
  // Those of an experiment that is asked for.
  assert_equal(walk(engine, 4, {}), (std::vector<int64_t>{4}));
  assert_equal(walk(engine, 4, {.filter = {.archived = Archived::only}}),
               (std::vector<int64_t>{4}));
  assert_equal(walk(engine, 1, {.filter = {.archived = Archived::only}}), std::vector<int64_t>{});
  expect_error(Code::not_found, [&] { engine.trials().list(9, {}); });
  expect_error(Code::not_found, [&] { engine.checkpoints().list(9, {}); });
  for (const engine::Filter &filter :
       std::vector<engine::Filter>{{.tag = "good"}, {.archived = Archived::with}})
    expect_error(Code::invalid, [&] { engine.checkpoints().list(0, {.filter = filter}); });
}

void states_are_read_in_any_case_and_unknown_ones_refused(const World &) {
  assert_equal(engine::read_states("active,Delete_Failed"),
               (std::vector<std::string>{"ACTIVE", "DELETE_FAILED"}));
  assert_equal(engine::read_states("").size(), 0U);
  for (const char *text : {"DONE", "ACTIVE,,ERROR", " ACTIVE", ",", "ACTIVE' OR 1 --"})
    assert_true(expect_error(Code::invalid, [&] { engine::read_states(text); }).find("COMPLETED") !=
                std::string::npos);
}

void a_checkpoint_is_found_by_the_beginning_of_its_id(const World &world) {
  const auto run = world.start();
  int64_t step = 0;
  for (const char *id : {"abcd1111", "abcd2222", "abce1111", "abcd", "Model-1"})
    run->checkpoints().report(checkpoint(id, ++step));
  engine::Engine engine = world.engine();
  const auto found = [&](const char *text) {
    return engine.checkpoints().find(text).at("uuid").get<std::string>();
  };
  assert_string_equal(found("abcd2").c_str(), "abcd2222");
  assert_string_equal(found("ABCE").c_str(), "abce1111");
  assert_string_equal(found("abcd").c_str(), "abcd");  // in full
  assert_string_equal(found("Mode").c_str(), "Model-1");
  expect_error(Code::not_found, [&] { found("abcf"); });
  expect_error(Code::not_found, [&] { found("ab%_"); });
  expect_error(Code::invalid, [&] { found("abc"); });
  run->checkpoints().report(checkpoint("beef1111", ++step));
  for (int i = 0; i < 12; ++i)
    run->checkpoints().report(checkpoint("beef2-" + std::to_string(i), 1));
  const std::string message = expect_error(Code::conflict, [&] { found("beef"); });
  assert_true(message.find("beef1111 (trial 1, step 6), beef2-0") != std::string::npos);
  assert_true(message.find("and more") != std::string::npos);
}

void a_trial_is_found_by_its_id_or_its_external_id(const World &world) {
  engine::RunRequest request = world.request();
  for (const char *id : {"2", "digits", "7"}) {
    request.external_id = id;
    engine::start_live_run(request)->end(engine::RunExit::ok);
  }
  engine::Engine engine = world.engine();
  assert_equal(engine.trials().find("2"), 2);  // the id wins
  assert_equal(engine.trials().find("external:2"), 1);
  assert_equal(engine.trials().find("digits"), 2);
  assert_equal(engine.trials().find("7"), 3);
  for (const char *text : {"8", "digit", "external:3", "-1", "1x", "99999999999999999999"})
    expect_error(Code::not_found, [&] { engine.trials().find(text); });
  for (const char *text : {"", "external:"})
    expect_error(Code::invalid, [&] { engine.trials().find(text); });
}

void what_runs_is_told_from_what_died(const World &world) {
  const auto run = world.start();
  auto other = world.start();
  engine::Engine engine = world.engine();
  const auto running = [&] {
    const Json trials = engine.trials().list(0, {}).at("trials");
    const Json experiments = engine.experiments().list({}).at("experiments");
    return trials[0].at("running").dump() + trials[1].at("running").dump() +
           experiments[0].at("running").dump() + experiments[1].at("running").dump();
  };
  assert_string_equal(running().c_str(), "truetrue11");
  // A process that is gone: its number now belongs to nobody.
  engine::Store(world.directory(), false, world.options())
      .database()
      .run("UPDATE runs SET process=json_set(process, '$.start_ticks', 1) WHERE trial_id=2");
  assert_string_equal(running().c_str(), "truefalse10");
  assert_equal(engine.trials().get(2).at("running"), false);
  assert_equal(engine.trials().get(2).at("state"), "ACTIVE");
  other->end(engine::RunExit::ok);
  assert_string_equal(running().c_str(), "truefalse10");
}

// A search with a trial for each of these; none: without a validation.
int64_t search_with(const World &world, const std::vector<std::optional<double>> &losses) {
  engine::Engine engine = world.engine();
  engine::Store store(world.directory(), false, world.options());
  const int64_t experiment = engine.experiments().create(
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
  const auto best = engine.experiments().best_trial(experiment);
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
  const Json all = parse_json(engine.metrics().text(trial, {}, {}), "metrics").at("metrics");
  assert_equal(all.size(), 2U);
  assert_equal(all[0].at("metrics"), parse_json(report.text, "metrics"));
  assert_equal(all[0].at("batch_metrics"), parse_json(report.batches, "batches"));
  assert_equal(all[1].at("metrics").at("loss").get<std::string>(), "NaN");
  const Json one = parse_json(engine.metrics().text(trial, "validation", {}), "metrics");
  assert_equal(one.at("metrics").size(), 1U);
  assert_equal(engine.metrics().names(trial),
               (Json{{"my \"own\"", {"a.b", "größe"}}, {"validation", {"loss"}}}));
}

// What the profiler says is of a time: it repeats nothing, and a later run takes nothing back.
void reports_without_steps_stand_for_themselves(const World &world) {
  Report report;
  report.kind = ReportKind::metrics_json;
  report.group = "cpu";
  report.steps = no_steps;
  const auto measure = [&](engine::LiveRun &run, uint64_t sequence, std::string_view text) {
    report.sequence = sequence;
    report.text = text;
    deliver(run, {report});
  };
  auto first = world.start();
  const int64_t trial = first->info().trial_id;
  measure(*first, 1, R"({"node1.x":{"util":5}})");
  measure(*first, 2, R"({"node1.x":{"util":7,"/":{"used":1}}})");
  first.reset();
  auto second = world.resume(trial);
  measure(*second, 1, R"({"node1.x":{"util":9}})");
  deliver(*second, {validation(2, 1, 0.5)});
  measure(*second, 3, R"({"node1.x":{"util":9}})");
  engine::Engine engine = world.engine();
  const Json all = parse_json(engine.metrics().text(trial, "cpu", {}), "metrics").at("metrics");
  assert_equal(all.size(), 4U);
  for (const Json &each : all) assert_true(each.at("steps_completed").is_null());
  assert_equal(all[1].at("metrics").at("node1.x").at("util"), 7);
  assert_equal(engine.metrics().names(trial).at("cpu"), Json({"node1.x.util", "node1.x./.used"}));
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
  const Json logs = engine.trials().logs(run->info().trial_id, {}).at("logs");
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
      {behaviour(pages_lead_through_all_in_either_direction), behaviour(lists_have_what_matches),
       behaviour(states_are_read_in_any_case_and_unknown_ones_refused),
       behaviour(a_checkpoint_is_found_by_the_beginning_of_its_id),
       behaviour(a_trial_is_found_by_its_id_or_its_external_id),
       behaviour(what_runs_is_told_from_what_died),
       behaviour(trials_come_by_their_metric_with_those_without_one_last),
       behaviour(a_report_is_shown_as_it_was_made),
       behaviour(reports_without_steps_stand_for_themselves),
       behaviour(lines_of_a_log_keep_their_order)});
}

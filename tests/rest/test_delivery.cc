// How reports get to a master: each once, whatever happens on the way.
#include "tests/patience.h"
#include "tests/rest/delivering.h"

#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::master;
using namespace det::test;

constexpr std::array versions{"0.19.10", "0.33.0", "0.38.1"};

bool is_old(const std::string &version) { return version == "0.19.10"; }

std::map<int64_t, double> all_of(int64_t count) {
  std::map<int64_t, double> expected;
  for (int64_t step = 1; step <= count; ++step) expected[step] = static_cast<double>(step) / 4;
  return expected;
}

// Reports of several steps may arrive in any order.
const Json &row_of(const Json &state, const std::string &group, int64_t step) {
  for (const Json &row : state["metrics"])
    if (row["group"] == group && row["step"] == step) return row;
  throw std::runtime_error("no metrics of group " + group);
}

void every_kind_of_report_arrives(void **) {
  for (const std::string version : versions) {
    Delivering run(version);
    run.delivery->set_operation_length(100);
    std::vector<Report> reports{
        metrics_report(8, "training", 1, 0.5),
        json_report(16, "validation", 2, R"({"loss": NaN, "note": "x"})"),
        json_report(24, "training", 3, R"({"loss": 1})", R"([{"a": 1}, {"a": 2}])"),
        text_report(32, ReportKind::status, "validating"),
        progress_report(40, 0.5),
        text_report(48, ReportKind::log, "hello", static_cast<int>(LogLevel::warning)),
    };
    if (!is_old(version)) reports.push_back(metrics_report(56, "custom group", 4, -1));
    assert_true(run.deliver(reports).conflicts.empty());

    const Json state = run.master.state();
    assert_int_equal(state["metrics"].size(), is_old(version) ? 3 : 4);
    assert_equal(row_of(state, "training", 1)["values"], Json({{"loss", 0.5}}));
    const Json validation{{"loss", "NaN"}, {"note", "x"}};
    assert_equal(row_of(state, "validation", 2)["values"], validation);
    assert_equal(row_of(state, "training", 3)["batches"], Json::parse(R"([{"a": 1}, {"a": 2}])"));
    const Json &trial = state["trials"]["7"];
    assert_equal(trial["statuses"], Json({"validating"}));
    // In the searcher's units where the master counts in them.
    assert_equal(trial["progress"], Json::array({version == "0.38.1" ? 0.5 : 50}));
    if (is_old(version)) continue;  // the agent takes the lines from the container's output
    const Json &line = state["logs"][0];
    assert_string_equal(line["log"].get<std::string>().c_str(), "hello\n");
    assert_equal(line["rank_id"], 3);
    assert_equal(line["level"], "LOG_LEVEL_WARNING");
    assert_equal(line["task_id"], "1.aaaa");
    assert_equal(line["allocation_id"], "1.aaaa.1");
    assert_equal(parse_iso8601(line["timestamp"].get<std::string>()), reports[5].time_us);
  }
}

// Masters know five groups of the profiler, refuse others without steps, and list the series of one
// row of a group.
void what_the_profiler_says_goes_to_groups_that_there_are(void **) {
  for (const std::string version : versions) {
    Delivering run(version);
    const std::vector<Report> reports{
        json_report(8, "cpu", no_steps, R"({"node": {"cpu_util_simple": 2.5}})"),
        json_report(16, "cpu", no_steps, R"({"node": {"cpu_util_simple": 3.5}})"),
        json_report(24, "process", no_steps, R"({"node": {"threads": 2, "7 sh": {"x": 1}}})"),
        json_report(32, "pressure", no_steps, R"({"node": {"some": 4}})"),
    };
    assert_true(run.deliver(reports).conflicts.empty());
    const Json rows = run.master.state()["metrics"];
    if (is_old(version)) {
      assert_true(rows.empty());  // it has no place for them
      continue;
    }
    std::vector<std::string> texts;
    for (const Json &row : rows) {
      assert_equal(row["group"], "cpu");
      assert_true(row["step"].is_null());
      texts.push_back(row["values"].dump());
    }
    std::ranges::sort(texts);
    assert_equal(texts,
                 std::vector<std::string>{
                     R"({"node":{"cpu_util_simple":2.5}})",
                     R"({"node":{"cpu_util_simple":3.5,"process":{"threads":2,"7 sh":{"x":1}},)"
                     R"("pressure":{"some":4}}})"});
    for (const Json &request : run.asked("/metrics"))
      assert_false(request["metrics"]["reportTime"].is_null());
  }
}

void unmanaged_trials_have_a_way_of_their_own_for_logs_and_progress(void **) {
  for (const std::string version : {"0.33.0", "0.38.1"}) {
    Delivering run(version, {{"is_managed", false}});
    run.begin({false, 7, 1, 3, "1.aaaa", "1.aaaa"});
    const std::vector<Report> reports{
        progress_report(8, 0.25),
        text_report(16, ReportKind::log, "hello", static_cast<int>(LogLevel::error))};
    run.deliver(reports);
    const Json state = run.master.state();
    assert_int_equal(run.asked("/task-logs").size(), 1);
    const Json &line = state["logs"][0];
    assert_equal(line["level"], "ERROR");
    assert_equal(line["rank_id"], 3);
    assert_equal(line["log"], "hello\n");
    assert_false(line.contains("allocation_id"));
    // The older master has no place for progress of such a trial: it is not even asked.
    const Json progress = version == "0.38.1" ? Json{0.25} : Json::array();
    assert_equal(state["trials"]["7"]["progress"], progress);
    assert_int_equal(run.asked("/progress").size(), progress.size());
  }
}

void late_reports_say_when_they_were_made(void **) {
  Delivering run("0.38.1");
  std::vector<Report> reports = training_reports(2);
  reports[0].time_us -= 3'600'000'000;
  run.deliver(reports);
  for (const Json &body : run.asked("/metrics")) {
    const Json time = body["metrics"].value("reportTime", Json());
    if (body["metrics"]["stepsCompleted"] == 2) assert_true(time.is_null());
    else assert_equal(parse_iso8601(time.get<std::string>()), reports[0].time_us);
  }
}

Json body_of(int grpc, const std::string &text) {
  return {{"error", {{"code", grpc}, {"reason", "Some"}, {"error", text}}}};
}

// As one of PostgreSQL; the text may repeat what was reported.
const Json wrong_value = body_of(13, "updating: wrong \"SQLSTATE 57P01\" (SQLSTATE 22P02)");

// What find_final() needs to find this entry.
Json fault_of(const FinalResponse &entry) {
  const std::string text = "some " + std::string(entry.text) + "502, more";
  const Json plain{{"message", text}};
  const Json body = entry.writer == Writer::plain ? plain
                    : entry.writer == Writer::api ? body_of(entry.grpc == 0 ? 2 : entry.grpc, text)
                                                  : Json("<html>of a proxy");
  return {{"path", entry.writer == Writer::plain ? "/task-logs$" : "metrics$"},
          {"status", entry.status},
          {"body", body}};
}

void each_final_answer_sets_one_report_aside(void **) {
  for (const FinalResponse &entry : final_responses()) {
    assert_false(entry.reason.empty());
    const bool of_logs = entry.writer == Writer::plain;
    Delivering run("0.38.1", {{"is_managed", !of_logs}});
    run.begin({!of_logs, 7, 1, 3, "1.aaaa", "1.aaaa"});
    run.master.add_fault(fault_of(entry));
    std::vector<Report> reports = training_reports(5);
    if (of_logs) reports[0] = text_report(8, ReportKind::log, "hello");
    const Delivery delivery = run.deliver(reports);
    assert_int_equal(delivery.conflicts.size(), 1);
    assert_int_equal(delivery.set_aside, 1);
    assert_int_equal(run.stored().size(), 4);
    assert_int_equal(run.delivery->refused().count(), 1);
    assert_int_equal(run.asked(of_logs ? "/task-logs" : "metrics").size(), of_logs ? 1 : 5);
  }
}

// The database goes away and comes again, and says so each time in the same words.
void no_report_is_set_aside_while_the_database_comes_and_goes(void **) {
  for (const std::string version : versions)
    for (const char *text :
         {"conn closed", "shutting down (SQLSTATE 57P01)", "the disk is full (SQLSTATE 53100)",
          "invalid run id (SQLSTATE 08006)", "runtime error: invalid memory address"}) {
      Delivering run(version);
      for (int i = 0; i < 60; ++i)
        run.master.add_fault({{"path", "metrics$"},
                              {"skip", i % 3},
                              {"count", 1 + i % 4},
                              {"after", i % 2 == 0 ? "before" : "store"},
                              {"body", body_of(13, text)}});
      const std::vector<Report> reports = training_reports(200);
      for (int attempts = 0; run.stored().size() < 200; ++attempts) {
        assert_true(attempts < 200);
        try {
          assert_true(run.deliver(reports).conflicts.empty());
        } catch (const Error &error) {
          assert_int_equal(error.code, Code::unavailable);
          assert_true(may_work_later(error));
        }
      }
      assert_equal(run.stored(), all_of(200));
      assert_string_equal(run.refused().c_str(), "");
    }
}

void report_that_is_refused_for_long_without_a_reason_stops_no_others(void **) {
  Delivering run("0.38.1");
  run.patience = std::chrono::milliseconds(100);
  run.begin();
  run.master.add_fault({{"path", "metrics$"}, {"count", 100'000}});
  const std::vector<Report> reports = training_reports(10);
  const auto begin = std::chrono::steady_clock::now();
  Delivery told;
  while (told.set_aside == 0) {
    expect_error(Code::unavailable, [&] { run.deliver(reports); });
    told = run.delivery->take_told();
    usleep(10'000);
  }
  assert_true(std::chrono::steady_clock::now() - begin >= 10 * run.patience);
  assert_int_equal(told.conflicts.size(), 1);
  run.master.heal();
  run.deliver(reports);
  assert_int_equal(run.stored().size(), 9);
  assert_int_equal(run.delivery->refused().count(), 1);
}

// What the master answers to the report of a checkpoint, and to the question whether it has it.
struct CheckpointOutage {
  Json report, lookup;
};

const std::string checkpoint_id = "11111111-2222-4333-8444-555555555555";

// Whether the report, with one of metrics behind it, is set aside; else it arrives in the end.
bool is_checkpoint_set_aside(const CheckpointOutage &outage, std::chrono::milliseconds within) {
  Delivering run("0.38.1");
  run.patience = std::chrono::milliseconds(100);
  run.begin();
  const auto add = [&](const char *path, Json fault) {
    if (fault.is_null()) return;
    fault.update({{"path", path}, {"count", 100'000}});
    run.master.add_fault(fault);
  };
  add("POST /api/v1/checkpoints$", outage.report);
  add("GET /api/v1/checkpoints", outage.lookup);
  const std::string text = pack(engine::to_json(engine::CheckpointReport{
      checkpoint_id, {{"steps_completed", 1}}, {{"a", 1}}, Json::object()}));
  const std::vector<Report> reports{text_report(8, ReportKind::checkpoint, text),
                                    metrics_report(16, "training", 1, 0.25)};
  const auto begin = std::chrono::steady_clock::now();
  Delivery told;
  while (told.set_aside == 0 && std::chrono::steady_clock::now() - begin < within) {
    try {
      told = run.deliver(reports);
    } catch (const Error &error) {
      assert_true(may_work_later(error));
      told = run.delivery->take_told();
    }
    usleep(10'000);
  }
  assert_int_equal(run.delivery->refused().count(), told.set_aside);
  if (told.set_aside > 0) {
    assert_true(std::chrono::steady_clock::now() - begin >= 10 * run.patience);
    assert_true(contains(told.conflicts.at(0), run.delivery->refused().path().string()));
  }
  run.master.heal();
  run.patience = std::chrono::milliseconds(TEST_PATIENCE_MS);
  run.begin();
  run.deliver(reports);
  assert_equal(run.stored(), all_of(1));
  run.delivery->refused().offer(
      [&](const Json &report) { return run.delivery->offer_again(report); });
  assert_string_equal(run.refused().c_str(), "");
  assert_string_equal(run.master.state()["checkpoints"].at(0)["uuid"].get<std::string>().c_str(),
                      checkpoint_id.c_str());
  return told.set_aside > 0;
}

// An outage of the database says nothing about the checkpoint, however long it takes.
void checkpoint_is_set_aside_only_by_a_master_that_looked_for_it(void **) {
  const Json unexplained{{"body", body_of(13, "conn closed")}};
  const Json of_proxy{{"body", "<html>no master wrote this"}};
  assert_true(is_checkpoint_set_aside({unexplained, {}}, std::chrono::seconds(60)));
  for (const CheckpointOutage &outage : std::vector<CheckpointOutage>{
           {unexplained, unexplained},
           {unexplained, of_proxy},
           {unexplained, {{"status", 404}, {"body", "<html>no route of a proxy"}}},
           {unexplained, {{"how", "drop"}}},
           {of_proxy, {}},
           {{{"body", body_of(13, "starting up (SQLSTATE 57P03)")}}, {}},
       })
    assert_false(is_checkpoint_set_aside(outage, std::chrono::milliseconds(1300)));
}

void what_was_set_aside_is_told_by_a_delivery_that_fails(void **) {
  Delivering run("0.38.1");
  run.master.add_fault({{"path", "metrics$"}, {"body", wrong_value}});
  run.master.add_fault({{"path", "metrics$"}, {"skip", 1}, {"status", 503}, {"body", ""}});
  expect_error(Code::unavailable, [&] { run.deliver(training_reports(4)); });
  const Delivery told = run.delivery->take_told();
  assert_int_equal(told.set_aside, 1);
  assert_int_equal(told.conflicts.size(), 1);
  assert_int_equal(run.deliver(training_reports(4)).set_aside, 0);
}

void refused_report_is_kept_and_told_once(void **) {
  for (const std::string version : versions) {
    Delivering run(version);
    // The second and the third.
    run.master.add_fault({{"path", "metrics$"}, {"skip", 1}, {"count", 2}, {"body", wrong_value}});
    const Delivery delivery = run.deliver(training_reports(10, "validation"));
    assert_int_equal(delivery.conflicts.size(), 1);
    assert_true(contains(delivery.conflicts[0], "group 'validation' at step 2"));
    assert_true(contains(delivery.conflicts[0], "SQLSTATE 22P02"));
    assert_true(contains(delivery.conflicts[0], run.delivery->refused().path().string()));
    assert_int_equal(run.stored("validation").size(), 8);  // those behind it too
    const std::string kept = run.refused();
    assert_int_equal(run.delivery->refused().count(), 2);
    assert_int_equal(delivery.set_aside, 2);
    assert_string_equal(delivery.set_aside_in.c_str(), run.delivery->refused().path().c_str());

    // Neither is sent again.
    assert_true(run.deliver(training_reports(10, "validation")).conflicts.empty());
    assert_int_equal(run.asked("metrics").size(), 10);

    uint64_t offered = 0;
    run.delivery->refused().offer([&](const Json &report) {
      ++offered;
      return run.delivery->offer_again(report);
    });
    assert_int_equal(offered, 2);
    assert_int_equal(run.delivery->refused().count(), 0);
    assert_equal(run.stored("validation"), all_of(10));
    assert_string_equal(run.refused().c_str(), "");
  }
}

void report_that_the_master_has_no_place_for_is_kept(void **) {
  Delivering run("0.19.10");
  const std::vector<Report> reports{metrics_report(8, "custom", 1, 0.5),
                                    metrics_report(16, "training", 1, 0.5)};
  const Delivery delivery = run.deliver(reports);
  assert_int_equal(delivery.conflicts.size(), 1);
  assert_true(contains(delivery.conflicts[0], "groups training and validation only"));
  assert_true(contains(run.refused(), "custom"));
  assert_int_equal(run.stored().size(), 1);
}

void report_too_large_for_a_proxy_stops_no_others(void **) {
  Delivering run("0.38.1");
  run.master.add_fault({{"path", "metrics$"}, {"status", 413}, {"body", "<html>too large"}});
  const Delivery delivery = run.deliver(training_reports(3));
  assert_int_equal(delivery.conflicts.size(), 1);
  assert_int_equal(run.stored().size(), 2);
  assert_true(contains(run.refused(), "413"));
}

struct Failure {
  Json fault;
  Code code;
};

Json fault_of(const char *how) {
  Json fault;
  fault["how"] = how;
  return fault;
}

std::vector<Failure> passing_failures() {
  const auto status = [](int number, const char *body) {
    return Json{{"how", "status"}, {"status", number}, {"body", body}};
  };
  return {
      {status(500, "<html>no master wrote this"), Code::unavailable},
      {status(404, "<html>nor this"), Code::unavailable},
      {status(404, R"({"message": "no route of a proxy"})"), Code::unavailable},
      {status(409, R"({"error": {"code": 10, "error": "a race"}})"), Code::unavailable},
      {status(403, R"({"error": {"code": 7, "error": "not yours"}})"), Code::unavailable},
      {status(502, "bad gateway"), Code::unavailable},
      {status(503, R"({"error": {"code": 14, "error": "starting"}})"), Code::unavailable},
      {status(429, ""), Code::busy},
      {status(401, R"({"error": {"code": 16, "error": "invalid credentials"}})"), Code::access},
      {status(200, "[1, 2"), Code::unavailable},
      {fault_of("drop"), Code::unavailable},
      {fault_of("cut"), Code::unavailable},
      {fault_of("garbage"), Code::unavailable},
      {fault_of("truncated-gzip"), Code::unavailable},
      {fault_of("hang"), Code::timeout},
  };
}

// `after`: whether the request that fails was carried out.
void deliver_in_spite_of(const Failure &failure, const std::string &version,
                         const std::string &after) {
  Delivering run(version);
  if (failure.code == Code::timeout) {
    run.patience = std::chrono::milliseconds(2000);
    run.begin();
  }
  Json fault = failure.fault;
  fault["path"] = "metrics$";
  fault["skip"] = 4;
  fault["after"] = after;
  run.master.add_fault(fault);
  const std::vector<Report> reports = training_reports(80);
  const std::string message = expect_error(failure.code, [&] { run.deliver(reports); });
  assert_true(contains(message, run.master.url()));
  assert_false(contains(message, "task-token"));
  assert_true(run.stored().size() < 80);

  assert_true(run.deliver(reports).conflicts.empty());
  assert_equal(run.stored(), all_of(80));
  assert_string_equal(run.refused().c_str(), "");
  assert_int_equal(run.asked("metrics").size(), 81);  // the failed one again, and no other
}

void failures_that_pass_lose_nothing(void **) {
  for (const Failure &failure : passing_failures())
    deliver_in_spite_of(failure, "0.38.1", "before");
}

void answers_that_get_lost_lose_nothing_and_repeat_nothing(void **) {
  for (const std::string version : versions)
    for (const char *how : {"drop", "cut"})
      deliver_in_spite_of({fault_of(how), Code::unavailable}, version, "store");
}

void repeat_of_batch_metrics_counts_as_stored(void **) {
  for (const std::string version : versions) {
    Delivering run(version);
    run.master.add_fault({{"path", "metrics$"}, {"how", "drop"}, {"after", "store"}});
    const std::vector<Report> reports{json_report(8, "training", 1, R"({"loss": 1})", R"([{}])")};
    expect_error(Code::unavailable, [&] { run.deliver(reports); });
    assert_true(run.deliver(reports).conflicts.empty());
    assert_int_equal(run.stored().size(), 1);
    assert_int_equal(run.master.state()["trials"]["7"]["refused_metrics"].size(), 1);
  }
}

// 500 says many things: only "I have it" is taken for that.
void lost_report_that_is_then_refused_is_kept(void **) {
  for (const std::string version : versions) {
    Delivering run(version);
    run.master.add_fault({{"path", "metrics$"}, {"how", "drop"}});
    const std::vector<Report> reports = training_reports(1);
    expect_error(Code::unavailable, [&] { run.deliver(reports); });
    run.master.control("POST", "/test/next-run");  // another process has taken over the trial
    assert_int_equal(run.deliver(reports).conflicts.size(), 1);
    assert_true(contains(run.refused(), "run 2"));
  }
}

void conflict_is_no_repeat(void **) {
  for (const std::string version : versions) {
    Delivering run(version);
    const std::vector<Report> reports{metrics_report(8, "training", 1, 0.5),
                                      metrics_report(16, "training", 1, 0.75)};
    assert_int_equal(run.deliver(reports).conflicts.size(), 1);
    assert_equal(run.stored(), (std::map<int64_t, double>{{1, 0.5}}));  // the first value stays
    assert_true(contains(run.refused(), "0.75"));
  }
}

void another_process_goes_on_where_the_killed_one_was(void **) {
  for (const std::string version : versions) {
    Delivering run(version);
    const std::vector<Report> reports = training_reports(60);
    run.deliver(std::span(reports).first(20));
    // The kill comes between the master's storing and our knowing.
    run.master.add_fault({{"path", "metrics$"}, {"how", "drop"}, {"after", "store"}, {"skip", 3}});
    expect_error(Code::unavailable, [&] { run.deliver(std::span(reports).subspan(20)); });
    run.begin();
    assert_true(run.deliver(reports).conflicts.empty());
    assert_equal(run.stored(), all_of(60));
    assert_string_equal(run.refused().c_str(), "");
    // Only those that were under way are sent again.
    assert_true(run.asked("metrics").size() <= 60 + 32);
    run.begin();
    const size_t before = run.asked("metrics").size();
    run.deliver(reports);
    assert_int_equal(run.asked("metrics").size(), before);
  }
}

void validations_leave_one_after_the_other(void **) {
  Delivering run("0.38.1");
  std::vector<Report> reports = training_reports(12, "validation");
  for (const Report &report : training_reports(12)) {
    reports.push_back(report);
    reports.back().sequence += 12 * 8;
  }
  run.patience = std::chrono::milliseconds(3000);
  run.begin();
  run.master.add_fault({{"path", "metrics$"}, {"how", "hang"}});
  expect_error(Code::timeout, [&] { run.deliver(reports); });
  // Nothing that has to wait for the one that hangs has left.
  assert_int_equal(run.asked("/metrics").size(), 1);

  run.deliver(reports);
  assert_equal(run.stored("validation"), all_of(12));
  assert_equal(run.stored(), all_of(12));
  std::vector<int64_t> order;
  for (const Json &body : run.asked("/metrics"))
    if (body["group"] == "validation") order.push_back(body["metrics"]["stepsCompleted"]);
  order.erase(order.begin());  // the one that hung
  assert_equal(order.size(), 12);
  assert_true(std::ranges::is_sorted(order));
}

void training_does_not_wait_for_training(void **) {
  Delivering run("0.38.1");
  run.patience = std::chrono::milliseconds(3000);
  run.begin();
  run.master.add_fault({{"path", "metrics$"}, {"how", "hang"}});
  expect_error(Code::timeout, [&] { run.deliver(training_reports(2)); });
  assert_int_equal(run.stored().size(), 1);
}

// 0.19 makes a row of training for a validation at a step that has none, and takes no other then.
void old_masters_get_training_before_validation_of_a_step(void **) {
  for (const bool validates_first : {false, true}) {
    Delivering run("0.19.10");
    run.master.add_fault(
        {{"path", "training_metrics$"}, {"how", "delay"}, {"seconds", 0.05}, {"count", 10}});
    std::vector<Report> reports;
    for (int64_t step = 1; step <= 10; ++step)
      for (const bool is_validation : {validates_first, !validates_first})
        reports.push_back(metrics_report(8 * (reports.size() + 1),
                                         is_validation ? "validation" : "training", step,
                                         static_cast<double>(step) / 4));
    const Delivery delivery = run.deliver(reports);
    assert_string_equal(delivery.conflicts.empty() ? "" : delivery.conflicts[0].c_str(), "");
    assert_equal(run.stored(), all_of(10));
    assert_equal(run.stored("validation"), all_of(10));
    assert_int_equal(run.asked("metrics").size(), 20);
  }
}

// What comes back after a moment was no refusal.
void master_without_its_database_refuses_nothing(void **) {
  for (const std::string version : versions) {
    Delivering run(version);
    run.master.add_fault({{"path", "metrics$"}, {"skip", 2}, {"count", 100'000}});
    run.master.add_fault({{"path", "GET /api/v1/trials"}, {"count", 100'000}});
    const std::vector<Report> reports = training_reports(10);
    expect_error(Code::unavailable, [&] { run.deliver(reports); });
    assert_int_equal(run.stored().size(), 2);
    assert_string_equal(run.refused().c_str(), "");
    run.master.heal();
    assert_true(run.deliver(reports).conflicts.empty());
    assert_equal(run.stored(), all_of(10));
  }
}

void each_report_counts_as_soon_as_the_master_has_it(void **) {
  Delivering run("0.38.1");
  std::vector<uint64_t> told;
  run.delivery->on_progress([&](uint64_t below) { told.push_back(below); });
  run.master.add_fault({{"path", "metrics$"}, {"how", "drop"}, {"skip", 3}});
  expect_error(Code::unavailable, [&] { run.deliver(training_reports(10, "validation")); });
  assert_equal(told, (std::vector<uint64_t>{16, 24, 32}));
}

void delivery_ends_when_its_time_is_up(void **) {
  Delivering run("0.38.1");
  std::vector<Report> reports = training_reports(1000);
  run.deliver(std::span(reports).first(2));
  reports.erase(reports.begin(), reports.begin() + 2);
  run.master.add_fault({{"path", "metrics$"}, {"how", "hang"}, {"count", 100'000}});
  const auto stopped = [&](std::chrono::milliseconds after) {
    run.delivery->end_by(std::chrono::steady_clock::now() + after);
    return expect_error(Code::timeout, [&] { run.deliver(reports); });
  };
  assert_true(contains(stopped(std::chrono::milliseconds(300)), "when the time was up"));
  assert_int_equal(run.stored().size(), 2);
  run.master.heal();
  run.master.restart();
  // Not one more, however many there are.
  const size_t before = run.asked("metrics").size();
  stopped(std::chrono::milliseconds(0));
  assert_int_equal(run.asked("metrics").size(), before);
}

void last_status_and_progress_of_a_batch_count(void **) {
  Delivering run("0.38.1");
  std::vector<Report> reports;
  for (uint64_t i = 1; i <= 50; ++i) {
    reports.push_back(progress_report(i * 16, static_cast<double>(i) / 100));
    reports.push_back(text_report(i * 16 + 8, ReportKind::status, i == 50 ? "last" : "earlier"));
  }
  run.deliver(reports);
  const Json trial = run.master.state()["trials"]["7"];
  assert_equal(trial["progress"], Json::array({0.5}));
  assert_equal(trial["statuses"], Json({"last"}));
}

void lines_of_log_share_requests(void **) {
  Delivering run("0.38.1");
  std::vector<Report> reports;
  for (uint64_t i = 1; i <= 2500; ++i)
    reports.push_back(text_report(i * 8, ReportKind::log, "line"));
  run.deliver(reports);
  assert_int_equal(run.asked("/task/logs").size(), 3);
  assert_int_equal(run.master.state()["logs"].size(), 2500);
}

// What answers there may be no master at all: that says nothing about the reports.
void no_report_is_refused_while_the_version_is_unknown(void **) {
  for (const Json &fault :
       {Json{{"status", 501}}, Json{{"status", 400}},
        Json{{"how", "redirect"}, {"to", "http://127.0.0.1:9/login?token=x"}}}) {
    Delivering run("0.38.1");
    Json named = fault;
    named["path"] = "/api/v1/master$";
    run.master.add_fault(named);
    const std::vector<Report> reports = training_reports(3);
    bool has_failed = false;
    try {
      run.deliver(reports);
    } catch (const Error &error) {
      has_failed = contains(error.what(), "/api/v1/master");
    }
    assert_true(has_failed);
    assert_string_equal(run.refused().c_str(), "");
    run.deliver(reports);
    assert_equal(run.stored(), all_of(3));
  }
}

}  // namespace

int test_delivery() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_report_arrives),
      cmocka_unit_test(what_the_profiler_says_goes_to_groups_that_there_are),
      cmocka_unit_test(unmanaged_trials_have_a_way_of_their_own_for_logs_and_progress),
      cmocka_unit_test(late_reports_say_when_they_were_made),
      cmocka_unit_test(each_final_answer_sets_one_report_aside),
      cmocka_unit_test(no_report_is_set_aside_while_the_database_comes_and_goes),
      cmocka_unit_test(report_that_is_refused_for_long_without_a_reason_stops_no_others),
      cmocka_unit_test(checkpoint_is_set_aside_only_by_a_master_that_looked_for_it),
      cmocka_unit_test(what_was_set_aside_is_told_by_a_delivery_that_fails),
      cmocka_unit_test(refused_report_is_kept_and_told_once),
      cmocka_unit_test(report_that_the_master_has_no_place_for_is_kept),
      cmocka_unit_test(report_too_large_for_a_proxy_stops_no_others),
      cmocka_unit_test(failures_that_pass_lose_nothing),
      cmocka_unit_test(answers_that_get_lost_lose_nothing_and_repeat_nothing),
      cmocka_unit_test(repeat_of_batch_metrics_counts_as_stored),
      cmocka_unit_test(lost_report_that_is_then_refused_is_kept),
      cmocka_unit_test(conflict_is_no_repeat),
      cmocka_unit_test(another_process_goes_on_where_the_killed_one_was),
      cmocka_unit_test(validations_leave_one_after_the_other),
      cmocka_unit_test(training_does_not_wait_for_training),
      cmocka_unit_test(old_masters_get_training_before_validation_of_a_step),
      cmocka_unit_test(master_without_its_database_refuses_nothing),
      cmocka_unit_test(each_report_counts_as_soon_as_the_master_has_it),
      cmocka_unit_test(delivery_ends_when_its_time_is_up),
      cmocka_unit_test(last_status_and_progress_of_a_batch_count),
      cmocka_unit_test(lines_of_log_share_requests),
      cmocka_unit_test(no_report_is_refused_while_the_version_is_unknown),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

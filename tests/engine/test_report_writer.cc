#include <cmath>

#include "tests/cmocka.h"
#include "tests/engine/home.h"

namespace det::test {
namespace {

constexpr const char *surviving =
    "SELECT group_concat(run_id || metric_group || steps, ' ') FROM"
    " (SELECT * FROM metrics WHERE archived=0 ORDER BY id)";

void metrics_are_stored_as_json_with_shortest_numbers(void **) {
  const Home home;
  const auto run = home.start();
  deliver(*run, {metrics(1, "training", 10, {{"loss", 0.1}, {"a\"b", 2}})});
  assert_string_equal(home.text("SELECT metrics FROM metrics").c_str(),
                      R"({"loss":0.1,"a\"b":2.0})");
}

void non_finite_values_become_texts(void **) {
  const Home home;
  const auto run = home.start();
  deliver(*run, {metrics(1, "training", 1, {{"a", NAN}, {"b", INFINITY}, {"c", -INFINITY}}),
                 metrics_json(2, "training", 2, R"({"a": NaN, "b": [1, Infinity]})")});
  assert_string_equal(home.text("SELECT metrics FROM metrics WHERE steps=1").c_str(),
                      R"({"a":"NaN","b":"Infinity","c":"-Infinity"})");
  assert_string_equal(home.text("SELECT metrics FROM metrics WHERE steps=2").c_str(),
                      R"({"a":"NaN","b":[1,"Infinity"]})");
}

Report log_line(uint64_t sequence, std::string_view text) {
  Report line;
  line.kind = ReportKind::log;
  line.sequence = sequence;
  line.level = 2;
  line.text = text;
  return line;
}

void a_report_delivered_again_is_stored_once(void **) {
  const Home home;
  const auto run = home.start();
  deliver(*run, {log_line(5, "a"), log_line(9, "b")});
  deliver(*run, {log_line(5, "a"), log_line(9, "b"), log_line(10, "c")});
  assert_string_equal(home.text("SELECT group_concat(text) FROM logs").c_str(), "a,b,c");
}

void the_watermark_belongs_to_one_journal(void **) {
  const Home home;
  const auto run = home.start();
  deliver(*run, {metrics(7, "training", 1, {{"loss", 1}})});
  JournalKey other = journal_of(*run);
  other.journal_id = "another";
  const std::vector<Report> reports{metrics(1, "training", 2, {{"loss", 1}})};
  run->deliver(other, reports);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics"), 2);
}

void an_unknown_trial_is_refused(void **) {
  const Home home;
  const auto run = home.start();
  const std::vector<Report> reports{metrics(1, "training", 1, {{"loss", 1}})};
  assert_code(Code::not_found, run->deliver({99, 1, 0, "j"}, reports));
}

void the_same_value_again_is_no_conflict(void **) {
  const Home home;
  const auto run = home.start();
  const Delivery delivery = deliver(*run, {metrics(1, "training", 1, {{"loss", NAN}, {"acc", 1}}),
                                           metrics(2, "training", 1, {{"loss", NAN}}),
                                           metrics_json(3, "training", 1, R"({"acc": 1})")});
  assert_int_equal(delivery.conflicts.size(), 0);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics"), 1);
}

void another_value_is_a_conflict_and_the_rest_is_stored(void **) {
  const Home home;
  const auto run = home.start();
  const Delivery delivery = deliver(*run, {metrics(1, "training", 1, {{"loss", 1}}),
                                           metrics(2, "training", 1, {{"loss", 2}, {"acc", 3}})});
  assert_int_equal(delivery.conflicts.size(), 1);
  assert_true(contains(delivery.conflicts[0], "\"loss\" was 1.0 and is now 2.0"));
  assert_string_equal(home.text("SELECT metrics FROM metrics ORDER BY id DESC LIMIT 1").c_str(),
                      R"({"acc":3.0})");
}

void a_conflict_is_found_across_deliveries_and_earlier_steps(void **) {
  const Home home;
  const auto run = home.start();
  deliver(*run, {metrics(1, "gpu", 1, {{"load", 1}}), metrics(2, "gpu", 5, {{"load", 5}})});
  assert_int_equal(deliver(*run, {metrics(3, "gpu", 1, {{"load", 2}})}).conflicts.size(), 1);
  assert_int_equal(deliver(*run, {metrics(4, "gpu", 5, {{"load", 2}})}).conflicts.size(), 1);
  assert_int_equal(deliver(*run, {metrics(5, "gpu", 3, {{"load", 2}})}).conflicts.size(), 0);
  assert_int_equal(deliver(*run, {metrics(6, "cpu", 1, {{"load", 2}})}).conflicts.size(), 0);
}

void a_conflict_is_found_when_another_connection_wrote(void **) {
  const Home home;
  const auto run = home.start();
  deliver(*run, {metrics(1, "training", 1, {{"loss", 1}})});
  home.look().run(
      "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics)"
      " VALUES (1, 1, 'training', 7, 0, '{\"loss\":7.0}')");
  assert_int_equal(deliver(*run, {metrics(2, "training", 7, {{"loss", 8}})}).conflicts.size(), 1);
}

void a_conflict_is_found_within_a_delivery(void **) {
  const Home home;
  const auto run = home.start();
  const Delivery delivery =
      deliver(*run, {metrics(1, "gpu", 1, {{"load", 1}}), metrics(2, "gpu", 5, {{"load", 5}}),
                     metrics(3, "gpu", 1, {{"load", 2}})});
  assert_int_equal(delivery.conflicts.size(), 1);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics"), 2);
}

void a_conflict_is_found_behind_a_rollback_of_the_same_delivery(void **) {
  const Home home;
  auto run = home.start();
  deliver(*run, {metrics(1, "training", 10, {{"a", 1}}), metrics(2, "training", 15, {{"a", 1}})});
  run->end_run(engine::RunEnd::ok);
  run = home.resume(1);
  const Delivery delivery =
      deliver(*run, {metrics(1, "training", 20, {{"a", 2}}), metrics(2, "gpu", 10, {{"a", 2}}),
                     metrics(3, "training", 20, {{"a", 3}})});
  assert_int_equal(delivery.conflicts.size(), 1);
  assert_string_equal(home.text(surviving).c_str(), "1training10 2training20 2gpu10");
}

void many_reports_are_stored_in_order(void **) {
  const Home home;
  const auto run = home.start();
  const std::string large = R"({"a": ")" + std::string(300'000, 'x') + R"("})";
  std::vector<Report> reports;
  for (uint64_t i = 1; i <= 100; ++i) {
    const auto step = static_cast<int64_t>(i);
    if (i == 40) reports.push_back(metrics_json(i, "training", step, large, R"([{"b": 1}])"));
    else if (i == 50) reports.push_back(metrics(i, "validation", step, {{"a", 1}}));
    else reports.push_back(metrics(i, "training", step, {{"a", static_cast<double>(i)}}));
  }
  deliver(*run, reports);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics WHERE id=steps"), 100);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics WHERE metrics='{\"a\":' || steps || "
                              "'.0}' AND batches IS NULL"),
                   98);
  assert_int_equal(home.count("SELECT steps FROM metrics WHERE batches='[{\"b\":1}]'"), 40);
  assert_int_equal(home.count("SELECT length(metrics) FROM metrics WHERE steps=40"), 300'008);
  assert_int_equal(home.count("SELECT steps FROM metrics WHERE metric_group='validation'"), 50);
}

void batches_given_twice_are_a_conflict(void **) {
  const Home home;
  const auto run = home.start();
  const Delivery delivery =
      deliver(*run, {metrics_json(1, "training", 1, "{}", R"([{"loss": 1}])"),
                     metrics_json(2, "training", 1, R"({"acc": 1})", R"([{"loss": 1}])"),
                     metrics_json(3, "training", 1, R"({"x": 1})", "[]")});
  assert_int_equal(delivery.conflicts.size(), 1);
  assert_int_equal(home.count("SELECT COUNT(batches) FROM metrics"), 1);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics"), 3);
}

void a_report_that_cannot_be_read_does_not_stop_the_others(void **) {
  const Home home;
  const auto run = home.start();
  const Delivery delivery = deliver(
      *run, {metrics_json(1, "training", 1, "{"), metrics(2, "training", 2, {{"loss", 1}})});
  assert_int_equal(delivery.conflicts.size(), 1);
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics"), 1);
}

void the_last_status_and_progress_stay(void **) {
  const Home home;
  const auto run = home.start();
  Report first, second, progress;
  first.kind = second.kind = ReportKind::status;
  first.sequence = 1;
  first.text = "training";
  second.sequence = 2;
  second.text = "validating";
  progress.kind = ReportKind::progress;
  progress.sequence = 3;
  progress.number = 0.25;
  deliver(*run, {first, second, progress});
  assert_string_equal(home.text("SELECT status || ' ' || progress FROM trials").c_str(),
                      "validating 0.25");
}

void log_lines_are_kept(void **) {
  const Home home;
  const auto run = home.start();
  deliver(*run, {log_line(1, "careful")});
  assert_string_equal(home.text("SELECT level || text FROM logs").c_str(), "2careful");
}

void a_later_run_archives_what_it_does_again(void **) {
  const Home home;
  auto run = home.start();
  deliver(*run, {metrics(1, "training", 10, {{"a", 1}}), metrics(2, "training", 20, {{"a", 1}}),
                 metrics(3, "validation", 20, {{"a", 1}}), metrics(4, "gpu", 20, {{"a", 1}}),
                 metrics(5, "gpu", 21, {{"a", 1}}), metrics(6, "validation", 30, {{"a", 1}})});
  run->end_run(engine::RunEnd::ok);
  run = home.resume(1);
  // Training from 20 on; in other groups what lies behind 20.
  deliver(*run, {metrics(1, "training", 20, {{"a", 2}})});
  assert_string_equal(home.text(surviving).c_str(), "1training10 1validation20 1gpu20 2training20");
  deliver(*run, {metrics(2, "validation", 20, {{"a", 2}})});
  assert_string_equal(home.text(surviving).c_str(), "1training10 1gpu20 2training20 2validation20");
}

void other_groups_count_as_one_group(void **) {
  const Home home;
  auto run = home.start();
  deliver(*run, {metrics(1, "gpu", 20, {{"a", 1}}), metrics(2, "training", 20, {{"a", 1}})});
  run->end_run(engine::RunEnd::ok);
  run = home.resume(1);
  deliver(*run, {metrics(1, "cpu", 20, {{"a", 2}})});
  assert_string_equal(home.text(surviving).c_str(), "1training20 2cpu20");
}

void a_journal_shipped_late_is_archived_as_if_it_had_come_in_time(void **) {
  const Home home;
  auto run = home.start();
  const JournalKey first = journal_of(*run);
  run->end_run(engine::RunEnd::ok);
  run = home.resume(1);
  deliver(*run, {metrics(1, "training", 20, {{"a", 2}})});
  const std::vector<Report> late{
      metrics(1, "training", 10, {{"a", 1}}), metrics(2, "training", 20, {{"a", 1}}),
      metrics(3, "validation", 20, {{"a", 1}}), metrics(4, "validation", 30, {{"a", 1}})};
  assert_int_equal(run->deliver(first, late).conflicts.size(), 0);
  assert_string_equal(home.text(surviving).c_str(), "2training20 1training10 1validation20");
  assert_int_equal(home.count("SELECT COUNT(*) FROM metrics"), 5);
}

void a_late_status_does_not_replace_a_newer_one(void **) {
  const Home home;
  auto run = home.start();
  const JournalKey first = journal_of(*run);
  run->end_run(engine::RunEnd::ok);
  run = home.resume(1);
  Report status;
  status.kind = ReportKind::status;
  status.sequence = 1;
  status.text = "new";
  deliver(*run, {status});
  status.text = "old";
  run->deliver(first, std::vector<Report>{status});
  assert_string_equal(home.text("SELECT status FROM trials").c_str(), "new");
}

void a_checkpoint_that_waited_is_recorded_once(void **) {
  const Home home;
  const auto run = home.start();
  const auto told = [&](const std::string &id, const Json &steps, uint64_t sequence) {
    const std::string packed = pack(engine::to_json(
        engine::CheckpointReport{id, {{"steps_completed", steps}}, {{"a", 3}}, Json::object()}));
    Report report;
    report.kind = ReportKind::checkpoint;
    report.sequence = sequence;
    report.text = packed;
    return deliver(*run, {report}).conflicts;
  };
  assert_int_equal(told("a", 30, 1).size(), 0);
  assert_int_equal(told("a", 30, 2).size(), 0);  // its answer had got lost
  assert_string_equal(
      home.text("SELECT group_concat(uuid || steps || state || size) FROM checkpoints").c_str(),
      "a30COMPLETED3");
  const std::vector<std::string> wrong = told("b", "many", 3);
  assert_int_equal(wrong.size(), 1);
  assert_true(contains(wrong[0], "checkpoint b"));
}

}  // namespace
}  // namespace det::test

int test_report_writer() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(metrics_are_stored_as_json_with_shortest_numbers),
      cmocka_unit_test(non_finite_values_become_texts),
      cmocka_unit_test(a_report_delivered_again_is_stored_once),
      cmocka_unit_test(the_watermark_belongs_to_one_journal),
      cmocka_unit_test(an_unknown_trial_is_refused),
      cmocka_unit_test(the_same_value_again_is_no_conflict),
      cmocka_unit_test(another_value_is_a_conflict_and_the_rest_is_stored),
      cmocka_unit_test(a_conflict_is_found_across_deliveries_and_earlier_steps),
      cmocka_unit_test(a_conflict_is_found_when_another_connection_wrote),
      cmocka_unit_test(a_conflict_is_found_within_a_delivery),
      cmocka_unit_test(a_conflict_is_found_behind_a_rollback_of_the_same_delivery),
      cmocka_unit_test(many_reports_are_stored_in_order),
      cmocka_unit_test(batches_given_twice_are_a_conflict),
      cmocka_unit_test(a_report_that_cannot_be_read_does_not_stop_the_others),
      cmocka_unit_test(the_last_status_and_progress_stay),
      cmocka_unit_test(log_lines_are_kept),
      cmocka_unit_test(a_later_run_archives_what_it_does_again),
      cmocka_unit_test(other_groups_count_as_one_group),
      cmocka_unit_test(a_journal_shipped_late_is_archived_as_if_it_had_come_in_time),
      cmocka_unit_test(a_late_status_does_not_replace_a_newer_one),
      cmocka_unit_test(a_checkpoint_that_waited_is_recorded_once),
  };
  return cmocka_run_group_tests_name("report_writer", tests, nullptr, nullptr);
}

#include "core/client/embedded_client.h"
#include "tests/cmocka.h"
#include "tests/master/home.h"

namespace det::test {
namespace {

CheckpointReport checkpoint(const std::string &id, int64_t steps) {
  return {id, Json{{"steps_completed", steps}}, {{"weights", 100}}, Json{{"type", "directory"}}};
}

std::string keys_of(const Json &object) {
  std::string keys;
  for (const auto &[key, value] : object.items()) keys += (keys.empty() ? "" : " ") + key;
  return keys;
}

// A trial that was paused once and then completed, with something of everything.
void fill(const Home &home) {
  auto run = home.start(Json{{"searcher", {{"metric", "loss"}, {"max_length", 20}}},
                             {"hyperparameters", {{"lr", 0.5}}}});
  Report line;
  line.kind = ReportKind::log;
  line.sequence = 3;
  line.level = 2;
  line.text = "careful";
  deliver(*run, {metrics(1, "training", 10, {{"loss", 1}}),
                 metrics_json(2, "validation", 10, R"({"loss": NaN})", R"([{"b": 1}])"), line});
  run->report_checkpoint(checkpoint("first", 10));
  run->note_preemption("SIGTERM");
  run->acknowledge_preemption();
  run->end_run(RunEnd::ok);
  run = home.resume(1);
  deliver(*run, {metrics(1, "training", 20, {{"loss", 0.5}, {"lr", 1}}),
                 metrics(2, "validation", 20, {{"loss", 0.25}})});
  run->report_checkpoint(checkpoint("second", 20));
  run->complete_operation(20, 0.25);
  run->end_run(RunEnd::ok);
}

void a_store_that_is_not_there_is_not_found(void **) {
  const Home home;
  std::string message;
  assert_int_equal(static_cast<int>(code_of([&] { open_client(home.path()); }, &message)),
                   static_cast<int>(Code::not_found));
  assert_true(contains(message, "no store at"));
}

void an_empty_store_has_empty_lists(void **) {
  const Home home;
  open_store(home.store(), true, {});
  const auto client = open_client(home.path());
  assert_string_equal(to_wire(client->list_experiments({})).c_str(),
                      R"({"experiments":[],"next":null})");
  assert_string_equal(to_wire(client->list_trials(0, {})).c_str(), R"({"trials":[],"next":null})");
  assert_string_equal(to_wire(client->list_checkpoints(0, {})).c_str(),
                      R"({"checkpoints":[],"next":null})");
  assert_string_equal(to_wire(client->sync()).c_str(), R"({"spools":[],"busy":0})");
}

void experiments_are_listed_and_shown(void **) {
  const Home home;
  fill(home);
  const auto client = open_client(home.path());
  const Json entry = client->list_experiments({}).at("experiments").at(0);
  assert_string_equal(keys_of(entry).c_str(),
                      "id name state progress trials best_metric start_time end_time");
  assert_string_equal(entry.at("state").get<std::string>().c_str(), "COMPLETED");
  assert_true(entry.at("best_metric") == 0.25);
  assert_true(entry.at("progress") == 1.0);
  const Json experiment = client->get_experiment(1);
  assert_string_equal(experiment.at("config").at("searcher").dump().c_str(),
                      R"({"metric":"loss","max_length":20})");
  assert_int_equal(experiment.at("trials").size(), 1);
}

void a_trial_is_shown_with_all_there_is(void **) {
  const Home home;
  fill(home);
  const auto client = open_client(home.path());
  const Json entry = client->list_trials(1, {}).at("trials").at(0);
  assert_string_equal(keys_of(entry).c_str(),
                      "id experiment_id name external_id state status progress steps_completed "
                      "best_metric runs start_time end_time");
  assert_true(entry.at("steps_completed") == 20 && entry.at("runs") == 2);
  const Json trial = client->get_trial(1);
  assert_string_equal(trial.at("hparams").dump().c_str(), R"({"lr":0.5})");
  assert_int_equal(trial.at("runs").size(), 2);
  assert_true(trial.at("runs")[0].at("exit") == "preempted");
  assert_true(trial.at("runs")[1].at("state") == "ended");
  assert_true(trial.at("operations")[0].at("completed") == true);
  assert_true(trial.at("operations")[0].at("metric") == 0.25);
  assert_true(trial.at("latest_checkpoint").at("uuid") == "second");
  assert_string_equal(trial.at("metric_names").dump().c_str(),
                      R"({"training":["loss","lr"],"validation":["loss"]})");
  assert_true(trial.at("waiting") == 0);
  assert_string_equal(
      trial.at("resume").get<std::string>().c_str(),
      ("DET_TRIAL_ID=1 DET_HOME=" + home.path().string() + " ./digits --fast").c_str());
}

void a_run_is_running_as_long_as_its_process(void **) {
  const Home home;
  const auto run = home.start();
  const auto client = open_client(home.path());
  assert_true(client->get_trial(1).at("runs")[0].at("state") == "running");
}

void reports_are_listed_in_order_by_group_and_page(void **) {
  const Home home;
  fill(home);
  const auto client = open_client(home.path());
  const Json all = client->list_metrics(1, std::nullopt, {});
  assert_int_equal(all.at("metrics").size(), 4);
  assert_true(all.at("next").is_null());
  const Json first = all.at("metrics")[1];
  assert_string_equal(keys_of(first).c_str(),
                      "group steps_completed trial_run_id time metrics batch_metrics");
  assert_string_equal(first.at("metrics").dump().c_str(), R"({"loss":"NaN"})");
  assert_string_equal(first.at("batch_metrics").dump().c_str(), R"([{"b":1}])");

  assert_int_equal(client->list_metrics(1, "training", {}).at("metrics").size(), 2);
  Page page;
  page.limit = 3;
  const Json part = client->list_metrics(1, std::nullopt, page);
  assert_int_equal(part.at("metrics").size(), 3);
  page.after = part.at("next").get<int64_t>();
  const Json rest = client->list_metrics(1, std::nullopt, page);
  assert_int_equal(rest.at("metrics").size(), 1);
  assert_true(rest.at("next").is_null());
  page = {0, 1, true};
  assert_true(client->list_metrics(1, std::nullopt, page).at("metrics")[0].at("steps_completed") ==
              20);
}

void checkpoints_are_listed_newest_first_and_shown(void **) {
  const Home home;
  fill(home);
  const auto client = open_client(home.path());
  Page page;
  page.descending = true;
  page.limit = 1;
  Json list = client->list_checkpoints(1, page);
  assert_true(list.at("checkpoints")[0].at("uuid") == "second");
  page.after = list.at("next").get<int64_t>();
  list = client->list_checkpoints(0, page);
  assert_true(list.at("checkpoints")[0].at("uuid") == "first");
  assert_true(list.at("next").is_null());
  const Json shown = client->get_checkpoint("first");
  assert_string_equal(keys_of(shown).c_str(),
                      "uuid trial_id trial_run_id steps_completed state size time metadata "
                      "resources storage");
  assert_true(shown.at("storage").at("type") == "directory");
}

void log_lines_are_listed(void **) {
  const Home home;
  fill(home);
  const auto client = open_client(home.path());
  const Json line = client->list_logs(1, {}).at("logs").at(0);
  assert_string_equal(keys_of(line).c_str(), "time level rank trial_run_id text");
  assert_true(line.at("level") == "warning" && line.at("text") == "careful");
}

void unknown_ids_are_not_found(void **) {
  const Home home;
  fill(home);
  const auto client = open_client(home.path());
  assert_code(Code::not_found, client->get_experiment(9));
  assert_code(Code::not_found, client->get_trial(9));
  assert_code(Code::not_found, client->get_checkpoint("../first"));
  assert_code(Code::not_found, client->list_metrics(9, std::nullopt, {}));
  assert_code(Code::not_found, client->list_logs(9, {}));
  assert_code(Code::not_found, client->control(Target::trial, 9, Action::pause));
  assert_code(Code::not_found, client->control(Target::experiment, 9, Action::kill));
}

}  // namespace
}  // namespace det::test

int main() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_store_that_is_not_there_is_not_found),
      cmocka_unit_test(an_empty_store_has_empty_lists),
      cmocka_unit_test(experiments_are_listed_and_shown),
      cmocka_unit_test(a_trial_is_shown_with_all_there_is),
      cmocka_unit_test(a_run_is_running_as_long_as_its_process),
      cmocka_unit_test(reports_are_listed_in_order_by_group_and_page),
      cmocka_unit_test(checkpoints_are_listed_newest_first_and_shown),
      cmocka_unit_test(log_lines_are_listed),
      cmocka_unit_test(unknown_ids_are_not_found),
  };
  return cmocka_run_group_tests_name("client", tests, nullptr, nullptr);
}

// Steering what a master schedules, and answers that are none.
#include "tests/client/replayed.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::client;

Json experiment_is(const char *state, int64_t trials = 1) {
  return answered("/api/v1/experiments/8",
                  {{"experiment", {{"id", 8}, {"state", state}, {"numTrials", trials}}}});
}

Json trial_is(const char *state) {
  return answered("/api/v1/trials/15",
                  {{"trial", {{"id", 15}, {"experimentId", 8}, {"state", state}}}});
}

// The request that makes them `state`.
Json making(const std::string &path, const char *state) {
  return {{"method", "POST"},
          {"path", path},
          {"status", 200},
          {"response", Json::object()},
          {"then", {experiment_is(state), trial_is(state)}}};
}

void each_action_is_a_request_of_its_own(void **) {
  const std::tuple<engine::Action, const char *, const char *> actions[] = {
      {engine::Action::pause, "pause", "STATE_PAUSED"},
      {engine::Action::activate, "activate", "STATE_ACTIVE"},
      {engine::Action::cancel, "cancel", "STATE_STOPPING_CANCELED"},
      {engine::Action::kill, "kill", "STATE_STOPPING_KILLED"},
  };
  for (const char *version : {"cli-0.38.1", "cli-0.33.0", "cli-0.19.10"})
    for (const auto &[action, verb, state] : actions)
      for (const engine::Target target : {engine::Target::experiment, engine::Target::trial}) {
        // The only trial of an experiment is steered as that, but killed by itself.
        const bool is_own = target == engine::Target::trial && action == engine::Action::kill;
        const std::string path =
            std::string(is_own ? "/api/v1/trials/15/" : "/api/v1/experiments/8/") + verb;
        Replayed master(version, {experiment_is("STATE_RUNNING"), trial_is("STATE_RUNNING"),
                                  making(path, state)});
        const int64_t id = target == engine::Target::trial ? 15 : 8;
        const Json answer = master.client().control(target, id, action);
        assert_string_equal(("STATE_" + answer.at("state").get<std::string>()).c_str(), state);
        assert_true(answer.at("signalled").is_null() && answer.at("resume").is_null());
      }
}

Json noted(const char *state, bool archived, const char *name) {
  return answered(
      "/api/v1/experiments/8",
      {{"experiment",
        {{"id", 8}, {"state", state}, {"name", name}, {"labels", {"a"}}, {"archived", archived}}}});
}

Json request(const char *method, const std::string &path, Json then, int status = 200) {
  return {{"method", method},
          {"path", "/api/v1/experiments/8" + path},
          {"status", status},
          {"response", Json::object()},
          {"then", {std::move(then)}}};
}

void what_is_noted_goes_to_the_master(void **) {
  const char *done = "STATE_COMPLETED";
  for (const char *version : {"cli-0.38.1", "cli-0.33.0", "cli-0.19.10"}) {
    Replayed master(version,
                    {noted(done, false, "old"), request("PATCH", "", noted(done, false, "new")),
                     request("POST", "/archive", noted(done, true, "old")),
                     request("POST", "/unarchive", noted(done, false, "back"))});
    RestClient &client = master.client();
    assert_equal(client.update_experiment(8, Json::object()).at("name"), "old");
    assert_equal(client.update_experiment(8, {{"archived", false}}).at("name"), "old");
    assert_equal(client.update_experiment(8, {{"archived", true}}).at("archived"), true);
    assert_equal(client.update_experiment(8, {{"archived", false}}).at("name"), "back");
    const Json entry = client.update_experiment(8, {{"name", "new"}, {"tags", {"a"}}});
    assert_equal(entry.at("name"), "new");
    assert_equal(entry.at("tags"), (Json{"a"}));
    expect_error(Code::invalid, [&] { client.update_experiment(8, {{"tags", "a"}}); });
    expect_error(Code::not_found, [&] { client.update_experiment(4711, {{"name", "x"}}); });
  }
  Replayed running("cli-0.38.1", {noted("STATE_RUNNING", false, "old")});
  expect_error(Code::state, [&] { running.client().update_experiment(8, {{"archived", true}}); });
}

void a_master_deletes_what_is_over(void **) {
  for (const char *state : {"STATE_COMPLETED", "STATE_DELETE_FAILED"}) {
    Replayed master("cli-0.38.1", {noted(state, false, "old"),
                                   request("DELETE", "", noted("STATE_DELETING", false, "old"))});
    assert_string_equal(master.client().delete_experiment(8).dump().c_str(),
                        R"({"experiment_id":8,"state":"DELETING","checkpoints":null,"size":null})");
    assert_equal(master.client().describe_experiment(8).at("state"), "DELETING");
    assert_equal(master.client().delete_experiment(8).at("state"), "DELETING");
  }
  Replayed running("cli-0.38.1", {noted("STATE_RUNNING", false, "old")});
  expect_error(Code::state, [&] { running.client().delete_experiment(8); });
  expect_error(Code::not_found, [&] { running.client().delete_experiment(4711); });
}

void one_of_several_trials_can_only_be_killed(void **) {
  Replayed master("cli-0.38.1", {experiment_is("STATE_RUNNING", 2), trial_is("STATE_RUNNING"),
                                 making("/api/v1/trials/15/kill", "STATE_CANCELED")});
  for (const engine::Action action :
       {engine::Action::pause, engine::Action::activate, engine::Action::cancel})
    assert_true(
        contains(expect_error(Code::unsupported,
                              [&] { master.client().control(engine::Target::trial, 15, action); }),
                 "use -e 8"));
  assert_equal(master.client().control(engine::Target::trial, 15, engine::Action::kill).at("state"),
               "CANCELED");
}

void what_is_over_stays_as_it_is(void **) {
  Replayed master("cli-0.38.1");
  for (const engine::Target target : {engine::Target::experiment, engine::Target::trial}) {
    for (const engine::Action action : {engine::Action::pause, engine::Action::activate})
      assert_true(
          contains(expect_error(Code::state, [&] { master.client().control(target, 1, action); }),
                   "it is COMPLETED"));
    for (const engine::Action action : {engine::Action::cancel, engine::Action::kill}) {
      const Json answer = master.client().control(target, 1, action);
      assert_equal(answer.at("state"), "COMPLETED");
      assert_equal(answer.at("signalled"), 0);
    }
  }
}

void what_the_master_does_not_schedule_is_not_steered(void **) {
  Replayed master("cli-0.38.1", {experiment_is("STATE_PAUSED")});
  assert_true(contains(expect_error(Code::state,
                                    [&] {
                                      master.client().control(engine::Target::experiment, 8,
                                                              engine::Action::activate);
                                    }),
                       "does not schedule it"));
}

void a_refusal_by_the_master_is_told(void **) {
  Replayed master(
      "cli-0.38.1",
      {experiment_is("STATE_RUNNING"),
       {{"method", "POST"},
        {"path", "/api/v1/experiments/8/pause"},
        {"status", 400},
        {"response",
         {{"error", {{"code", 9}, {"reason", "FailedPrecondition"}, {"error", "busy"}}}}}}});
  assert_true(contains(expect_error(Code::state,
                                    [&] {
                                      master.client().control(engine::Target::experiment, 8,
                                                              engine::Action::pause);
                                    }),
                       "pausing the experiment: the master answered 400 FailedPrecondition: busy"));
}

void a_token_that_is_not_good_says_to_log_in(void **) {
  Replayed master("cli-0.38.1");
  const auto stranger = master.connect("another");
  const std::string error = expect_error(Code::access, [&] { stranger->list_experiments({}); });
  assert_true(contains(error, "401") && contains(error, "run `det login`"));
  assert_false(contains(error, "another"));
}

// Whatever a master answers, it is an error that names the call, or an answer.
void answers_that_are_none_are_errors(void **) {
  const Json good = {{"trial", {{"id", 1}, {"experimentId", 1}, {"state", "STATE_ERROR"}}}};
  std::vector<Json> bad = {{{"$raw", ""}},
                           {{"$raw", "<html>"}},
                           {{"$raw", "[]"}},
                           {{"$raw", "null"}},
                           {{"trial", nullptr}},
                           {{"trial", 3}},
                           {{"$raw", "{\"trial\":{\"id\":1"}}};
  for (const char *key : {"id", "experimentId", "state"})
    for (const Json &value : {Json(), Json("x"), Json(1.5), Json::object()}) {
      bad.push_back(good);
      bad.back()["trial"][key] = value;
    }
  for (const auto &[key, value] : {std::pair("summaryMetrics", Json("x")),
                                   {"bestValidation", Json::array()},
                                   {"startTime", Json("today")},
                                   {"totalBatchesProcessed", Json(-0.5)}}) {
    bad.push_back(good);
    bad.back()["trial"][key] = value;
  }
  for (const Json &response : bad) {
    Replayed master("cli-0.38.1", {answered("/api/v1/trials/1", response)});
    const std::string error = expect_error(Code::corrupt, [&] { master.client().get_trial(1); });
    assert_true(contains(error, "asking for the trial") && contains(error, "127.0.0.1"));
  }
}

// Also those that the codec lets through as they are.
void odd_values_inside_are_taken_for_nothing(void **) {
  for (const Json &odd : {Json(), Json(3), Json("x"), Json::array(), Json{{"searcher", 3}},
                          Json{{"searcher", {{"metric", 7}}}}, Json{{"checkpoint_storage", {}}}}) {
    const Json metrics{{"avgMetrics", odd}, {"batchMetrics", odd}};
    const Json report{{"totalBatches", 1}, {"endTime", nullptr}, {"metrics", metrics}};
    const Json trial{
        {"id", 1},        {"experimentId", 1},        {"state", "STATE_ERROR"},
        {"hparams", odd}, {"bestValidation", report}, {"summaryMetrics", {{"avg_metrics", odd}}}};
    const Json pagination{{"endIndex", 1}, {"total", 1}};
    Replayed master(
        "cli-0.38.1",
        {answered("/api/v1/trials/1", {{"trial", trial}}),
         answered("/api/v1/experiments/1",
                  {{"experiment", {{"id", 1}, {"config", odd}, {"numTrials", 1}}}}),
         answered("/api/v1/trials/1/workloads",
                  {{"$raw", Json{{"workloads", {{{"training", report}}, Json::object()}},
                                 {"pagination", pagination}}
                                .dump()}})});
    assert_equal(master.client().get_trial(1).at("id"), 1);
    const Json reports = master.client().list_metrics(1, std::nullopt, {});
    assert_true(reports.at("metrics").at(0).at("metrics").is_object());
  }
}

// A total that is too large must not make a walk endless.
void a_list_ends_where_nothing_comes(void **) {
  const Json pagination{{"endIndex", 1}, {"total", 1000}};
  const std::string list = Json{{"experiments", Json::array()}, {"pagination", pagination}}.dump();
  Replayed master("cli-0.38.1", {answered("/api/v1/experiments", {{"$raw", list}})});
  assert_true(master.client().list_experiments({}).at("next").is_null());
  assert_true(master.client().list_trials(0, {}).at("next").is_null());
}

}  // namespace

int test_rest_control() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(each_action_is_a_request_of_its_own),
      cmocka_unit_test(what_is_noted_goes_to_the_master),
      cmocka_unit_test(a_master_deletes_what_is_over),
      cmocka_unit_test(one_of_several_trials_can_only_be_killed),
      cmocka_unit_test(what_is_over_stays_as_it_is),
      cmocka_unit_test(what_the_master_does_not_schedule_is_not_steered),
      cmocka_unit_test(a_refusal_by_the_master_is_told),
      cmocka_unit_test(a_token_that_is_not_good_says_to_log_in),
      cmocka_unit_test(answers_that_are_none_are_errors),
      cmocka_unit_test(odd_values_inside_are_taken_for_nothing),
      cmocka_unit_test(a_list_ends_where_nothing_comes),
  };
  return cmocka_run_group_tests_name("rest_control", tests, nullptr, nullptr);
}

// Whatever comes in place of a message: understood, or an error that names the call and the field.
#include <fstream>

#include "tests/cmocka.h"
#include "tests/codec/calls.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::codec;

constexpr WireVersion newest = WireVersion::v0_38;

template <class Call>
void bad_answer(const char *body, const char *field) {
  const std::string error = expect_error(Code::corrupt, [&] {
    read_response<Call>({200, body}, WireVersion::v0_33);
  });
  assert_true(contains(error, Call::route.what));
  if (!contains(error, field)) fail_msg("%s", error.c_str());
}

template <class Call>
void bad_request(const char *path, const char *body, const char *field) {
  const std::string error = expect_error(Code::invalid, [&] {
    if (!read_request<Call>({Call::route.method, path, "", body}, newest))
      fail_msg("%s is not read", path);
  });
  assert_true(contains(error, Call::route.what));
  if (!contains(error, field)) fail_msg("%s", error.c_str());
}

void answers_name_the_field_that_is_wrong(void **) {
  bad_answer<GetMaster>(R"({"version":3,"clusterId":"c"})", "'version' must be a text");
  bad_answer<GetMaster>(R"({"version":"0.38.1"})", "'clusterId' is missing");
  bad_answer<GetMe>(R"({"user":{"id":1,"username":"u","admin":1}})", "'user.admin'");
  bad_answer<PollPreemption>("{}", "'preempt' is missing");
  bad_answer<PollPreemption>(R"({"preempt":null})", "'preempt' is missing");
  bad_answer<PollPreemption>(R"({"preempt":"true"})", "'preempt' must be true or false");
  bad_answer<GetOperation>(R"({"completed":false})", "'op' is missing");
  bad_answer<GetOperation>(R"({"completed":false,"op":{"validateAfter":{"length":"-1"}}})",
                           "'op.validateAfter.length'");
  bad_answer<GetOperation>(R"({"op":{"validateAfter":[]},"completed":false})",
                           "'op.validateAfter'");
  bad_answer<GetBestValidation>(R"({"metric":"nan"})", "'metric'");
  bad_answer<StartRun>(R"({"storageId":1.5})", "'storageId'");
  bad_answer<StartRun>(R"({"storageId":18446744073709551615})", "'storageId'");
  bad_answer<StartRun>(R"({"storageId":"1e3"})", "'storageId'");
  bad_answer<GetRendezvous>(R"({"rendezvousInfo":{"addresses":["a",1],"rank":0}})",
                            "'rendezvousInfo.addresses[1]'");
  bad_answer<GetTrial>(R"({"trial":{"id":1,"experimentId":1,"state":"STATE_NEW"}})",
                       "'trial.state' must be one of");
  bad_answer<GetTrial>(R"({"trial":{"id":1,"experimentId":1,"state":14}})", "'trial.state'");
  bad_answer<GetTrial>(
      R"({"trial":{"id":1,"experimentId":1,"state":"STATE_ERROR","startTime":"yesterday"}})",
      "'trial.startTime'");
  bad_answer<GetCheckpoint>(R"({"checkpoint":{"uuid":"u","resources":{"a":"x"}}})",
                            "'checkpoint.resources.a'");
  bad_answer<GetCheckpoint>(R"({"checkpoint":{"uuid":"u","metadata":[]}})",
                            "'checkpoint.metadata'");
}

void answers_that_are_no_object_do_not_confirm(void **) {
  for (const char *body :
       {"", " ", "[]", "3", "\"\"", "{", "{} {}", "<html>", "\x80", "{\"a\":NaN}"})
    bad_answer<ReportMetrics>(body, "");
  read_response<ReportMetrics>({200, R"({"new":{"in":"0.39"}})"}, newest);
}

void lists_and_parts_name_the_field_that_is_wrong(void **) {
  bad_answer<ListTrials>(R"({"trials":[]})", "'pagination' is missing");
  bad_answer<ListTrials>(R"({"trials":{},"pagination":{"endIndex":0,"total":0}})",
                         "'trials' must be a list");
  bad_answer<ListTrials>(R"({"trials":[{"id":1}],"pagination":{"endIndex":0,"total":0}})",
                         "'trials[0].experimentId' is missing");
  bad_answer<ListExperiments>(R"({"experiments":[],"pagination":{"endIndex":0,"total":"x"}})",
                              "'pagination.total'");
  bad_answer<ListTrialLogs>("{\"result\":{\"id\":\"1\"}}\n{\"result\":{\"id\":2}}\n",
                            "'lines[1].id' must be a text");
  bad_answer<ListTrialLogs>("{\"result\":{\"id\":\"1\"}}\n{\"result\":", "not valid JSON");
  for (const char *line : {"{}", "{\"result\":null}", "{\"result\":3}", "{\"error\":\"x\"}"})
    bad_answer<ListReports>(line, "neither a 'result' nor an 'error'");
}

void a_refusal_amid_parts_is_told(void **) {
  const std::string error = expect_error(Code::not_found, [] {
    read_response<ListTrialLogs>({200,
                                  "{\"result\":{\"id\":\"1\"}}\n"
                                  R"({"error":{"grpc_code":5,"http_code":404,"message":"gone"}})"},
                                 newest);
  });
  assert_true(contains(error, "reading the trial's log: the master answered 404: gone"));
}

void requests_name_the_field_that_is_wrong(void **) {
  bad_request<Login>("/api/v1/auth/login", "", "'username' is missing");
  bad_request<StartTrial>("/api/v1/trials/1.5/start", "", "'trial'");
  bad_request<StartTrial>("/api/v1/trials/x/start", "{}", "'trial'");
  bad_request<ReportMetrics>("/api/v1/trials/1/metrics", R"({"group":"a.b"})", "'group'");
  bad_request<ReportMetrics>("/api/v1/trials/1/metrics", R"({"group":"a"})", "'metrics'");
  bad_request<ReportMetrics>("/api/v1/trials/1/metrics",
                             R"({"group":"a","metrics":{"metrics":{"avgMetrics":[]}}})",
                             "'metrics.metrics.avgMetrics'");
  bad_request<ReportMetrics>(
      "/api/v1/trials/1/metrics",
      R"({"group":"a","metrics":{"metrics":{"avgMetrics":{},"batchMetrics":[1]}}})",
      "'metrics.metrics.batchMetrics'");
  bad_request<ReportCheckpoint>("/api/v1/checkpoints",
                                R"({"uuid":"u","metadata":{"steps_completed":12.5}})",
                                "'metadata.steps_completed' must be an integer");
  bad_request<PatchCheckpoints>("/api/v1/checkpoints",
                                R"({"checkpoints":[{"uuid":"u"},{"resources":{}}]})",
                                "'checkpoints[1].uuid' is missing");
  bad_request<ReportEarlyExit>("/api/v1/trials/1/early_exit", R"({"reason":"X"})", "'reason'");
  bad_request<ShipLogs>("/task-logs", "{}", "'lines' must be a list");
  bad_request<ShipLogs>("/task-logs", R"([{"rank_id":"x"}])", "'lines[0].rank_id'");
  bad_request<SetStatus>("/api/v1/trials/1/runner/metadata", "[]", "'body'");
  bad_request<PauseExperiment>("/api/v1/experiments/x/pause", "", "'experiment'");
  bad_request<SetStatus>("/api/v1/trials/1/runner/metadata", R"({"state":NaN})", "not valid JSON");
}

void checkpoints_without_steps_are_not_reported(void **) {
  for (const Json &metadata : {Json::object(), Json{{"steps_completed", "12"}}}) {
    const std::string error = expect_error(Code::invalid, [&] {
      write_request(ReportCheckpoint{{.uuid = "u", .metadata = metadata}}, newest);
    });
    assert_true(contains(error, "'metadata.steps_completed'"));
  }
}

void numbers_may_be_quoted_and_names_in_either_case(void **) {
  const auto read = read_request<ReportMetrics>(
      {"POST", "/api/v1/trials/+7/metrics", "",
       R"({"group":"g","metrics":{"trial_run_id":"2","stepsCompleted":"-1","report_time":)"
       R"("2026-01-01T01:00:00+01:00","metrics":{"avg_metrics":{}}}})"},
      newest);
  assert_int_equal(read->trial_id, 7);
  assert_int_equal(read->run_id, 2);
  assert_int_equal(read->steps_completed.value(), -1);
  assert_int_equal(read->report_time->us, 1767225600000000);
}

// Calls `visit` with the document once for each place in it and each wrong value there.
template <class Visit>
void with_each_place_wrong(Json &document, Json &place, Visit &visit) {
  static const Json wrong[] = {Json(),
                               Json(true),
                               Json(-1),
                               Json(1.5),
                               Json(1e300),
                               Json(UINT64_MAX),
                               Json("x\n\x80"),
                               Json::array({Json()}),
                               Json::object({{"a", Json()}})};
  const Json right = place;
  for (const Json &value : wrong) {
    place = value;
    visit(document);
  }
  place = right;
  if (place.is_structured())
    for (Json &inner : place) with_each_place_wrong(document, inner, visit);
}

void no_wrong_value_in_any_place_does_harm(void **) {
  std::ifstream file(TEST_DATA "/wire/cases.jsonl");
  int taken = 0;
  for (std::string line; std::getline(file, line);) {
    Json recorded = Json::parse(line);
    const WireVersion version = wire_version(recorded["version"].get<std::string>());
    WireRequest request{recorded["method"], recorded["path"], recorded["query"], ""};
    any_call([&]<class Call>() {
      const auto mine = take_request(Call::route, request, version);
      if (!mine) return false;
      const auto check = [&](Code expected, const auto &action) {
        try {
          action();
          ++taken;
        } catch (const Error &e) {
          if (e.code != expected || !contains(e.what(), Call::route.what)) fail_msg("%s", e.what());
        }
      };
      const auto read_body = [&](const Json &document) {
        request.body = to_wire(document);
        check(Code::invalid, [&] { read_request<Call>(request, version); });
      };
      const auto read_wire_response = [&](const Json &document) {
        check(Code::corrupt, [&] { read_response<Call>({200, to_wire(document)}, version); });
      };
      with_each_place_wrong(recorded["body"], recorded["body"], read_body);
      with_each_place_wrong(recorded["response"], recorded["response"], read_wire_response);
      return true;
    });
  }
  assert_true(taken > 1000);
}

}  // namespace

int test_bad_input() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(answers_name_the_field_that_is_wrong),
      cmocka_unit_test(answers_that_are_no_object_do_not_confirm),
      cmocka_unit_test(lists_and_parts_name_the_field_that_is_wrong),
      cmocka_unit_test(a_refusal_amid_parts_is_told),
      cmocka_unit_test(requests_name_the_field_that_is_wrong),
      cmocka_unit_test(checkpoints_without_steps_are_not_reported),
      cmocka_unit_test(numbers_may_be_quoted_and_names_in_either_case),
      cmocka_unit_test(no_wrong_value_in_any_place_does_harm),
  };
  return cmocka_run_group_tests_name("bad_input", tests, nullptr, nullptr);
}

// The forms that differ between the generations, as the recordings have them; and refusals.
#include <limits>

#include "tests/cmocka.h"
#include "tests/codec/calls.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::codec;

void expect(const WireRequest &request, const char *path, const char *body) {
  assert_string_equal(request.path.c_str(), path);
  assert_string_equal(request.body.c_str(), body);
}

void version_follows_from_the_masters_text(void **) {
  const std::pair<const char *, WireVersion> table[] = {
      {"0.19.10", WireVersion::v0_19},     {"0.3", WireVersion::v0_19},
      {"0.28.0", WireVersion::v0_19},      {"0.28.1", WireVersion::v0_33},
      {"0.33.0", WireVersion::v0_33},      {"0.37.9+abc", WireVersion::v0_33},
      {"0.38.0-rc1", WireVersion::v0_38},  {"v0.38.1", WireVersion::v0_38},
      {"0.39.0", WireVersion::v0_38},      {"1", WireVersion::v0_38},
      {"99999999999", WireVersion::v0_38}, {"", WireVersion::v0_38},
      {"main", WireVersion::v0_38},
  };
  for (const auto &[text, version] : table)
    assert_int_equal(static_cast<int>(wire_version(text)), static_cast<int>(version));
}

void metrics_have_three_forms(void **) {
  const ReportMetrics training{.trial_id = 7,
                               .run_id = 2,
                               .group = "training",
                               .steps_completed = 10,
                               .values = {{"loss", std::numeric_limits<double>::quiet_NaN()}},
                               .batches = {{{"loss", 1}}}};
  expect(write_request(training, WireVersion::v0_38), "/api/v1/trials/7/metrics",
         R"({"group":"training","metrics":{"trialId":7,"trialRunId":2,"stepsCompleted":10,)"
         R"("metrics":{"avgMetrics":{"loss":"NaN"},"batchMetrics":[{"loss":1}]}}})");
  expect(write_request(training, WireVersion::v0_19), "/api/v1/trials/7/training_metrics",
         R"({"trial_run_id":2,"steps_completed":10,)"
         R"("metrics":{"avg_metrics":{"loss":"NaN"},"batch_metrics":[{"loss":1}]}})");
  const ReportMetrics validation{.trial_id = 7, .run_id = 2, .group = "validation"};
  expect(write_request(validation, WireVersion::v0_19), "/api/v1/trials/7/validation_metrics",
         R"({"trial_run_id":2,"metrics":{"avg_metrics":{}}})");
  const std::string error = expect_error(Code::unsupported, [&] {
    write_request(ReportMetrics{.trial_id = 7, .group = "gpu"}, WireVersion::v0_19);
  });
  assert_true(contains(error, "'gpu'"));
}

void masters_that_have_a_call_are_named(void **) {
  const auto fails = [](auto call, WireVersion version) {
    return expect_error(Code::unsupported, [&] { write_request(std::move(call), version); });
  };
  assert_true(contains(fails(StartTrial{7}, WireVersion::v0_19), "use one of 0.33 or newer"));
  assert_true(contains(fails(SetRunMetadata{7}, WireVersion::v0_33), "use one of 0.38 or newer"));
  assert_true(contains(fails(GetOperation{7}, WireVersion::v0_38), "use one of 0.19 to 0.33"));
}

void old_metric_paths_are_still_understood(void **) {
  const WireRequest request{"POST", "/api/v1/trials/7/validation_metrics", "",
                            R"({"trial_run_id":2,"metrics":{"avg_metrics":{"a":1}}})"};
  for (const WireVersion version : all_versions) {
    const auto read = read_request<ReportMetrics>(request, version);
    assert_true(read.has_value());
    assert_string_equal(read->group.c_str(), "validation");
    assert_int_equal(read->run_id, 2);
  }
  const WireRequest generic{"POST", "/api/v1/trials/7/metrics", "", "{}"};
  assert_false(read_request<ReportMetrics>(generic, WireVersion::v0_19).has_value());
}

void progress_has_two_forms(void **) {
  const ReportProgress progress{.trial_id = 7, .progress = 0.5};
  expect(write_request(progress, WireVersion::v0_38), "/api/v1/trials/7/progress",
         R"({"progress":0.5,"is_raw":true})");
  expect(write_request(progress, WireVersion::v0_33), "/api/v1/trials/7/progress", "0.5");
  const WireRequest number = write_request(progress, WireVersion::v0_19);
  const WireRequest object = write_request(progress, WireVersion::v0_38);
  expect_error(Code::invalid, [&] { read_request<ReportProgress>(number, WireVersion::v0_38); });
  expect_error(Code::invalid, [&] { read_request<ReportProgress>(object, WireVersion::v0_33); });
  for (const WireVersion version : all_versions)
    expect_error(Code::invalid,
                 [&] { write_request(ReportProgress{.progress = HUGE_VAL}, version); });
}

void storage_id_goes_to_masters_that_know_it(void **) {
  const ReportCheckpoint report{
      {.uuid = "u", .storage_id = 3, .metadata = {{"steps_completed", 1}}}};
  assert_true(contains(write_request(report, WireVersion::v0_33).body, "storageId"));
  assert_false(contains(write_request(report, WireVersion::v0_19).body, "storageId"));
}

void operation_follows_from_the_configuration(void **) {
  const auto length = [](const char *searcher) {
    return configured_operation(Json::parse("{\"searcher\":" + std::string(searcher) + "}")).length;
  };
  assert_int_equal(length(R"({"max_length":100})"), 100);
  assert_int_equal(length(R"({"max_length":{"epochs":10}})"), 10);
  assert_int_equal(length(R"({"max_length":{"epochs":5,"batches":1}})"), 5);  // as the original
  for (const char *searcher :
       {"null", "{}", "3", R"({"max_length":-1})", R"({"max_length":"9"})", R"({"max_length":{}})",
        R"({"max_length":{"epochs":-1,"batches":2}})", R"({"max_length":{"epochs":1.5}})"})
    assert_true(contains(expect_error(Code::invalid, [&] { length(searcher); }), "max_length"));
  expect_error(Code::invalid, [] { configured_operation(Json()); });
}

void bodies_without_content_are_not_sent(void **) {
  expect(write_request(AcknowledgePreemption{"1.a.1"}, WireVersion::v0_38),
         "/api/v1/allocations/1.a.1/signals/ack_preemption", "");
}

void ids_that_cannot_be_routed_are_refused(void **) {
  for (const char *id : {"", ".", "..", "a/b", "a:b"})
    expect_error(Code::invalid, [&] { write_request(PutExperiment{id, {}}, WireVersion::v0_38); });
  expect(write_request(GetCheckpoint{"a%b c?"}, WireVersion::v0_38),
         "/api/v1/checkpoints/a%25b%20c%3F", "");
}

Error refused(const WireResponse &answer) {
  try {
    read_response<StartRun>(answer, WireVersion::v0_38);
  } catch (const Error &e) {
    return e;
  }
  return {Code::internal, "taken"};
}

void refusals_have_a_code_of_ours(void **) {
  const std::pair<int, Code> table[] = {
      {400, Code::invalid},     {401, Code::access},      {403, Code::access},
      {404, Code::not_found},   {408, Code::timeout},     {409, Code::conflict},
      {413, Code::invalid},     {418, Code::invalid},     {429, Code::busy},
      {500, Code::state},       {501, Code::unsupported}, {502, Code::unavailable},
      {503, Code::unavailable}, {504, Code::timeout},     {599, Code::unavailable},
      {302, Code::unsupported}, {204, Code::unsupported}};
  for (const auto &[status, code] : table) {
    const Error error = refused({status, "{}"});
    assert_int_equal(static_cast<int>(error.code), static_cast<int>(code));
    assert_int_equal(error.http_status, status);
    assert_true(contains(error.what(), "starting the run: "));
  }
  assert_int_equal(static_cast<int>(refused({400, R"({"error":{"code":9}})"}).code),
                   static_cast<int>(Code::state));
}

void refusals_come_in_several_forms(void **) {
  for (const char *body :
       {R"({"error":{"code":5,"reason":"NotFound","error":"no such run"}})",
        R"({"error":{"message":"no such run","error":"x"}})", R"({"message":"no such run"})",
        R"({"error":"no such run"})", "no such run", "\"no such run\"",
        R"({"error":{"code":1e99,"message":"no such run"}})"})
    assert_true(contains(refused({404, body}).what(), "no such run"));
  for (const char *body : {"", "[1]", "\x80\xff", "{\"message\":3}", "{\"error\":{}}", "{\"err"})
    assert_int_equal(refused({404, body}).http_status, 404);
}

void refusals_never_show_tokens(void **) {
  const std::string token = "v2.public.eyJpZCI6MSwidXNlciI6Mn0_abc-DEF";
  for (const std::string &text : {"bad token " + token, "Authorization: Bearer " + token,
                                  std::string("Authorization: Bearer opaque-secret, no")}) {
    const std::string error = refused({401, Json{{"message", text}}.dump()}).what();
    assert_false(contains(error, "eyJ") || contains(error, "opaque"));
    assert_true(contains(error, "***"));
  }
  const std::string login = expect_error(Code::corrupt, [&] {
    read_response<Login>({200, "{\"token\":\"" + token}, WireVersion::v0_38);
  });
  assert_false(contains(login, "eyJ"));
}

void refusals_are_one_short_line(void **) {
  const std::string error = refused({500, "a\nb\t" + std::string(100000, 'x')}).what();
  assert_true(error.size() < 500 && contains(error, "a b xx"));
  assert_int_equal(refused({500, std::string(99, 'x') + "\xc3"}).http_status, 500);
}

void errors_are_written_as_refusals(void **) {
  const Error error(Code::not_found, "showing trial 7: there is none");
  const WireResponse gateway = write_refusal(error, false);
  assert_int_equal(gateway.status, 404);
  assert_string_equal(gateway.body.c_str(), R"({"error":{"code":5,"reason":"NotFound",)"
                                            R"("error":"showing trial 7: there is none"}})");
  assert_string_equal(write_refusal(error, true).body.c_str(),
                      R"({"message":"showing trial 7: there is none"})");
  assert_int_equal(write_refusal(Error(Code::access, "no", 0, 403), false).status, 403);
  assert_int_equal(write_refusal(Error(Code::io, "no"), false).status, 500);
}

}  // namespace

int test_forms() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(version_follows_from_the_masters_text),
      cmocka_unit_test(metrics_have_three_forms),
      cmocka_unit_test(masters_that_have_a_call_are_named),
      cmocka_unit_test(old_metric_paths_are_still_understood),
      cmocka_unit_test(progress_has_two_forms),
      cmocka_unit_test(storage_id_goes_to_masters_that_know_it),
      cmocka_unit_test(operation_follows_from_the_configuration),
      cmocka_unit_test(bodies_without_content_are_not_sent),
      cmocka_unit_test(ids_that_cannot_be_routed_are_refused),
      cmocka_unit_test(refusals_have_a_code_of_ours),
      cmocka_unit_test(refusals_come_in_several_forms),
      cmocka_unit_test(refusals_never_show_tokens),
      cmocka_unit_test(refusals_are_one_short_line),
      cmocka_unit_test(errors_are_written_as_refusals),
  };
  return cmocka_run_group_tests_name("forms", tests, nullptr, nullptr);
}

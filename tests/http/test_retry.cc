// What is sent again, when, and what never.
#include <curl/curl.h>

#include <vector>

#include "core/http/retry.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/http/server.h"

namespace {

using namespace det;
using namespace det::http;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr Attempt refused{.sent = false, .transient = true};
constexpr Attempt lost{.sent = true, .transient = true};

Attempt answered(int status, std::optional<std::chrono::seconds> after = {}) {
  return {.sent = true, .transient = false, .status = status, .retry_after = after};
}

int retries_after(const Attempt &attempt, Replay replay, const RetryPolicy &policy = {}) {
  Retries retries(policy, replay);
  int count = 0;
  while (count < 1000 && retries.after(attempt, 0)) ++count;
  return count;
}

void caller_decides_what_may_be_repeated(void **) {
  assert_int_equal(retries_after(refused, Replay::never), 0);
  assert_int_equal(retries_after(lost, Replay::never), 0);
  assert_int_equal(retries_after(answered(503, 1s), Replay::never), 0);
  assert_int_equal(retries_after(refused, Replay::unsent), 20);
  assert_int_equal(retries_after(lost, Replay::unsent), 0);
  assert_int_equal(retries_after(answered(503, 1s), Replay::unsent), 0);
  assert_int_equal(retries_after(refused, Replay::safe), 20);
  assert_int_equal(retries_after(lost, Replay::safe), 20);
  assert_int_equal(retries_after(answered(503, 1s), Replay::safe), 20);
}

void failures_that_stay_are_final(void **) {
  const Attempt hopeless{.sent = false, .transient = false};
  assert_int_equal(retries_after(hopeless, Replay::safe), 0);
}

void only_statuses_that_pass_are_repeated(void **) {
  RetryPolicy policy;
  policy.statuses = {400, 404, 429, 500, 502, 503, 504};
  for (const int status : {200, 302, 400, 401, 403, 404, 409, 413, 429, 500, 501})
    assert_int_equal(retries_after(answered(status), Replay::safe, policy), 0);
  for (const int status : {200, 400, 401, 404, 500, 501})
    assert_int_equal(retries_after(answered(status, 1s), Replay::safe, policy), 0);
  for (const int status : {502, 503, 504})
    assert_int_equal(retries_after(answered(status), Replay::safe, policy), 20);
  for (const int status : {413, 429, 503})
    assert_int_equal(retries_after(answered(status, 1s), Replay::safe, policy), 20);
}

void waits_double_up_to_the_limit_with_jitter(void **) {
  const RetryPolicy policy;
  Retries longest(policy, Replay::safe), shortest(policy, Replay::safe);
  milliseconds expected = 500ms;
  for (int i = 0; i < 20; ++i) {
    assert_int_equal(shortest.after(lost, 0)->count(), expected.count() / 2);
    assert_in_range(longest.after(lost, 0.999999)->count(), expected.count() - 1, expected.count());
    expected = std::min<milliseconds>(2 * expected, 120s);
  }
}

void servers_wish_replaces_the_wait(void **) {
  const RetryPolicy policy;
  Retries retries(policy, Replay::safe);
  assert_int_equal(retries.after(answered(503, 7s), 0.5)->count(), 7000);
  assert_int_equal(retries.after(answered(503, 86400s), 0.5)->count(), 3'600'000);
  RetryPolicy deaf;
  deaf.respect_retry_after = false;
  assert_int_equal(retries_after(answered(429, 1s), Replay::safe, deaf), 0);
}

void variable_overrides_the_policy(void **) {
  const RetryPolicy policy;
  assert_int_equal(policy.overridden_by("").total, 20);
  assert_int_equal(policy.overridden_by("{\"total\":0}").total, 0);
  assert_int_equal(policy.overridden_by("{\"total\":false}").total, 0);
  assert_int_equal(policy.overridden_by("{\"total\":null}").total, RetryPolicy::unlimited);
  const RetryPolicy all = policy.overridden_by(
      R"({"total":10,"connect":3,"read":2,"status":1,"backoff_factor":0.25,"backoff_max":2,)"
      R"("status_forcelist":[502],"respect_retry_after_header":false,"allowed_methods":false})");
  assert_int_equal(retries_after(refused, Replay::safe, all), 3);
  assert_int_equal(retries_after(lost, Replay::safe, all), 2);
  assert_int_equal(retries_after(answered(502), Replay::safe, all), 1);
  assert_int_equal(retries_after(answered(503, 1s), Replay::safe, all), 0);
  assert_int_equal(all.backoff.count(), 250);
  assert_int_equal(all.backoff_limit.count(), 2000);
  assert_int_equal(retries_after(lost, Replay::never, policy.overridden_by("{\"total\":9}")), 0);
}

void malformed_variable_is_refused_by_name(void **) {
  for (const char *text : {"{", "[]", "0", "{\"total\":-1}", "{\"total\":1.5}", "{\"total\":\"3\"}",
                           "{\"backoff_factor\":-1}", "{\"backoff_max\":1e300}",
                           "{\"status_forcelist\":503}", "{\"status_forcelist\":[\"503\"]}",
                           "{\"respect_retry_after_header\":1}", "{\"retries\":3}"}) {
    const std::string message =
        expect_error(Code::invalid, [&] { static_cast<void>(RetryPolicy().overridden_by(text)); });
    assert_true(contains(message, "DET_RETRY_CONFIG"));
  }
}

// With a real server.

// Remembers the waits and takes none.
struct Impatient {
  Impatient() {
    HttpOptions options;
    options.retry.total = 5;
    options.retry_wait = [this](milliseconds wait) {
      waits.push_back(wait);
      return 0ms;
    };
    client.emplace(options, std::make_shared<Logger>());
  }
  HttpResponse perform(const std::string &path, Replay replay) {
    return client->perform({.url = server().url(path), .replay = replay});
  }
  std::vector<milliseconds> waits;
  std::optional<HttpClient> client;
};

void busy_server_is_asked_again_when_it_wishes(void **) {
  Impatient impatient;
  const HttpResponse answer = impatient.perform("/status/503/a?times=2&after=7", Replay::safe);
  assert_string_equal(answer.body.c_str(), "at last");
  assert_int_equal(impatient.waits.size(), 2);
  for (const milliseconds wait : impatient.waits) assert_int_equal(wait.count(), 7000);
  assert_int_equal(server().seen("/status/503/a"), 3);
}

void last_answer_is_given_when_retries_end(void **) {
  Impatient impatient;
  assert_int_equal(impatient.perform("/status/502/b", Replay::safe).status, 502);
  assert_int_equal(server().seen("/status/502/b"), 6);
}

void internal_error_is_not_asked_again(void **) {
  Impatient impatient;
  assert_int_equal(impatient.perform("/status/500/c?after=1", Replay::safe).status, 500);
  assert_int_equal(server().seen("/status/500/c"), 1);
}

void unanswered_request_is_repeated_only_where_safe(void **) {
  Impatient impatient;
  assert_string_equal(impatient.perform("/silent/d?times=3", Replay::safe).body.c_str(), "at last");
  assert_int_equal(server().seen("/silent/d"), 4);
  for (const Replay replay : {Replay::never, Replay::unsent}) {
    const std::string path = replay == Replay::never ? "/silent/e" : "/silent/f";
    expect_error(Code::unavailable, [&] { impatient.perform(path, replay); });
    assert_int_equal(server().seen(path), 1);
  }
}

// libcurl repeats such a request by itself where nobody stops it. Before 7.80 nobody can: then it
// gets a connection of its own.
void request_lost_on_a_kept_connection_is_not_repeated(void **) {
  const bool can_be_stopped = curl_version_info(CURLVERSION_NOW)->version_num >= 0x075000;
  Impatient impatient;
  for (const Replay replay : {Replay::never, Replay::unsent, Replay::safe}) {
    const std::string path = "/stale/" + std::to_string(static_cast<int>(replay));
    impatient.client.reset();
    impatient.client.emplace(HttpOptions(), std::make_shared<Logger>());
    assert_string_equal(impatient.perform(path, replay).body.c_str(), "fresh");
    if (replay == Replay::safe || !can_be_stopped) {
      assert_string_equal(impatient.perform(path, replay).body.c_str(), "fresh");
    } else {
      const std::string message =
          expect_error(Code::unavailable, [&] { impatient.perform(path, replay); });
      assert_true(contains(message, "before an answer came"));
    }
    assert_int_equal(server().seen(path), replay == Replay::safe ? 3 : 2);
  }
}

void unreachable_server_is_tried_to_the_end(void **) {
  std::string url;
  {
    const Server gone;
    url = gone.url("/");
  }
  Impatient impatient;
  expect_error(Code::unavailable,
               [&] { impatient.client->perform({.url = url, .replay = Replay::unsent}); });
  assert_int_equal(impatient.waits.size(), 5);
}

}  // namespace

int test_retry() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(caller_decides_what_may_be_repeated),
      cmocka_unit_test(failures_that_stay_are_final),
      cmocka_unit_test(only_statuses_that_pass_are_repeated),
      cmocka_unit_test(waits_double_up_to_the_limit_with_jitter),
      cmocka_unit_test(servers_wish_replaces_the_wait),
      cmocka_unit_test(variable_overrides_the_policy),
      cmocka_unit_test(malformed_variable_is_refused_by_name),
      cmocka_unit_test(busy_server_is_asked_again_when_it_wishes),
      cmocka_unit_test(last_answer_is_given_when_retries_end),
      cmocka_unit_test(internal_error_is_not_asked_again),
      cmocka_unit_test(unanswered_request_is_repeated_only_where_safe),
      cmocka_unit_test(request_lost_on_a_kept_connection_is_not_repeated),
      cmocka_unit_test(unreachable_server_is_tried_to_the_end),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

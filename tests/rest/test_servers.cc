// That the servers of these tests can be started and asked from C++.
#include "tests/cmocka.h"
#include "tests/rest/server.h"

namespace {

using namespace det;
using namespace det::master;

int status_of(const std::string &url, const std::string &token = "") {
  http::HttpClient client({}, std::make_shared<Logger>());
  http::HttpRequest request{.url = url};
  if (!token.empty()) request.headers = {{"Authorization", "Bearer " + token}};
  return client.perform(std::move(request)).status;
}

void master_answers_and_tells(void **) {
  const FakeMaster master("0.33.0", {{"trial_id", 70}});
  assert_int_equal(status_of(master.url("/api/v1/trials/70"), "user-token"), 200);
  assert_int_equal(status_of(master.url("/api/v1/trials/7"), "user-token"), 404);
  assert_int_equal(master.requests().size(), 2);
  master.preempt();
  assert_true(master.state()["allocations"]["1.aaaa.1"]["preempted"].get<bool>());
}

void master_fails_on_request(void **) {
  const FakeMaster master("0.38.1");
  master.add_fault({{"status", 503}, {"path", "/info"}});
  assert_int_equal(status_of(master.url("/info")), 503);
  assert_int_equal(status_of(master.url("/info")), 200);
}

void replay_reports(void **) {
  const ReplayedMaster master("0.19.10/p1_single_ops");
  assert_int_equal(status_of(master.url("/api/v1/trials/2/searcher/operation"), "user-token"), 200);
  const Json report = master.report();
  assert_int_equal(report["arrivals"].size(), 1);
  assert_true(report["missing"].size() > 10);
  const Json script = ReplayedMaster::script("0.19.10/p1_single_ops");
  assert_string_equal(script["legs"][0]["calls"][0].dump().c_str(), R"(["operation",100])");
}

void proxy_spoils(void **) {
  const FakeMaster master("0.38.1");
  const SpoilingProxy proxy(master.port(), 1);
  assert_int_equal(status_of(proxy.url("/info")), 200);
  proxy.change({{"unavailable", 1}});
  const int status = status_of(proxy.url("/info"));
  assert_true(status == 502 || status == 503);
  assert_int_equal(proxy.mode()["counts"]["unavailable"].get<int>(), 1);
}

}  // namespace

int test_servers() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(master_answers_and_tells),
      cmocka_unit_test(master_fails_on_request),
      cmocka_unit_test(replay_reports),
      cmocka_unit_test(proxy_spoils),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

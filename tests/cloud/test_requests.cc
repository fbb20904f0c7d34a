// Requests to a store that nobody answers.
#include "core/cloud/requests.h"

#include <algorithm>
#include <vector>

#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::cloud;
using std::chrono::milliseconds;

class Unsigned : public Protocol {
 public:
  void sign(http::HttpRequest &, RequestScope *) override {}
  Refusal refusal_of(const http::HttpResponse &) override { return {}; }
  void renew(const http::HttpResponse &) override {}
};

void waits_double_up_to_their_limit(void **) {
  std::vector<milliseconds> waits;
  RequestPolicy policy;
  policy.attempts = 12;
  policy.backoff = milliseconds{100};
  policy.backoff_limit = milliseconds{1000};
  policy.wait = [&](milliseconds time) {
    waits.push_back(time);
    return true;
  };
  const Requests requests({}, policy, std::make_shared<Unsigned>(), std::make_shared<Logger>());
  const std::string message = expect_error(Code::unavailable, [&] {
    requests.perform({.tried = "asking nobody", .request = {.url = "http://127.0.0.1:1/"}});
  });
  assert_true(contains(message, "tried 12 times"));
  assert_int_equal(waits.size(), 11);
  milliseconds longest = policy.backoff;
  for (const milliseconds wait : waits) {
    assert_in_range(wait.count(), longest.count() / 10, longest.count());
    longest = std::min(2 * longest, policy.backoff_limit);
  }
}

}  // namespace

int test_requests() {
  const CMUnitTest tests[] = {cmocka_unit_test(waits_double_up_to_their_limit)};
  return cmocka_run_group_tests_name("requests to a store", tests, nullptr, nullptr);
}

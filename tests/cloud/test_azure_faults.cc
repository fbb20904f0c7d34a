// Azurite behind a proxy that spoils requests and answers.
#include "tests/cloud/azure.h"
#include "tests/cloud/suite.h"
#include "tests/python_server.h"

namespace {

using namespace det;
using namespace det::cloud;
using suite::text;

PythonServer &proxy() {
  const std::string url = azurite_url(), host = "127.0.0.1:";
  const size_t port = url.find(host) + host.size();
  static PythonServer server("store_proxy", {"--to", url.substr(port, url.find('/', port) - port)});
  return server;
}

void spoil(const Json &rule) {
  proxy().control("POST", "/test/rules", rule.is_null() ? Json::array() : Json::array({rule}));
}

// A container of its own, seen through the proxy, which lets everything pass.
void through_the_proxy(const std::string &container) {
  spoil(nullptr);
  Json config = azurite(container);
  config["account_url"] = proxy().url("/" + environment_variable("DET_TEST_AZURE_ACCOUNT"));
  suite::subject.store = open(config);
}

void lost_answer_to_a_new_blob_is_no_conflict(void **) {
  through_the_proxy("lost-new");
  spoil({{"method", "PUT"}, {"target", "/new"}, {"after", true}, {"times", 1}, {"how", "reset"}});
  suite::store().put("new", text("bytes"), true);
  expect_error(Code::conflict, [] { suite::store().put("new", text("bytes"), true); });
  assert_equal(suite::read("new"), "bytes");
}

void bytes_damaged_on_their_way_are_sent_again(void **) {
  through_the_proxy("damaged");
  spoil({{"method", "PUT"}, {"bytes", 2}, {"times", 1}, {"how", "flip_request"}});
  suite::store().put("key", text("bytes"));
  spoil(
      {{"method", "GET"}, {"target", "/key"}, {"bytes", 2}, {"times", 2}, {"how", "flip_answer"}});
  assert_equal(suite::read("key", 0, 100), "bytes");
  assert_equal(suite::read("key", 1, 3), "yte");
}

void cut_blob_goes_on_where_it_was(void **) {
  through_the_proxy("cut");
  const std::string large(size_t{3} << 20U, 'x');
  suite::store().put("key", text(large));
  spoil({{"method", "GET"}, {"body_bytes", 1'000'000}, {"times", 2}, {"how", "cut_answer"}});
  assert_true(suite::read("key") == large);
  spoil({{"method", "GET"}, {"body_bytes", 100}, {"times", 2}, {"how", "cut_answer"}});
  assert_equal(suite::keys(""), std::vector<std::string>{"key"});
}

void short_answer_goes_on_where_it_was(void **) {
  through_the_proxy("short");
  suite::store().put("key", text("bytes"));
  spoil({{"method", "GET"},
         {"times", 1},
         {"how", "answer"},
         {"status", 206},
         {"headers", {{"Content-Range", "bytes 0-1/5"}}},
         {"body", "by"}});
  assert_equal(suite::read("key", 0, 5), "bytes");
}

void busy_server_is_asked_again(void **) {
  through_the_proxy("busy");
  spoil({{"times", 2},
         {"how", "answer"},
         {"status", 503},
         {"headers", Json::object()},
         {"body", "<Error><Code>ServerBusy</Code><Message>Wait.\nTime:1</Message></Error>"}});
  suite::store().put("key", text("bytes"));
  assert_equal(suite::read("key"), "bytes");
}

void lost_answers_to_a_commit_and_a_removal_change_nothing(void **) {
  through_the_proxy("lost");
  const std::string upload = suite::store().begin_parts("key");
  const StoredPart part = suite::store().put_part("key", upload, 1, text("bytes"));
  spoil({{"method", "PUT"},
         {"target", "comp=blocklist"},
         {"after", true},
         {"times", 1},
         {"how", "reset"}});
  suite::store().complete_parts("key", upload, {part});
  assert_equal(suite::read("key"), "bytes");
  spoil({{"method", "POST"},
         {"target", "comp=batch"},
         {"after", true},
         {"times", 1},
         {"how", "reset"}});
  suite::store().remove({"key", "never"});
  assert_false(suite::store().find("key").has_value());
}

void page_of_something_between_is_told(void **) {
  through_the_proxy("page");
  spoil({{"how", "answer"},
         {"status", 403},
         {"headers", Json::object()},
         {"body", "<html>Blocked by the proxy</html>"}});
  const std::string message =
      expect_error(Code::access, [] { suite::store().put("key", text("bytes")); });
  assert_true(contains(message, "the store answered 403"));
  spoil(nullptr);
}

}  // namespace

int test_azure_faults() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(lost_answer_to_a_new_blob_is_no_conflict),
      cmocka_unit_test(bytes_damaged_on_their_way_are_sent_again),
      cmocka_unit_test(cut_blob_goes_on_where_it_was),
      cmocka_unit_test(short_answer_goes_on_where_it_was),
      cmocka_unit_test(busy_server_is_asked_again),
      cmocka_unit_test(lost_answers_to_a_commit_and_a_removal_change_nothing),
      cmocka_unit_test(page_of_something_between_is_told),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// Exchanges recorded from real masters, one by one. Their error messages are left out.
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/cmocka.h"
#include "tests/codec/calls.h"
#include "tests/codec/meaning.h"

namespace {

using namespace det;
using namespace det::codec;

struct Case {
  std::string name;
  WireVersion version;
  WireRequest request;
  Json body;
  WireResponse answer;
};

// What neither trials nor `det` do: other tasks' calls and the agents' own.
bool is_of_others(const Case &c) {
  const std::string &path = c.request.path;
  const auto ends = [&](std::string_view end) { return path.ends_with(end); };
  if (ends("/context_directory") || ends("/model_def")) return true;
  if (ends("/ready") || ends("/waiting") || ends(".1")) return true;  // the allocation itself
  return path.starts_with("/api/v1/trials/by-");
}

// Answers in parts compare as the list of their results.
Json parsed(const std::string &body, bool in_parts) {
  if (!in_parts) return Json::parse(body);
  Json parts = Json::array();
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) parts.push_back(Json::parse(line)["result"]);
  return parts;
}

// How the request is written again: to the old path where it went there.
WireRequest written_again(const Case &c, const auto &call) {
  const bool is_old = c.request.path.ends_with("training_metrics") ||
                      c.request.path.ends_with("validation_metrics");
  return write_request(call, is_old ? WireVersion::v0_19 : c.version);
}

void take_accepted(const Case &c, const auto &call) {
  using Call = std::remove_cvref_t<decltype(call)>;
  const WireRequest again = written_again(c, call);
  assert_string_equal(again.method.c_str(), c.request.method.c_str());
  const bool has_slash = c.request.path.ends_with('/');  // masters do not mind
  assert_string_equal((again.path + (has_slash ? "/" : "")).c_str(), c.request.path.c_str());
  assert_string_equal(again.query.c_str(), c.request.query.c_str());
  const Json body = again.body.empty() ? Json() : Json::parse(again.body);
  // Managed experiments have more to them, which trials do not send.
  if (!c.body.is_object() || !c.body.contains("modelDefinition")) assert_same_meaning(body, c.body);
  const auto answer = read_response<Call>(c.answer, c.version);
  constexpr bool in_parts = comes_in_parts<typename Call::Response>;
  assert_part_of_meaning(parsed(write_response<Call>(answer, c.version), in_parts),
                         parsed(c.answer.body, in_parts));
}

// Whether it is this call.
template <class Call>
bool take(const Case &c) {
  std::optional<Call> call;
  try {
    call = read_request<Call>(c.request, c.version);
    if (!call) return false;
  } catch (const Error &e) {
    // Only what the real master did not do either.
    if (e.code != Code::invalid || c.answer.status == 200) fail_msg("%s", e.what());
  }
  if (c.answer.status == 200) {
    take_accepted(c, *call);
    return true;
  }
  int status = 0;
  try {
    read_response<Call>(c.answer, c.version);
  } catch (const Error &e) {
    status = e.http_status;
  }
  assert_int_equal(status, c.answer.status);
  return true;
}

void exchange(void **state) {
  const Case &c = *static_cast<const Case *>(*state);
  bool taken = false;
  try {
    taken = any_call([&]<class Call>() { return take<Call>(c); });
  } catch (const Error &e) {
    fail_msg("%s", e.what());
  }
  if (c.answer.status != 200) {
    const Refusal refusal = read_refusal(c.answer);
    const bool has_code = c.answer.body.find("\"code\"") != std::string::npos;
    assert_int_equal(refusal.code != 0, has_code);
    assert_int_equal(!refusal.reason.empty(), has_code);
    assert_string_equal(refusal.message.c_str(), "refused");
  } else if (taken == is_of_others(c)) {
    fail_msg("%s", taken ? "taken, although not ours" : "taken by no call");
  }
}

std::string text_of(const Json &body) {
  if (body.is_null()) return {};
  if (body.is_object() && body.contains("$raw")) return body["$raw"].get<std::string>();
  return body.dump();
}

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  std::ifstream file(TEST_DATA "/wire/cases.jsonl");
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    const Json &body = json["body"];
    const Json &response = json["response"];
    const bool in_parts = response.is_string() && json["method"] == "GET";
    cases.push_back({json["name"],
                     wire_version(json["version"].get<std::string>()),
                     {json["method"], json["path"], json["query"], text_of(body)},
                     body,
                     {json["status"], in_parts ? response.get<std::string>() : response.dump()}});
  }
  return cases;
}

}  // namespace

int test_cases() {
  std::vector<Case> cases = read_cases();
  if (cases.size() != 204) return 1;
  std::vector<CMUnitTest> tests;
  for (Case &c : cases) tests.push_back({c.name.c_str(), exchange, nullptr, nullptr, &c});
  return _cmocka_run_group_tests("cases", tests.data(), tests.size(), nullptr, nullptr);
}

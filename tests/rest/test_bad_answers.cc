// Starts that meet something else than what a master says: each a clear error, after which the next
// start finds nothing in its way.
#include "core/base/text/utf8.h"
#include "core/master/rest/login.h"
#include "tests/expect_error.h"
#include "tests/http/authority.h"
#include "tests/rest/surroundings.h"

namespace {

using namespace det;
using namespace det::master;
using namespace det::test;

// One that every start makes of this kind.
struct Asked {
  const char *call;  // METHOD and end of the path, for people and for the stand-in
  const char *version;
  std::vector<std::string> wrong;  // answers that cannot be understood
  bool is_by_number = false;       // of an unmanaged trial that is named by it
  bool is_by_external_id = false;  // or by names of the caller's own
};

const std::vector<std::string> wrong_for_all{
    "",
    "7",
    "[]",
    "\"text\"",
    "{",
    "{\"a\": 1",
    "nonsense",
    std::string("\0\xff\xfe", 3),
    "<html><body>a proxy's login page</body></html>",
    std::string(200, '[') + std::string(200, ']'),      // too deep
    std::string(300'000, '['),                          // and far too deep
    "{\"x\": \"" + std::string(300'000, 'x') + "\n\"",  // and too long to show
};

const std::vector<std::string> wrong_masters{"{}",
                                             "null",
                                             R"({"version": "0.38.1"})",
                                             R"({"version": 38, "clusterId": "c"})",
                                             R"({"version": null, "clusterId": "c"})",
                                             R"({"version": "0.38.1", "clusterId": {}})"};

const std::vector<Asked> asked_in_cluster{
    {"GET /api/v1/master", "0.38.1", wrong_masters},
    {"GET /rendezvous",
     "0.38.1",
     {"{}", "null", R"({"rendezvousInfo": null})", R"({"rendezvousInfo": []})",
      R"({"rendezvousInfo": {"addresses": "a", "rank": 0}})",
      R"({"rendezvousInfo": {"addresses": [1], "rank": 0}})",
      R"({"rendezvousInfo": {"addresses": ["a"], "rank": "first"}})",
      R"({"rendezvousInfo": {"addresses": ["a"], "rank": 0, "slots": [null]}})"}},
    {"POST /runs/start",
     "0.38.1",
     {R"({"storageId": "abc"})", R"({"storageId": 1.5})", R"({"storageId": {}})",
      R"({"storageId": 99999999999999999999})"}},
    {"POST /runs/start", "0.33.0", {R"({"storageId": true})"}},
};

const std::vector<std::string> wrong_experiments{"{}",
                                                 "null",
                                                 R"({"experiment": null})",
                                                 R"({"experiment": {"id": "first"}, "config": {}})",
                                                 R"({"experiment": {"name": "x"}, "config": {}})",
                                                 R"({"experiment": 7, "config": {}})"};

const std::vector<std::string> wrong_trials{
    "{}",
    "null",
    R"({"trial": null})",
    R"({"trial": []})",
    R"({"trial": {"id": null, "experimentId": 1, "state": "STATE_PAUSED"}})",
    R"({"trial": {"id": 1.5, "experimentId": 1, "state": "STATE_PAUSED"}})",
    R"({"trial": {"id": 1, "experimentId": 1, "state": "STATE_WONDERFUL"}})",
    R"({"trial": {"id": 1, "experimentId": 1, "state": 99}})",
    R"({"trial": {"id": 1, "experimentId": 1, "state": "STATE_PAUSED", "startTime": "now"}})",
};

const std::vector<Asked> asked_by_user{
    {"GET /api/v1/master", "0.38.1", wrong_masters},
    {"POST /experiments", "0.38.1", wrong_experiments},
    {"PUT /experiments/by-external-id/t", "0.33.0", wrong_experiments, false, true},
    {"POST /trials", "0.38.1", wrong_trials},
    {"PUT /trials", "0.33.0", wrong_trials, false, true},
    {"GET /trials/7", "0.38.1", wrong_trials, true},
    {"POST /start",
     "0.38.1",
     {"{}", "null", R"({"trialRunId": 1})", R"({"trialRunId": "x", "stepsCompleted": 0})",
      R"({"trialRunId": 1, "stepsCompleted": []})", R"({"trialRunId": null, "stepsCompleted": 0})",
      R"({"trialRunId": 1, "stepsCompleted": 0, "latestCheckpoint": 7})"}},
    {"POST /runs/start", "0.33.0", {R"({"storageId": "abc"})"}},
    {"PATCH /trials", "0.38.1", {}},
};

// The stand-in's faults go by "METHOD /whole/path".
std::string pattern_of(const Asked &asked) {
  const std::string call = asked.call;
  const size_t space = call.find(' ');
  const std::string end = call.starts_with("PATCH") ? "" : "$";
  return call.substr(0, space) + " .*" + call.substr(space + 1) + end;
}

class Start {
 public:
  Start(const FakeMaster &master, const Asked &asked, bool is_managed)
      : master_(master), asked_(asked) {
    const Json setup{{"version", asked.version}, {"is_managed", is_managed}};
    master.set_up(setup);
    if (is_managed) place_.in_task(master.url());
    else place_.as_user(master.url());
    // Runs that end well leave nothing.
    options_ = place_.options();
    if (asked.is_by_number) options_.trial_id = 7;
    if (asked.is_by_external_id) options_.external_id = "t";
  }

  // The message of a start that meets this.
  std::string fails_with(Json fault) {
    fault["path"] = pattern_of(asked_);
    fault["count"] = 1000;
    master_.add_fault(fault);
    std::string message;
    try {
      context::Core::start(options_)->close(engine::RunEnd::ok);
      fail_msg("%s: this was taken: %.200s", asked_.call, fault.dump().c_str());
    } catch (const Error &error) {
      message = error.what();
      assert_int_not_equal(static_cast<int>(error.code), static_cast<int>(Code::internal));
    }
    master_.heal();
    return message;
  }

  // What was asked of which master, in one line that the C API has room for.
  void assert_clear(const std::string &message) {
    const std::string call = asked_.call;
    const size_t space = call.find(' ');
    if (!contains(message, call.substr(0, space) + " " + master_.url()) ||
        !contains(message, call.substr(space + 1)) || contains(message, "\n") ||
        message.size() > 499 || !is_utf8(message))
      fail_msg("%s: '%s'", asked_.call, message.c_str());
    assert_false(contains(message, "user-token") || contains(message, "task-token"));
  }

  void goes_well_afterwards() {
    context::Core::start(options_)->close(engine::RunEnd::ok);
    assert_true(place_.left_behind(master_.url()).empty());
    place_.assert_no_token_shown();
  }

 private:
  const FakeMaster &master_;
  const Asked &asked_;
  Surroundings place_;
  context::CoreOptions options_;
};

Json answered(const std::string &body, int status = 200) {
  // As text that any byte survives in: the stand-in is asked in JSON.
  const bool is_text = is_utf8(body);
  return {{"status", status}, {"body", is_text ? body : "\x01\x02"}};
}

void meet_wrong_answers(const std::vector<Asked> &calls, bool is_managed) {
  const FakeMaster &master = fresh_master("0.38.1");
  for (const Asked &asked : calls) {
    Start start(master, asked, is_managed);
    std::vector<std::string> bodies = wrong_for_all;
    bodies.insert(bodies.end(), asked.wrong.begin(), asked.wrong.end());
    for (const std::string &body : bodies) start.assert_clear(start.fails_with(answered(body)));
    start.goes_well_afterwards();
  }
}

void cluster_start_tells_answers_it_does_not_understand(void **) {
  meet_wrong_answers(asked_in_cluster, true);
}

void own_start_tells_answers_it_does_not_understand(void **) {
  meet_wrong_answers(asked_by_user, false);
}

void meet_refusals(const std::vector<Asked> &calls, bool is_managed) {
  const FakeMaster &master = fresh_master("0.38.1");
  for (const Asked &asked : calls) {
    Start start(master, asked, is_managed);
    for (const int status : {204, 400, 401, 404, 413, 500, 501}) {
      const Json said{{"error", {{"code", 2}, {"error", "not\nwith Bearer task-token"}}}};
      const std::string refused = start.fails_with({{"status", status}, {"body", said}});
      // It is masked where the master itself tells it.
      assert_false(contains(refused, "task-token"));
      start.assert_clear(start.fails_with(answered("<html>none of a master's", status)));
    }
    for (const char *how : {"garbage", "truncated-gzip"})
      start.assert_clear(start.fails_with({{"how", how}}));
    start.goes_well_afterwards();
  }
}

void cluster_start_tells_refusals(void **) { meet_refusals(asked_in_cluster, true); }
void own_start_tells_refusals(void **) { meet_refusals(asked_by_user, false); }

void redirect_to_another_host_takes_no_token_along(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  const FakeMaster stranger("0.38.1");
  for (const bool is_managed : {true, false})
    for (const Asked &asked : is_managed ? asked_in_cluster : asked_by_user) {
      Start start(master, asked, is_managed);
      const std::string to = stranger.url("/api/v1/master?secret=xyz", "localhost");
      const std::string message = start.fails_with({{"how", "redirect"}, {"to", to}});
      start.assert_clear(message);
      assert_true(contains(message, stranger.url("", "localhost")));
      assert_false(contains(message, "xyz"));
      start.goes_well_afterwards();
    }
  assert_true(stranger.requests().empty());
}

void connection_that_always_breaks_is_told(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  for (const Asked &asked : asked_in_cluster) {
    Start start(master, asked, true);
    for (const char *how : {"drop", "cut"}) start.assert_clear(start.fails_with({{"how", how}}));
    start.goes_well_afterwards();
  }
}

void nobody_at_the_address_is_told(void **) {
  Surroundings place;
  place.in_task("http://127.0.0.1:9");  // nobody listens there
  const std::string message =
      expect_error(Code::unavailable, [&] { context::Core::start(place.options()); });
  assert_true(contains(message, "http://127.0.0.1:9"));
}

// A master whose certificate is of our own authority.
class SafeMaster {
 public:
  explicit SafeMaster(const std::string &names) {
    const http::Identity identity = authority_.issue(names);
    write_file_durably(directory_ / "certificate", identity.certificate);
    write_file_durably(directory_ / "key", identity.key);
    write_file_durably(directory_ / "authority", authority_.certificate());
    master_.emplace("0.38.1", directory_ / "certificate", directory_ / "key");
  }
  std::string url() const { return master_->url("", "localhost"); }
  std::string authority() const { return directory_ / "authority"; }
  Json requests() const { return master_->requests(); }

 private:
  TemporaryDirectory directory_;
  http::Authority authority_;
  std::optional<FakeMaster> master_;
};

void master_must_prove_who_it_is(void **) {
  for (const bool is_managed : {true, false}) {
    const SafeMaster master("DNS:master.example");
    const auto start = [&](const std::string &file, const std::string &name) {
      Surroundings place;
      if (is_managed) place.in_task(master.url());
      else place.as_user(master.url());
      Surroundings::set("DET_MASTER_CERT_FILE", file);
      Surroundings::set("DET_MASTER_CERT_NAME", name);
      context::Core::start(place.options())->close(engine::RunEnd::ok);
      place.assert_no_token_shown();
    };
    const std::string unknown = expect_error(Code::access, [&] { start("", "master.example"); });
    const std::string misnamed = expect_error(Code::access, [&] { start(master.authority(), ""); });
    assert_true(contains(unknown, master.url()) && contains(unknown, "DET_MASTER_CERT_FILE"));
    assert_true(contains(misnamed, master.url()) && contains(misnamed, "DET_MASTER_CERT_NAME"));
    assert_true(master.requests().empty());
    start(master.authority(), "master.example");
    start("noverify", "");
  }
}

void info_files_that_say_nothing_are_told(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  const Json cluster = place.cluster(master.url()), trial = place.trial();
  const auto message_with = [&](const std::string &file, const std::string &text) {
    place.in_prepared_task(cluster, trial);
    if (text.empty() && file == "trial") fs::remove(place.directory / "info" / "trial.json");
    else place.write_info(file, text);
    return expect_error(Code::corrupt, [&] { context::Core::start(place.options()); });
  };
  const std::string whole = cluster.dump();
  for (const std::string &text :
       {std::string(), whole.substr(0, whole.size() / 2), std::string("[]"), std::string("{}")}) {
    const std::string message = message_with("cluster", text);
    assert_true(contains(message, "cluster.json"));
    assert_false(contains(message, "task-token"));
  }
  assert_true(contains(message_with("trial", ""), "no trial.json"));
  assert_true(contains(message_with("trial", trial.dump().substr(0, 20)), "trial.json"));
  assert_true(contains(message_with("rendezvous", "{\"container"), "rendezvous.json"));
  assert_true(master.requests().empty());

  place.in_prepared_task(cluster, trial);
  context::Core::start(place.options())->close(engine::RunEnd::ok);
}

// A master says 401 to every path that it does not know.
void a_wrong_path_before_the_api_is_no_wrong_password(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  MasterSession session({.url = master.url() + "/elsewhere"}, std::make_shared<Logger>());
  const std::string message =
      expect_error(Code::not_found, [&] { log_in(session, "determined", ""); });
  assert_true(contains(message, "/elsewhere") && contains(message, "prefix"));
}

}  // namespace

int test_bad_answers() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_wrong_path_before_the_api_is_no_wrong_password),
      cmocka_unit_test(cluster_start_tells_answers_it_does_not_understand),
      cmocka_unit_test(own_start_tells_answers_it_does_not_understand),
      cmocka_unit_test(cluster_start_tells_refusals),
      cmocka_unit_test(own_start_tells_refusals),
      cmocka_unit_test(redirect_to_another_host_takes_no_token_along),
      cmocka_unit_test(connection_that_always_breaks_is_told),
      cmocka_unit_test(nobody_at_the_address_is_told),
      cmocka_unit_test(master_must_prove_who_it_is),
      cmocka_unit_test(info_files_that_say_nothing_are_told),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// Users and tasks before a master over HTTP: what is sent, and what is kept.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "core/config/certificates.h"
#include "core/config/token_cache.h"
#include "core/master/rest/connect.h"
#include "core/master/rest/login.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/http/authority.h"
#include "tests/http/server.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::master;

// A user's machine and a master with the users that tests/servers/login.py lists.
struct Site {
  Site() {
    for (const char *name : {"DET_USER", "DET_PASS", "DET_USER_TOKEN", "DET_MASTER_CERT_FILE",
                             "DET_MASTER_CERT_NAME", "http_proxy", "HTTP_PROXY"})
      unsetenv(name);
    setenv("DET_DEBUG_CONFIG_PATH", directory.path().c_str(), 1);
  }
  ~Site() { unsetenv("DET_DEBUG_CONFIG_PATH"); }

  void get(const std::string &path) const {
    http::HttpClient client({}, logger);
    assert_int_equal(client.perform({.url = master.url(path)}).status, 200);
  }
  std::shared_ptr<MasterSession> connect() const { return connect_as_user(url, logger); }
  std::string user() const { return connect()->call(codec::GetMe{}).user.username; }
  int64_t logins() const { return master.seen("/api/v1/auth/login"); }
  std::string refusal() const {
    return expect_error(Code::access, [&] { connect(); });
  }

  TemporaryDirectory directory;
  http::Server master{"login"};
  std::string url = master.url("");
  std::shared_ptr<std::string> log = std::make_shared<std::string>();
  std::shared_ptr<Logger> logger = std::make_shared<Logger>(
      LogLevel::debug, [log = log](LogLevel level, const std::string &line) {
        *log += log_level_name(level) + (" " + line) + "\n";
      });
};

void password_is_hashed_as_the_master_expects(void **) {
  assert_string_equal(password_hash("").c_str(), "");
  assert_string_equal(password_hash("hunter2").c_str(),
                      "44c4c5de661c31d00839de32ed6831fd52dcfc39421a7336c3d9bef64ee5f5f1e2157c24ce74"
                      "d9c56d1070328bfb904203a374914221ac7efac462a284fbc4af");
}

void login_gives_a_token_that_is_used_from_then_on(void **) {
  const Site site;
  MasterSession session(user_session_options(site.url, "", 0, *site.logger), site.logger);
  const codec::Login::Response answer = log_in(session, "Zoë", "pässwort");
  assert_true(answer.token.starts_with("v2.public."));
  assert_string_equal(session.call(codec::GetMe{}).user.username.c_str(), "Zoë");
  assert_true(config::read_known_users(site.url).tokens.empty());
}

void wrong_password_is_told_apart_and_never_shown(void **) {
  const Site site;
  MasterSession session(user_session_options(site.url, "", 0, *site.logger), site.logger);
  for (const char *user : {"bob", "nobody", "BOB"}) {
    const std::string message =
        expect_error(Code::access, [&] { log_in(session, user, "secret"); });
    assert_true(contains(message, user) && contains(message, site.url));
    assert_true(contains(message, "password"));
    assert_false(contains(message, "secret") || contains(message, password_hash("secret")));
  }
  assert_true(
      contains(expect_error(Code::access, [&] { log_in(session, "lazy", ""); }), "administrator"));
}

void login_is_tried_once(void **) {
  const Site site;
  MasterSession session(user_session_options("http://127.0.0.1:1", "", 0, *site.logger),
                        site.logger);
  expect_error(Code::unavailable, [&] { log_in(session, "bob", "hunter2"); });
}

void user_who_is_logged_in_is_used(void **) {
  const Site site;
  MasterSession session(user_session_options(site.url, "", 0, *site.logger), site.logger);
  config::store_token(site.url, "bob", log_in(session, "bob", "hunter2").token, true);
  assert_string_equal(site.user().c_str(), "bob");
  assert_int_equal(site.logins(), 1);
}

void variables_come_before_the_user_who_is_logged_in(void **) {
  const Site site;
  MasterSession session(user_session_options(site.url, "", 0, *site.logger), site.logger);
  config::store_token(site.url, "bob", log_in(session, "bob", "hunter2").token, true);
  setenv("DET_USER", "Zoë", 1);
  assert_string_equal(site.user().c_str(), "bob");
  setenv("DET_PASS", "pässwort", 1);
  assert_string_equal(site.user().c_str(), "Zoë");
  assert_string_equal(site.user().c_str(), "Zoë");
  assert_int_equal(site.logins(), 2);  // the second time from the cache
  assert_string_equal(config::read_known_users(site.url).active.c_str(), "bob");
  setenv("DET_PASS", "wrong", 1);
  site.get("/expire");
  const std::string message = site.refusal();
  assert_true(contains(message, "Zoë") && !contains(message, "wrong"));
}

void user_of_a_new_master_needs_no_login(void **) {
  const Site site;
  assert_string_equal(site.user().c_str(), "determined");
  assert_string_equal(site.user().c_str(), "determined");
  assert_int_equal(site.logins(), 1);
  assert_string_equal(config::read_known_users(site.url).active.c_str(), "");
}

void without_a_credential_the_message_says_to_log_in(void **) {
  const Site site;
  site.get("/close-determined");
  assert_true(contains(site.refusal(), "det login --master " + site.url));
}

void expired_token_is_dropped_and_its_user_told_to_log_in(void **) {
  const Site site;
  MasterSession session(user_session_options(site.url, "", 0, *site.logger), site.logger);
  config::store_token(site.url, "bob", log_in(session, "bob", "hunter2").token, true);
  site.get("/expire");
  const std::string message = site.refusal();
  assert_true(contains(message, "'bob'") && contains(message, "det login"));
  assert_true(config::read_known_users(site.url).tokens.empty());
  assert_string_equal(config::read_known_users(site.url).active.c_str(), "bob");
}

void one_thread_renews_an_expired_token_and_the_others_wait(void **) {
  const Site site;
  setenv("DET_USER", "bob", 1);
  setenv("DET_PASS", "hunter2", 1);
  const auto session = site.connect();
  session->version();
  site.get("/expire");
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      try {
        session->call(codec::GetMe{});
        ++served;
      } catch (const Error &error) {
        print_error("%s\n", error.what());
      }
    });
  for (std::thread &thread : threads) thread.join();
  assert_int_equal(served, 8);
  assert_int_equal(site.logins(), 2);
  site.get("/expire");
  expect_error(Code::access,
               [&] { session->call(codec::GetMe{}); });  // so soon again it is not tried
  assert_int_equal(site.logins(), 2);
}

void token_is_kept_when_the_master_has_other_troubles(void **) {
  const Site site;
  config::store_token(site.url, "bob", "some token", true);
  for (const char *status : {"403", "404", "500"}) {
    site.get(std::string("/break?status=") + status);
    try {
      site.connect();
      fail_msg("should have thrown");
    } catch (const Error &error) {
      assert_int_equal(error.http_status, std::atoi(status));
    }
    assert_string_equal(config::read_known_users(site.url).tokens.at("bob").c_str(), "some token");
  }
}

void token_variable_is_used_unverified_after_the_cache(void **) {
  const Site site;
  setenv("DET_USER", "bob", 1);
  setenv("DET_USER_TOKEN", "of a task", 1);
  const auto session = site.connect();
  assert_int_equal(site.master.seen("/api/v1/me"), 0);
  expect_error(Code::access, [&] { session->call(codec::GetMe{}); });
  config::store_token(site.url, "determined", "expired", false);
  site.connect();
  assert_true(config::read_known_users(site.url).tokens.empty());
}

void cache_that_cannot_be_written_is_a_warning(void **) {
  const Site site;
  setenv("DET_DEBUG_CONFIG_PATH", "/dev/null/config", 1);
  assert_string_equal(site.user().c_str(), "determined");
  assert_true(contains(*site.log, "WARNING keeping the token"));
}

void task_uses_its_own_token(void **) {
  const Site site;
  config::ClusterInfo info;
  info.master_url = site.url;
  info.origin = "here";
  assert_true(contains(
      expect_error(Code::invalid, [&] { connect_to_task_master(info, site.logger); }), "here"));
  info.user_token = "of a user";
  config::store_token(site.url, "bob", "cached", true);
  const auto header = [&] {
    return connect_to_task_master(info, site.logger)->call(codec::GetMe{});
  };
  expect_error(Code::access, header);
  assert_int_equal(site.logins(), 0);
  assert_true(site.master.stats()["headers"].dump().find("Authorization") != std::string::npos);
  info.session_token = "of a task";
  expect_error(Code::access, header);
  const Json headers = site.master.stats()["headers"];
  assert_string_equal(headers.at("Grpc-Metadata-x-allocation-token").get<std::string>().c_str(),
                      "Bearer of a task");
  assert_false(headers.contains("Authorization"));
}

void task_heeds_the_retry_variable(void **) {
  const Site site;
  config::ClusterInfo info;
  info.master_url = "http://127.0.0.1:1";
  info.session_token = "token";
  setenv("DET_RETRY_CONFIG", "{\"total\": 0}", 1);
  const auto session = connect_to_task_master(info, site.logger);
  expect_error(Code::unavailable, [&] { session->call(codec::GetMe{}); });
  setenv("DET_RETRY_CONFIG", "{\"total\": -5}", 1);
  assert_true(
      contains(expect_error(Code::invalid, [&] { connect_to_task_master(info, site.logger); }),
               "DET_RETRY_CONFIG"));
  unsetenv("DET_RETRY_CONFIG");
}

void certificate_comes_from_the_file_the_variable_or_the_store(void **) {
  const http::Authority authority;
  const http::Authority other;
  const TemporaryDirectory files;
  const http::Identity identity = authority.issue("DNS:master.example");
  write_file_durably(files / "certificate", identity.certificate);
  write_file_durably(files / "key", identity.key);
  write_file_durably(files / "right", authority.certificate());
  write_file_durably(files / "wrong", other.certificate());
  const Site site;
  const http::Server master(files / "certificate", files / "key", "login");
  const std::string url = master.url("");
  const auto ask = [&](const std::string &cert_file) {
    MasterSession session(user_session_options(url, cert_file, 0, *site.logger), site.logger);
    return session.master().version;
  };
  setenv("DET_MASTER_CERT_NAME", "master.example", 1);
  expect_error(Code::access, [&] { ask(""); });
  assert_string_equal(ask(files / "right").c_str(), "0.38.1");

  setenv("DET_MASTER_CERT_FILE", (files / "right").c_str(), 1);
  assert_string_equal(ask("").c_str(), "0.38.1");
  expect_error(Code::access, [&] { ask(files / "wrong"); });

  config::store_certificate(url, other.certificate());
  assert_string_equal(ask("").c_str(), "0.38.1");
  unsetenv("DET_MASTER_CERT_FILE");
  expect_error(Code::access, [&] { ask(""); });
  config::store_certificate(url, authority.certificate());
  assert_string_equal(ask("").c_str(), "0.38.1");
  unsetenv("DET_MASTER_CERT_NAME");
  expect_error(Code::access, [&] { ask(""); });
}

}  // namespace

int test_login() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(password_is_hashed_as_the_master_expects),
      cmocka_unit_test(login_gives_a_token_that_is_used_from_then_on),
      cmocka_unit_test(wrong_password_is_told_apart_and_never_shown),
      cmocka_unit_test(login_is_tried_once),
      cmocka_unit_test(user_who_is_logged_in_is_used),
      cmocka_unit_test(variables_come_before_the_user_who_is_logged_in),
      cmocka_unit_test(user_of_a_new_master_needs_no_login),
      cmocka_unit_test(without_a_credential_the_message_says_to_log_in),
      cmocka_unit_test(expired_token_is_dropped_and_its_user_told_to_log_in),
      cmocka_unit_test(one_thread_renews_an_expired_token_and_the_others_wait),
      cmocka_unit_test(token_is_kept_when_the_master_has_other_troubles),
      cmocka_unit_test(token_variable_is_used_unverified_after_the_cache),
      cmocka_unit_test(cache_that_cannot_be_written_is_a_warning),
      cmocka_unit_test(task_uses_its_own_token),
      cmocka_unit_test(task_heeds_the_retry_variable),
      cmocka_unit_test(certificate_comes_from_the_file_the_variable_or_the_store),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

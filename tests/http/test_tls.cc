// Whom the client believes to be the master.
#include <vector>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/http/authority.h"
#include "tests/http/server.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::http;

const Authority &authority() {
  static const Authority one;
  return one;
}

// A server whose certificate `authority` has issued for `names`.
struct TlsMaster {
  explicit TlsMaster(const std::string &names, long valid_seconds = 3600,
                     const Authority &issuer = authority())
      : identity(issuer.issue(names, valid_seconds)) {
    write_file_durably(directory / "certificate", identity.certificate);
    write_file_durably(directory / "key", identity.key);
    server.emplace(directory / "certificate", directory / "key");
  }

  TemporaryDirectory directory;
  Identity identity;
  std::optional<Server> server;
};

TlsOptions trusting(const Authority &trusted, const std::string &name = "") {
  TlsOptions options;
  options.certificates = trusted.certificate();
  options.name = name;
  return options;
}

int status_from(const TlsMaster &master, const TlsOptions &tls, const std::string &host) {
  HttpOptions options;
  options.tls = tls;
  HttpClient client(options, std::make_shared<Logger>());
  return client.perform({.url = master.server->url("/echo", host)}).status;
}

void expect_refused(const TlsMaster &master, const TlsOptions &tls, const std::string &host) {
  const std::string message =
      expect_error(Code::access, [&] { static_cast<void>(status_from(master, tls, host)); });
  assert_true(contains(message, "GET " + master.server->url("/echo", host)));
  assert_true(contains(message, "DET_MASTER_CERT_FILE"));
  assert_int_equal(master.server->seen("/echo"), 0);
}

void master_of_our_authority_is_believed(void **) {
  const TlsMaster master("DNS:localhost,IP:127.0.0.1");
  assert_int_equal(status_from(master, trusting(authority()), "localhost"), 200);
  assert_int_equal(status_from(master, trusting(authority()), "127.0.0.1"), 200);
}

void master_of_another_authority_is_refused(void **) {
  const Authority other;
  const TlsMaster master("DNS:localhost", 3600, other);
  expect_refused(master, trusting(authority()), "localhost");
  expect_refused(master, TlsOptions(), "localhost");
}

void certificate_for_another_host_is_refused(void **) {
  const TlsMaster master("DNS:master.example,IP:127.0.0.2");
  expect_refused(master, trusting(authority()), "localhost");
  expect_refused(master, trusting(authority()), "127.0.0.1");
}

void name_given_replaces_the_hosts(void **) {
  const TlsMaster master("DNS:master.example,IP:127.0.0.2");
  for (const char *host : {"localhost", "127.0.0.1"})
    for (const char *name : {"master.example", "127.0.0.2"})
      assert_int_equal(status_from(master, trusting(authority(), name), host), 200);
}

void name_given_must_be_in_the_certificate(void **) {
  const TlsMaster master("DNS:localhost,IP:127.0.0.1");
  for (const char *name : {"master.example", "127.0.0.2", "local"})
    expect_refused(master, trusting(authority(), name), "localhost");
}

void name_given_does_not_replace_the_authority(void **) {
  const Authority other;
  const TlsMaster master("DNS:master.example", 3600, other);
  expect_refused(master, trusting(authority(), "master.example"), "localhost");
}

void expired_certificate_is_refused(void **) {
  const TlsMaster master("DNS:localhost", -60);
  expect_refused(master, trusting(authority()), "localhost");
  expect_refused(master, trusting(authority(), "localhost"), "localhost");
}

void unverified_master_is_believed(void **) {
  const Authority other;
  const TlsMaster master("DNS:master.example", -60, other);
  TlsOptions options;
  options.verify = false;
  assert_int_equal(status_from(master, options, "localhost"), 200);
}

void refused_certificate_is_not_asked_twice(void **) {
  const TlsMaster master("DNS:master.example");
  HttpOptions options;
  options.tls = trusting(authority());
  options.retry_wait = [](std::chrono::milliseconds) -> std::chrono::milliseconds {
    fail_msg("waited for another attempt");
    return {};
  };
  HttpClient client(options, std::make_shared<Logger>());
  expect_error(Code::access, [&] {
    client.perform({.url = master.server->url("/echo"), .replay = Replay::safe});
  });
}

void certificates_must_be_pem(void **) {
  HttpOptions options;
  options.tls.certificates = "no certificate";
  expect_error(Code::invalid, [&] { HttpClient(options, std::make_shared<Logger>()); });
}

// What the cluster's variables come to, and what was logged.
TlsOptions options_from(const std::string &file, const std::string &name,
                        std::vector<std::string> &logged) {
  Logger logger(LogLevel::warning,
                [&](LogLevel, const std::string &line) { logged.push_back(line); });
  return TlsOptions::from(file, name, logger);
}

void variables_choose_certificate_and_name(void **) {
  const TemporaryDirectory directory;
  std::vector<std::string> logged;
  write_file_durably(directory / "master.crt", "pem");
  const TlsOptions options = options_from(directory / "master.crt", "name", logged);
  assert_true(options.verify);
  assert_string_equal(options.certificates.c_str(), "pem");
  assert_string_equal(options.name.c_str(), "name");
  assert_true(options_from("", "", logged).verify);
  assert_true(logged.empty());
}

void noverify_in_any_case_is_a_warning(void **) {
  for (const char *text : {"noverify", "NoVerify"}) {
    std::vector<std::string> logged;
    assert_false(options_from(text, "", logged).verify);
    assert_int_equal(logged.size(), 1);
    assert_true(contains(logged[0], "not verified"));
  }
}

void missing_certificate_file_is_a_warning(void **) {
  std::vector<std::string> logged;
  const TlsOptions options = options_from("/nowhere/master.crt", "", logged);
  assert_true(options.verify);
  assert_true(options.certificates.empty());
  assert_int_equal(logged.size(), 1);
  assert_true(contains(logged[0], "/nowhere/master.crt"));
}

}  // namespace

int test_tls() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(master_of_our_authority_is_believed),
      cmocka_unit_test(master_of_another_authority_is_refused),
      cmocka_unit_test(certificate_for_another_host_is_refused),
      cmocka_unit_test(name_given_replaces_the_hosts),
      cmocka_unit_test(name_given_must_be_in_the_certificate),
      cmocka_unit_test(name_given_does_not_replace_the_authority),
      cmocka_unit_test(expired_certificate_is_refused),
      cmocka_unit_test(unverified_master_is_believed),
      cmocka_unit_test(refused_certificate_is_not_asked_twice),
      cmocka_unit_test(certificates_must_be_pem),
      cmocka_unit_test(variables_choose_certificate_and_name),
      cmocka_unit_test(noverify_in_any_case_is_a_warning),
      cmocka_unit_test(missing_certificate_file_is_a_warning),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

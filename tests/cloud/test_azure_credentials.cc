// Who asks Azure: keys, SAS tokens, and the tokens of every kind of identity, from a server that
// gives them as Azure's do.
#include <cstdlib>
#include <fstream>
#include <initializer_list>

#include "core/base/json.h"
#include "core/cloud/azure/azure_credentials.h"
#include "core/cloud/azure/azure_token.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/python_server.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::cloud;
namespace fs = std::filesystem;

PythonServer &identity() {
  static PythonServer server("azure_identity");
  return server;
}

// No identity but those that a test gives.
int forget_identities(void **) {
  for (const char *name :
       {"AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE",
        "IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT", "MSI_SECRET"})
    unsetenv(name);
  setenv("AZURE_AUTHORITY_HOST", identity().url().c_str(), 1);
  setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1", 1);
  setenv("PATH", "/nowhere", 1);
  return 0;
}

AzureConfig config_of(const char *more = "") {
  return azure_config(parse_json(std::string(R"({"type": "azure", "container": "c",
      "account_url": "https://name.blob.core.windows.net")") +
                                     more + "}",
                                 "test"));
}

std::unique_ptr<AzureCredentials> credentials(const AzureConfig &config = config_of()) {
  return azure_credentials(config, {}, std::make_shared<Logger>(LogLevel::error));
}

std::string authorization(AzureCredentials &credentials) {
  http::HttpRequest request{.url = "https://name.blob.core.windows.net/c/key"};
  credentials.sign(request, nullptr);
  return request.headers.empty() ? "" : request.headers.back().value;
}

Json last_seen() { return identity().control("GET", "/stats").back(); }

void application_has_a_secret(void **) {
  setenv("AZURE_TENANT_ID", "tenant", 1);
  setenv("AZURE_CLIENT_ID", "an app", 1);
  setenv("AZURE_CLIENT_SECRET", "right&secret", 1);
  const auto own = credentials();
  const std::string token = authorization(*own);
  assert_true(token.starts_with("Bearer token-"));
  assert_equal(authorization(*own), token);  // kept
  const Json seen = last_seen();
  assert_equal(seen["path"], Json("/tenant/oauth2/v2.0/token"));
  assert_equal(seen["client_id"], Json("an app"));
  assert_equal(seen["client_secret"], Json("right&secret"));
  assert_equal(seen["scope"], Json("https://storage.azure.com/.default"));
  assert_true(contains(own->remedy(), "an app"));
}

void wrong_secret_is_told_and_not_shown(void **) {
  setenv("AZURE_TENANT_ID", "tenant", 1);
  setenv("AZURE_CLIENT_ID", "app", 1);
  setenv("AZURE_CLIENT_SECRET", "wrong-one", 1);
  const std::string message = expect_error(Code::access, [] { authorization(*credentials()); });
  assert_true(contains(message, "AADSTS7000215: Invalid client secret provided."));
  assert_true(contains(message, "'app'"));
  assert_false(contains(message, "Trace"));
  assert_false(contains(message, "wrong-one"));
}

void workload_has_a_file(void **state) {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "token";
  std::ofstream(file) << "right-assertion\n";
  setenv("AZURE_TENANT_ID", "tenant", 1);
  setenv("AZURE_CLIENT_ID", "app", 1);
  setenv("AZURE_FEDERATED_TOKEN_FILE", file.c_str(), 1);
  assert_true(authorization(*credentials()).starts_with("Bearer token-"));
  assert_equal(last_seen()["client_assertion"], Json("right-assertion"));
  static_cast<void>(state);
}

void services_give_an_identity(void **) {
  setenv("IDENTITY_ENDPOINT", identity().url("/msi").c_str(), 1);
  setenv("IDENTITY_HEADER", "right", 1);
  assert_true(authorization(*credentials(config_of(R"(, "client_id": "mine")")))
                  .starts_with("Bearer token-"));
  assert_equal(last_seen()["client_id"], Json("mine"));
  assert_equal(last_seen()["resource"], Json("https://storage.azure.com/"));
  unsetenv("IDENTITY_ENDPOINT");
  setenv("MSI_ENDPOINT", identity().url("/msi").c_str(), 1);
  setenv("MSI_SECRET", "right", 1);
  assert_true(authorization(*credentials()).starts_with("Bearer token-"));
}

void machine_has_an_identity(void **) {
  setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", identity().url().c_str(), 1);
  identity().control("GET", "/fail?times=1&status=503");
  const auto own = credentials();
  assert_true(authorization(*own).starts_with("Bearer token-"));
  assert_true(contains(own->remedy(), "Storage Blob Data Contributor"));
}

void user_of_the_command_line(void **) {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "az")
      << "#!/bin/sh\necho '{\"accessToken\": \"of-'$4'\", \"expires_on\": 4102444800}'\n";
  fs::permissions(folder.path() / "az", fs::perms::owner_all);
  setenv("PATH", folder.path().c_str(), 1);
  assert_equal(authorization(*credentials()), std::string("Bearer of-json"));
}

void nobody_at_all_may_still_read(void **) {
  const auto own = credentials();
  assert_equal(authorization(*own), std::string());
  assert_true(own->is_anonymous());
  assert_true(contains(own->remedy(), "az login"));
}

void answers_that_hold_no_token_are_told(void **) {
  for (const char *answer : {"", "<html>", "[]", "{}", R"({"access_token": 7})",
                             R"({"access_token": ""})", R"({"access_token": "a\nb"})"})
    expect_error(Code::corrupt, [&] { azure_token_of(answer, "nobody"); });
  const auto now = Refreshable<std::string>::Clock::now();
  const auto end = azure_token_of(R"({"access_token": "t", "expires_in": 60})", "me").ends;
  assert_true(end > now + std::chrono::seconds(50) && end < now + std::chrono::seconds(600));
  assert_true(azure_token_of(R"({"access_token": "t", "expires_on": "4102444800"})", "me").ends >
              now + std::chrono::hours(1));
}

void sas_is_added_to_the_url_and_its_end_told(void **) {
  const auto own =
      credentials(config_of(R"(, "credential": "?sv=1&se=2020-01-01T00%3A00%3A00Z&sig=x%3D")"));
  http::HttpRequest request{.url = "https://h/c?comp=list"};
  own->sign(request, nullptr);
  assert_equal(request.url,
               std::string("https://h/c?comp=list&sv=1&se=2020-01-01T00%3A00%3A00Z&sig=x%3D"));
  assert_true(contains(own->remedy(), "ended at 2020-01-01T00:00:00Z"));
  assert_false(contains(own->remedy(), "sig"));
}

void nothing_secret_goes_unencrypted(void **) {
  AzureConfig config = config_of();
  config.address.endpoint = "http://name.blob.core.windows.net";
  expect_error(Code::invalid, [&] { credentials(config); });
  config.address.sas = "sig=x";
  expect_error(Code::invalid, [&] { credentials(config); });
  config.account_key = "key";  // only signs
  credentials(config);
}

}  // namespace

int test_azure_credentials() {
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(application_has_a_secret, forget_identities),
      cmocka_unit_test_setup(wrong_secret_is_told_and_not_shown, forget_identities),
      cmocka_unit_test_setup(workload_has_a_file, forget_identities),
      cmocka_unit_test_setup(services_give_an_identity, forget_identities),
      cmocka_unit_test_setup(machine_has_an_identity, forget_identities),
      cmocka_unit_test_setup(user_of_the_command_line, forget_identities),
      cmocka_unit_test_setup(nobody_at_all_may_still_read, forget_identities),
      cmocka_unit_test(answers_that_hold_no_token_are_told),
      cmocka_unit_test(sas_is_added_to_the_url_and_its_end_told),
      cmocka_unit_test(nothing_secret_goes_unencrypted),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// What Google's libraries find around a job: variables, files, and services that answer as a test
// tells them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/text/percent.h"
#include "core/cloud/gcs/google_credentials.h"
#include "tests/assert_equal.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/python_server.h"
#include "tests/temporary_directory.h"

namespace det::cloud::google {

// One for all tests of a program.
inline const PythonServer &services() {
  static const PythonServer one("scripted");
  return one;
}

class World {
 public:
  World() {
    for (const char *name : variables) unsetenv(name);
    set("CLOUDSDK_CONFIG", directory.path().string());
    set("GCE_METADATA_HOST", "127.0.0.1:1");
    answer(Json::object());
  }
  World(const World &) = delete;
  World &operator=(const World &) = delete;
  ~World() {
    for (const char *name : variables) unsetenv(name);
  }

  static void set(const char *name, const std::string &value) { setenv(name, value.c_str(), 1); }

  // As tests/servers/scripted.py has it; what was asked so far is forgotten.
  static void answer(const Json &answers) { services().control("POST", "/test/answers", answers); }
  static Json asked() { return services().control("GET", "/test/requests")["requests"]; }
  static Json form(const Json &request) {  // nothing in the tests' forms needs more
    Json fields = Json::object();
    const std::string body = request["body"].get<std::string>() + "&";
    for (size_t at = 0; at < body.size(); at = body.find('&', at) + 1) {
      const std::string field = body.substr(at, body.find('&', at) - at);
      const size_t equal = field.find('=');
      fields[field.substr(0, equal)] = percent_decoded(field.substr(equal + 1));
    }
    return fields;
  }

  std::string file(const std::string &name, const std::string &text) const {
    write_file_durably(directory / name, text);
    return (directory / name).string();
  }
  void use(const Json &credentials) const {
    set("GOOGLE_APPLICATION_CREDENTIALS", file("credentials.json", credentials.dump()));
  }

  static RequestPolicy hasty() {
    RequestPolicy policy;
    policy.attempts = 3;
    policy.patience = std::chrono::milliseconds{0};
    policy.wait = [](std::chrono::milliseconds) { return true; };
    return policy;
  }
  static TokenContext context() {
    return {std::make_shared<TokenService>(http::HttpOptions{}, hasty(),
                                           std::make_shared<Logger>(LogLevel::error)),
            "the-scope"};
  }
  static std::string token() {
    return application_default_credentials(context())->fetch(nullptr).value;
  }

  const TemporaryDirectory directory;

 private:
  static constexpr const char *variables[] = {"GOOGLE_APPLICATION_CREDENTIALS",
                                              "CLOUDSDK_CONFIG",
                                              "GCE_METADATA_HOST",
                                              "NO_GCE_CHECK",
                                              "GOOGLE_CLOUD_QUOTA_PROJECT",
                                              "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES",
                                              "STORAGE_EMULATOR_HOST"};
};

inline Json user() {
  return {{"type", "authorized_user"},
          {"client_id", "the-client"},
          {"client_secret", "secret-of-client"},
          {"refresh_token", "secret-to-refresh"},
          {"token_uri", services().url("/token")},
          {"quota_project_id", "project-of-file"}};
}

inline Json token_answer(const std::string &token) {
  return {{"body", {{"access_token", token}, {"expires_in", 3599}, {"token_type", "Bearer"}}}};
}

}  // namespace det::cloud::google

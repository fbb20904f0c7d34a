// A client of a master that replays answers: recorded ones, and those that a test makes.
#pragma once

#include <fstream>

#include "core/client/rest_client.h"
#include "tests/python_server.h"
#include "tests/temporary_directory.h"

namespace det::client {

inline std::string recorded(const std::string &version) {
  return std::string(TEST_DATA "/wire/") + version + "/answers.jsonl";
}

inline Json answered(const std::string &path, Json response, int status = 200) {
  return {{"method", "GET"}, {"path", path}, {"status", status}, {"response", std::move(response)}};
}

class Replayed {
 public:
  // `made` takes the place of what is recorded.
  explicit Replayed(const std::string &version, const std::vector<Json> &made = {})
      : server_("recorded_answers", {recorded(version), write(made)}), client_(connect()) {}

  RestClient &client() { return *client_; }
  std::unique_ptr<RestClient> connect(const std::string &token = "token") const {
    master::SessionOptions options{.url = server_.url(""),
                                   .credential = {master::Credential::Kind::user, token}};
    options.http.retry.total = 0;
    return std::make_unique<RestClient>(
        std::make_shared<master::MasterSession>(std::move(options), std::make_shared<Logger>()),
        std::make_shared<Logger>());
  }

 private:
  std::string write(const std::vector<Json> &made) {
    const std::string path = directory_ / "made.jsonl";
    std::ofstream file(path);
    for (const Json &answer : made) file << answer.dump() << "\n";
    return path;
  }

  TemporaryDirectory directory_;
  PythonServer server_;
  std::unique_ptr<RestClient> client_;
};

}  // namespace det::client

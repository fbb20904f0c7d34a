// A web server of a test's own; see server.py for what it answers.
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/http/client.h"
#include "tests/http/server_process.h"

namespace det {

class Server {
 public:
  Server() : scheme_("http"), process_("server.py") {}
  Server(const std::string &certificate, const std::string &key)  // PEM files
      : scheme_("https"), process_("server.py", {certificate, key}) {}

  std::string url(const std::string &path, const std::string &host = "127.0.0.1") const {
    return scheme_ + "://" + host + ":" + std::to_string(process_.port()) + path;
  }

  // What it has seen: {"seen": {path: requests}, "connections", "dropped"}.
  Json stats() const {
    HttpOptions options;
    options.tls.verify = false;
    HttpClient client(options, std::make_shared<Logger>());
    return parse_json(client.perform({.url = url("/stats")}).body, "stats");
  }
  int64_t seen(const std::string &path) const { return stats()["seen"].value(path, 0); }

 private:
  std::string scheme_;
  ServerProcess process_;
};

}  // namespace det

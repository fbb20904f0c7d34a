// A web server of a test's own: web of tests/servers, or another that tells what it has seen.
#pragma once

#include "core/http/message.h"
#include "tests/python_server.h"

namespace det::http {

class Server : public PythonServer {
 public:
  explicit Server(const std::string &name = "web") : PythonServer(name) {}

  // With TLS; both are PEM files.
  Server(const std::string &certificate, const std::string &key, const std::string &name = "web")
      : PythonServer(name, {certificate, key}, "https") {}

  // What it has seen: {"seen": {path: requests}, "connections", "dropped"}.
  Json stats() const { return control("GET", "/stats"); }
  int64_t seen(const std::string &path) const { return stats()["seen"].value(path, 0); }
};

// One for all tests of a program that need no server of their own.
inline Server &server() {
  static Server one;
  return one;
}

inline HttpRequest get(const std::string &path) { return {.url = server().url(path)}; }

}  // namespace det::http

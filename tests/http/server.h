// A web server of a test's own: the script that DET_TEST_SERVER names, such as server.py.
#pragma once

#include <cstdlib>

#include "core/http/message.h"
#include "tests/python_server.h"

namespace det {

class Server : public PythonServer {
 public:
  Server() : PythonServer(script()) {}

  // With TLS; both are PEM files.
  Server(const std::string &certificate, const std::string &key)
      : PythonServer(script(), {certificate, key}, "https") {}

  // What it has seen: {"seen": {path: requests}, "connections", "dropped"}.
  Json stats() const { return control("GET", "/stats"); }
  int64_t seen(const std::string &path) const { return stats()["seen"].value(path, 0); }

 private:
  static std::string script() { return std::getenv("DET_TEST_SERVER"); }
};

// One for all tests of a program that need no server of their own.
inline Server &server() {
  static Server one;
  return one;
}

inline HttpRequest get(const std::string &path) { return {.url = server().url(path)}; }

}  // namespace det

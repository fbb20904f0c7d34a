// The other side of the client of real masters: one that stands in for them, one that plays a
// recording, and a proxy between, that spoils what goes through it. tests/servers tells more.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "tests/python_server.h"

namespace det::master {

// Keeps state; its tokens are "user-token" and "task-token". What it knows is in fake/control.py
// there.
class FakeMaster : public PythonServer {
 public:
  explicit FakeMaster(const std::string &version, const Json &setup = {})
      : PythonServer("master", {"--version", version}) {
    if (!setup.is_null()) set_up(setup);
  }

  // With TLS; both are PEM files.
  FakeMaster(const std::string &version, const std::string &certificate, const std::string &key)
      : PythonServer("master", {"--version", version, "--tls", certificate, key}, "https") {}

  // Forgets everything, and begins with what `setup` says.
  void set_up(const Json &setup) const { control("POST", "/test/setup", setup); }

  Json state() const { return control("GET", "/test/state"); }
  Json requests() const { return control("GET", "/test/requests"); }
  void preempt() const { control("POST", "/test/preempt"); }
  void add_fault(const Json &fault) const { control("POST", "/test/fail", fault); }
  void heal(const Json &faults_instead = Json::array()) const {
    control("POST", "/test/heal", faults_instead);
  }

  // Closes all connections, and takes none for `seconds`.
  void restart(double seconds = 0) const {
    control("POST", "/test/restart", {{"seconds", seconds}});
  }
};

// One for all tests of a program, since starting it takes longer than most of them; it has
// forgotten everything.
inline const FakeMaster &fresh_master(const std::string &version, Json setup = Json::object()) {
  static const FakeMaster master(version);
  setup["version"] = version;
  master.set_up(setup);
  return master;
}

// Plays a file of tests/data/wire, such as "0.38.1/s1_single".
class ReplayedMaster : public PythonServer {
 public:
  explicit ReplayedMaster(const std::string &scenario)
      : PythonServer("replay", {wire_file(scenario + ".jsonl")}) {}

  Json report() const { return control("GET", "/test/report"); }

  // The calls that the recorded trial made; see recording/calls.py there.
  static Json script(const std::string &scenario) {
    std::ifstream file(wire_file(scenario + ".script.json"));
    return Json::parse(file);
  }

 private:
  static std::string wire_file(const std::string &name) { return TEST_DATA "/wire/" + name; }
};

// Before the server on `port`. Without faults until change() says so.
class SpoilingProxy : public PythonServer {
 public:
  SpoilingProxy(int port, int seed)
      : PythonServer("spoiling_proxy",
                     {"--to", std::to_string(port), "--seed", std::to_string(seed)}) {}

  // {"cut_answer": 0.1, ...}: the probabilities from now on.
  void change(const Json &mode) const { control("POST", "/test/mode", mode); }

  // Also how often each fault has happened, in "counts".
  Json mode() const { return control("GET", "/test/mode"); }
};

}  // namespace det::master

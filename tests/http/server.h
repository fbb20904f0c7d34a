// A web server of a test's own, in a process that ends with the test.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/http/client.h"

namespace det {

class Server {
 public:
  // `certificate` and `key` are PEM files; empty: without TLS. See server.py for what it answers.
  explicit Server(const std::string &certificate = "", const std::string &key = "")
      : Server(std::getenv("DET_TEST_SERVER"), certificate.empty()
                                                   ? std::vector<std::string>()
                                                   : std::vector<std::string>{certificate, key}) {
    if (!certificate.empty()) scheme_ = "https";
  }
  // Another script that prints its port and ends with its stdin.
  Server(const char *script, const std::vector<std::string> &arguments) {
    std::vector<char *> words{const_cast<char *>("python3"), const_cast<char *>(script)};
    for (const std::string &argument : arguments)
      words.push_back(const_cast<char *>(argument.c_str()));
    words.push_back(nullptr);
    int life[2], port[2];
    if (pipe2(life, O_CLOEXEC) != 0 || pipe2(port, O_CLOEXEC) != 0)
      throw std::runtime_error("pipe2");
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(life[0], STDIN_FILENO);
      dup2(port[1], STDOUT_FILENO);
      execvp("python3", words.data());
      _exit(127);
    }
    const Fd server_end(life[0]), port_write(port[1]), port_read(port[0]);
    life_ = Fd(life[1]);
    char text[16] = {};
    if (pid_ < 0 || read(port_read.get(), text, sizeof text - 1) <= 0)
      throw std::runtime_error("starting server.py");
    port_ = std::atoi(text);
  }
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;
  ~Server() {
    life_ = Fd();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }

  std::string url(const std::string &path, const std::string &host = "127.0.0.1") const {
    return scheme_ + "://" + host + ":" + std::to_string(port_) + path;
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
  std::string scheme_ = "http";
  pid_t pid_ = 0;
  Fd life_;
  int port_ = 0;
};

}  // namespace det

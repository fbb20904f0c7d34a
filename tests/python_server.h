// Servers, some of them written in Python, in processes that end with the test.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/http/http_client.h"

namespace det {

// The program prints its ports on its first line and ends with its standard input.
class ServerProcess {
 public:
  explicit ServerProcess(const std::vector<std::string> &command) {
    std::vector<const char *> arguments;
    for (const std::string &argument : command) arguments.push_back(argument.c_str());
    arguments.push_back(nullptr);
    int life[2], told[2];
    if (pipe2(life, O_CLOEXEC) != 0 || pipe2(told, O_CLOEXEC) != 0)
      throw std::runtime_error("pipe2");
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(life[0], STDIN_FILENO);
      dup2(told[1], STDOUT_FILENO);
      execvp(arguments[0], const_cast<char *const *>(arguments.data()));
      _exit(127);
    }
    close(life[0]);
    close(told[1]);  // so that a server that does not start ends the reading below
    const Fd told_read(told[0]);
    life_ = Fd(life[1]);
    char text[64] = {};
    if (pid_ < 0 || read(told_read.get(), text, sizeof text - 1) <= 0)
      throw std::runtime_error("starting " + command.back());
    std::istringstream ports(text);
    for (int port = 0; ports >> port;) ports_.push_back(port);
  }
  ServerProcess(const ServerProcess &) = delete;
  ServerProcess &operator=(const ServerProcess &) = delete;
  ~ServerProcess() {
    life_ = Fd();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }

  const std::vector<int> &ports() const { return ports_; }

  // Takes no part in anything meanwhile.
  void pause() const { kill(pid_, SIGSTOP); }
  void resume() const { kill(pid_, SIGCONT); }

 private:
  pid_t pid_ = 0;
  Fd life_;
  std::vector<int> ports_;
};

// One of tests/servers.
class PythonServer : public ServerProcess {
 public:
  explicit PythonServer(const std::string &name, const std::vector<std::string> &arguments = {},
                        std::string scheme = "http")
      : ServerProcess(command(name, arguments)), scheme_(std::move(scheme)) {}

  int port() const { return ports().front(); }
  std::string url(const std::string &path = "", const std::string &host = "127.0.0.1") const {
    return url_of(port(), path, host);
  }

  // What tests ask of the server itself.
  Json control(const std::string &method, const std::string &path, const Json &body = {}) const {
    http::HttpOptions options;
    options.tls.verify = false;
    http::HttpClient client(options, std::make_shared<Logger>());
    http::HttpRequest request{.method = method, .url = url_of(ports().back(), path, "127.0.0.1")};
    if (!body.is_null()) request.body = body.dump();
    const http::HttpResponse answer = client.perform(std::move(request));
    if (answer.status != 200) throw std::runtime_error(path + ": " + answer.body);
    return parse_json(answer.body, path);
  }

 private:
  static std::vector<std::string> command(const std::string &name,
                                          const std::vector<std::string> &arguments) {
    const char *servers = std::getenv("DET_TEST_SERVERS");
    if (servers == nullptr) throw std::runtime_error("DET_TEST_SERVERS must name tests/servers");
    std::vector<std::string> command{"python3", servers, name};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  }
  std::string url_of(int port, const std::string &path, const std::string &host) const {
    return scheme_ + "://" + host + ":" + std::to_string(port) + path;
  }

  std::string scheme_;
};

}  // namespace det

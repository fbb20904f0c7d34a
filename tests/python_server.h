// A server written in Python, in a process that ends with the test.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/http/client.h"

namespace det {

// The script prints its ports on its first line and ends with its standard input.
class PythonServer {
 public:
  explicit PythonServer(const std::string &script, const std::vector<std::string> &arguments = {},
                        std::string scheme = "http")
      : scheme_(std::move(scheme)) {
    std::vector<const char *> command{"python3", script.c_str()};
    for (const std::string &argument : arguments) command.push_back(argument.c_str());
    command.push_back(nullptr);
    int life[2], told[2];
    if (pipe2(life, O_CLOEXEC) != 0 || pipe2(told, O_CLOEXEC) != 0)
      throw std::runtime_error("pipe2");
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(life[0], STDIN_FILENO);
      dup2(told[1], STDOUT_FILENO);
      execvp("python3", const_cast<char *const *>(command.data()));
      _exit(127);
    }
    close(life[0]);
    close(told[1]);  // so that a server that does not start ends the reading below
    const Fd told_read(told[0]);
    life_ = Fd(life[1]);
    char text[64] = {};
    if (pid_ < 0 || read(told_read.get(), text, sizeof text - 1) <= 0)
      throw std::runtime_error("starting " + script);
    std::istringstream ports(text);
    for (int port = 0; ports >> port;) ports_.push_back(port);
  }
  PythonServer(const PythonServer &) = delete;
  PythonServer &operator=(const PythonServer &) = delete;
  ~PythonServer() {
    life_ = Fd();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }

  int port() const { return ports_.front(); }
  std::string url(const std::string &path = "", const std::string &host = "127.0.0.1") const {
    return url_of(ports_.front(), path, host);
  }

  // What tests ask of the server itself.
  Json control(const std::string &method, const std::string &path, const Json &body = {}) const {
    HttpOptions options;
    options.tls.verify = false;
    HttpClient client(options, std::make_shared<Logger>());
    HttpRequest request{.method = method, .url = url_of(ports_.back(), path, "127.0.0.1")};
    if (!body.is_null()) request.body = body.dump();
    const HttpAnswer answer = client.perform(std::move(request));
    if (answer.status != 200) throw std::runtime_error(path + ": " + answer.body);
    return parse_json(answer.body, path);
  }

 private:
  std::string url_of(int port, const std::string &path, const std::string &host) const {
    return scheme_ + "://" + host + ":" + std::to_string(port) + path;
  }

  std::string scheme_;
  pid_t pid_ = 0;
  Fd life_;
  std::vector<int> ports_;
};

}  // namespace det

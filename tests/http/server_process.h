// A program that prints its port and serves there, in a process that ends with the test.
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

namespace det {

class ServerProcess {
 public:
  // A Python script beside this file, and its arguments. It must end with its standard input.
  explicit ServerProcess(const std::string &script,
                         const std::vector<std::string> &arguments = {}) {
    const std::string path = std::string(std::getenv("DET_TEST_SERVERS")) + "/" + script;
    std::vector<const char *> command = {"python3", path.c_str()};
    for (const std::string &argument : arguments) command.push_back(argument.c_str());
    command.push_back(nullptr);
    int life[2], port[2];
    if (pipe2(life, O_CLOEXEC) != 0 || pipe2(port, O_CLOEXEC) != 0)
      throw std::runtime_error("pipe2");
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(life[0], STDIN_FILENO);
      dup2(port[1], STDOUT_FILENO);
      execvp(command[0], const_cast<char **>(command.data()));
      _exit(127);
    }
    close(life[0]);
    close(port[1]);  // so that a server that does not start ends the reading below
    const Fd port_read(port[0]);
    life_ = Fd(life[1]);
    char text[16] = {};
    if (pid_ < 0 || read(port_read.get(), text, sizeof text - 1) <= 0)
      throw std::runtime_error("starting " + script);
    port_ = std::atoi(text);
  }
  ServerProcess(const ServerProcess &) = delete;
  ServerProcess &operator=(const ServerProcess &) = delete;
  ~ServerProcess() {
    life_ = Fd();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }

  int port() const { return port_; }

 private:
  pid_t pid_ = 0;
  Fd life_;
  int port_ = 0;
};

}  // namespace det

// A process that waits, as the leader of a session of its own, for the word to become a program.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/file.h"

namespace det::launcher {

struct Start {
  std::filesystem::path program;
  std::vector<std::string> arguments;    // the first is the name it goes by
  std::vector<std::string> environment;  // "NAME=value"
  std::filesystem::path directory;
  std::filesystem::path log_file;   // what it prints is appended here
  std::vector<int> inherited = {};  // descriptors that it keeps; open until it is forked
};

class HeldProcess {
 public:
  // Forks. The child ends without having run anything when this object, or this process, is gone.
  explicit HeldProcess(Start start);

  pid_t pid() const { return pid_; }

  // Lets it become the program. Throws what kept it from that; it is ending then. Does nothing when
  // it has been killed meanwhile.
  void go();

 private:
  const Start start_;
  Fd channel_;
  pid_t pid_ = 0;
};

}  // namespace det::launcher

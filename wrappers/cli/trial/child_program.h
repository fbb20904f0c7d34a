// A program as a child of this process: what is sent to one is for both, and they end together.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/file.h"

namespace det::cli {

class ChildProgram {
 public:
  // Holds back the signals that are for the program. Throws where there is no such program.
  explicit ChildProgram(std::vector<std::string> command);

  // With these variables besides those of this process; it is killed when this process is. Throws
  // where the program cannot be run.
  void start(const std::map<std::string, std::string> &variables);

  int signals() const { return signals_.get(); }  // to be polled, and then passed on
  int ended() const { return process_.get(); }    // readable once it has ended

  // Passes on the signals that were sent to this process, but for one that gives true.
  template <class IsTaken>
  void pass_on_signals(const IsTaken &is_taken) const {
    while (const int signal = next_signal())
      if (!is_taken(signal)) send(signal);
  }

  // For its end.
  void wait();
  bool left_with(int status) const;

  // Ends this process as the program ended.
  [[noreturn]] void end_likewise() const;

 private:
  int next_signal() const;  // 0: no more
  void send(int signal) const;

  std::vector<std::string> command_;
  std::filesystem::path program_;
  Fd signals_, process_;
  pid_t pid_ = 0;
  int status_ = 0;
};

}  // namespace det::cli

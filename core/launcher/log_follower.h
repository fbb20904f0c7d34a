// Reads what a trial prints, while it prints it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/file.h"

namespace det::launcher {

class LogFollower {
 public:
  // Takes lines (perhaps none), and where in the file to go on after them: both belong into one
  // transaction. What it throws goes to the caller, and the same lines come again.
  using Sink = std::function<void(const std::vector<std::string> &lines, uint64_t offset)>;

  // The file need not be there yet.
  LogFollower(std::filesystem::path file, uint64_t offset, Sink sink);

  // Hands on the complete lines that are new, from at most a mebibyte. Whether there may be more at
  // once. Lines end with \n or \r\n; of one that a progress bar has written over with \r, what a
  // terminal shows in the end comes. They are valid UTF-8, and one of more than 64 KiB comes in
  // pieces.
  bool follow();

  // The same once nobody writes any more: all that is left, and the last line even if it has no
  // end.
  void finish();

 private:
  bool has_file();
  bool read(bool last);

  const std::filesystem::path path_;
  const Sink sink_;
  Fd file_;
  uint64_t offset_;
  uint64_t seen_ = 0;  // the size of the file when it had no more complete lines
};

}  // namespace det::launcher

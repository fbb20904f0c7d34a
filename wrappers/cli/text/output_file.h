// A file that is there as a whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "core/base/file.h"

namespace det::cli {

// Written aside, and renamed by finish(). What is no regular file, such as a pipe, is written as it
// is. Throws Failure, naming the file. One at a time: what ends the process takes the half file
// away.
class OutputFile {
 public:
  explicit OutputFile(const std::string &path);
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  ~OutputFile();

  void write(std::string_view text);
  void finish();

 private:
  void flush();

  std::string path_, aside_;  // no `aside_`: straight to `path_`
  Fd file_;
  std::string buffer_;
};

}  // namespace det::cli

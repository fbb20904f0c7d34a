// Runs part of a test in a process of its own, where it may redirect output, exit and crash.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <filesystem>

#include "core/base/file.h"
#include "tests/cmocka.h"

namespace det::test {

// Runs `body` and gives the process' wait status; its exit status is what `body` returns, 255 when
// that throws. Standard output and standard error go to files named "out" and "err" in `directory`.
template <class Body>
int run_in_child(const std::filesystem::path &directory, Body body) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(open_file(directory / "out", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND).get(),
         STDOUT_FILENO);
    dup2(open_file(directory / "err", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND).get(),
         STDERR_FILENO);
    int status = 255;
    try {
      status = body();
    } catch (const std::exception &error) {
      const std::string text = std::string(error.what()) + "\n";
      [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
    }
    _exit(status);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace det::test

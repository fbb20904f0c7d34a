// The threads of the test's own process.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace det {

// How many threads have this name. One that was joined may be among them for a moment still.
inline int count_threads(const std::string &name) {
  int count = 0;
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;  // stays empty where the thread ends meanwhile
    std::getline(std::ifstream(task.path() / "comm"), found);
    count += found == name ? 1 : 0;
  }
  return count;
}

// Until each of the others waits for something, or is gone.
inline void wait_until_other_threads_sleep() {
  const auto sleeps = [](const std::filesystem::path &task) {
    std::string status;
    std::getline(std::ifstream(task / "status"), status, '\0');
    return status.empty() || status.find("State:\tS") != std::string::npos;
  };
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task"))
    while (task.path().filename() != std::to_string(gettid()) && !sleeps(task.path())) usleep(1000);
}

}  // namespace det

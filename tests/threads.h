// The threads of the test's own process.
#pragma once

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

}  // namespace det

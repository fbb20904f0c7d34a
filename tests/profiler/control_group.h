// A control group of a test's own, version 1 or 2, removed at the end; only root can make one.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/profiler/cgroup.h"

namespace det::profiler {

class ControlGroup {
 public:
  // Whoever joins it may have so many bytes of memory. What it writes to the disk of `written` is
  // counted where this machine can.
  ControlGroup(uint64_t limit, const std::filesystem::path &written)
      : why_not_(set_up(limit, written)) {}
  ControlGroup(const ControlGroup &) = delete;
  ControlGroup &operator=(const ControlGroup &) = delete;
  ~ControlGroup() {
    for (const std::filesystem::path &directory : made_) rmdir(directory.c_str());
  }

  // Empty where it could be made.
  const std::string &why_not() const { return why_not_; }

  // This process. It must have left, or ended, before the end.
  bool join() const {
    for (const std::filesystem::path &directory : made_)
      if (!write(directory / "cgroup.procs", "0")) return false;
    return true;
  }

  // What the kernel says of it: bytes, and bytes written to disks; 0 where it does not count them.
  uint64_t memory_used() const {
    return number_in(memory_ / (version_ == 2 ? "memory.current" : "memory.usage_in_bytes"))
        .value_or(0);
  }
  uint64_t files_not_used_lately() const {
    return numbers(memory_ / "memory.stat",
                   version_ == 2 ? "inactive_file" : "total_inactive_file");
  }
  uint64_t written() const {
    return version_ == 2 ? numbers(memory_ / "io.stat", "wbytes")
                         : numbers(disks_ / "blkio.throttle.io_service_bytes", "Write");
  }

 private:
  std::string set_up(uint64_t limit, const std::filesystem::path &written) {
    if (geteuid() != 0) return "only root may make control groups";
    const CgroupLevels memory = cgroup_levels({}, "memory"), disks = cgroup_levels({}, "blkio");
    if (memory.directories.empty()) return "there are no control groups for memory";
    version_ = memory.version;
    memory_ = memory.directories.back() / name_;
    if (!make(memory_)) return "making '" + memory_.string() + "': " + std::strerror(errno);
    if (!write(memory_ / (version_ == 2 ? "memory.max" : "memory.limit_in_bytes"),
               std::to_string(limit)))
      return "a control group here has no limit on memory";
    if (version_ == 2 || disks.version != 1) return "";
    disks_ = disks.directories.back() / name_;
    if (!make(disks_)) return "making '" + disks_.string() + "': " + std::strerror(errno);
    // It counts where there is a limit, however high.
    struct stat about {};
    if (stat(written.c_str(), &about) == 0)
      write(disks_ / "blkio.throttle.write_bps_device", std::to_string(major(about.st_dev)) + ":" +
                                                            std::to_string(minor(about.st_dev)) +
                                                            " 1000000000000");
    return "";
  }

  bool make(const std::filesystem::path &directory) {
    if (mkdir(directory.c_str(), 0755) != 0) return false;
    made_.push_back(directory);
    return true;
  }

  static bool write(const std::filesystem::path &file, const std::string &text) {
    std::ofstream stream(file);
    stream << text << std::flush;
    return stream.good();
  }

  // The sum of the numbers that follow a word.
  static uint64_t numbers(const std::filesystem::path &file, const std::string &name) {
    std::ifstream stream(file);
    std::string text((std::istreambuf_iterator<char>(stream)), {});
    for (char &c : text)
      if (c == '=') c = ' ';
    uint64_t sum = 0;
    for (std::string_view rest = text; !rest.empty();)
      if (next_word(rest) == name) sum += next_number(rest).value_or(0);
    return sum;
  }

  const std::string name_ = "detcore-test-" + std::to_string(getpid());
  int version_ = 0;
  std::filesystem::path memory_, disks_;
  std::vector<std::filesystem::path> made_;
  const std::string why_not_;
};

}  // namespace det::profiler

// A recorded machine of tests/profiler/machines, of which a test may change the files.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "core/profiler/samplers.h"
#include "tests/cmocka.h"
#include "tests/temporary_directory.h"

namespace det::profiler {

class MachineCopy {
 public:
  explicit MachineCopy(const std::string &name) {
    std::filesystem::copy(std::filesystem::path(MACHINES) / name, root_.path(),
                          std::filesystem::copy_options::recursive);
  }

  Machine machine(pid_t process = 0) const { return {root_.path(), process}; }
  std::filesystem::path path(const std::string &name) const { return root_ / name; }

  void write(const std::string &name, const std::string &text) const {
    std::ofstream(root_ / name) << text;
  }
  // Replaces `from`, which must be there.
  void change(const std::string &name, const std::string &from, const std::string &to) const {
    std::ifstream file(root_ / name);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const size_t at = text.find(from);
    assert_true(at != text.npos);
    write(name, text.replace(at, from.size(), to));
  }
  void remove(const std::string &name) const { std::filesystem::remove_all(root_ / name); }

 private:
  TemporaryDirectory root_;
};

// What a sampler says at one time: by name, or "label/name".
class OneSample : public Batch {
 public:
  void add(std::string_view label, std::string_view name, double value) override {
    const std::string full = label.empty() ? "" : std::string(label) + "/";
    values_[full + std::string(name)] = value;
  }
  bool has(const std::string &name) const { return values_.count(name) > 0; }
  size_t size() const { return values_.size(); }
  double operator[](const std::string &name) const {
    if (!has(name)) fail_msg("no value %s", name.c_str());
    return values_.at(name);
  }

 private:
  std::map<std::string, double> values_;
};

inline OneSample sample(Sampler &sampler, double seconds) {
  OneSample values;
  sampler.sample(Clock::time_point(std::chrono::duration_cast<Clock::duration>(
                     std::chrono::duration<double>(seconds))),
                 values);
  return values;
}

}  // namespace det::profiler

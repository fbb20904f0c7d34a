// The places of this machine for trials: GPUs where it has any, else processor cores.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace det {

class Slots {
 public:
  // `wanted` of them, or as many as this machine has; `root` as for visible_gpus(). Throws
  // Code::invalid for fewer than one, and for more than there are GPUs: each goes to one trial.
  static Slots of_machine(std::optional<int> wanted, const std::filesystem::path &root = "/");

  explicit Slots(int cores) : total_(cores) {}
  explicit Slots(std::vector<std::string> gpus)
      : gpus_(std::move(gpus)), total_(static_cast<int>(gpus_.size())) {}

  int total() const { return total_; }
  bool are_gpus() const { return !gpus_.empty(); }
  // Negative when processes were taken over that hold more slots than there are.
  int free() const { return total_ - static_cast<int>(taken_.size()); }

  // Numbers from 0. Throws Code::busy when fewer are free.
  std::vector<int> take(int count);
  // For a process that holds them already.
  void take_held(const std::vector<int> &ids);
  void give_back(const std::vector<int> &ids);

  // What tells a process which are its own.
  std::map<std::string, std::string> variables(const std::vector<int> &ids) const;

 private:
  std::vector<std::string> gpus_;
  int total_;
  std::vector<int> taken_;
};

}  // namespace det

// The places of this machine for trials: GPUs where it has any, else processor cores.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"

namespace det::launcher {

class Slots {
 public:
  // `wanted` of them, or as many as this machine has; `root` as for visible_gpus(). Throws
  // Code::invalid for fewer than one, and for more than there are GPUs: each goes to one trial.
  static Slots of_machine(std::optional<int> wanted, const std::filesystem::path &root = "/");

  explicit Slots(int cores) : total_(cores) {}
  // `claims` is the directory where it is known which GPUs are in use (claim_gpu()).
  Slots(std::vector<std::string> gpus, std::filesystem::path claims)
      : gpus_(std::move(gpus)),
        claims_directory_(std::move(claims)),
        total_(static_cast<int>(gpus_.size())) {}

  int total() const { return total_; }
  bool are_gpus() const { return !gpus_.empty(); }
  // Negative when processes were taken over that hold more slots than there are.
  int free() const { return total_ - static_cast<int>(taken_.size()); }

  // Numbers from 0. Throws Code::busy when fewer are free, also because others hold GPUs.
  std::vector<int> take(int count);
  // For a process that holds them already.
  void take_held(const std::vector<int> &ids);
  void give_back(const std::vector<int> &ids);

  // Descriptors that a process keeps as long as it uses these.
  std::vector<int> claims(const std::vector<int> &ids) const;
  // What tells a process which are its own.
  std::map<std::string, std::string> variables(const std::vector<int> &ids) const;
  // How many threads a process of one slot may compute with, where so many slots are in use at once
  // (0: all), so that together they have no more than this machine has cores; and that a thread
  // which waits for another sleeps, since the other may wait for a core. Nothing of GPUs.
  std::map<std::string, std::string> thread_variables(int64_t slots_at_once) const;

 private:
  std::vector<std::string> gpus_;
  std::filesystem::path claims_directory_;
  int total_;
  std::vector<int> taken_;
  std::map<int, Fd> claims_;  // of the GPUs among them
};

}  // namespace det::launcher

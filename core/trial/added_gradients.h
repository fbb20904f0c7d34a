// Which gradients a rank has added in a period: every rank must add the same ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/comm/communicator.h"

namespace det::trial {

class AddedGradients {
 public:
  explicit AddedGradients(size_t count) : seen_(count, none) {}

  void add(size_t index) { seen_[index] = now; }
  bool is_in_batch(size_t index) const { return seen_[index] == now; }
  bool is_in_period(size_t index) const { return seen_[index] != none; }
  void end_batch();
  void end_period();

  // Collective, in the last batch of a period. The same on all ranks.
  std::optional<std::string> find_problem(comm::Communicator &communicator) const;

 private:
  static constexpr char none = '-', earlier = 'e', now = 'n';
  static std::string difference(const std::vector<comm::Message> &seen);

  std::string seen_;  // by tensor
};

// As errors name it.
std::string gradient_name(size_t index);

}  // namespace det::trial

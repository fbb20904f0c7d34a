// What deliveries have told of reports that the master did not take as they were.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/report.h"

namespace det::journal {

class Told {
 public:
  void add(const Delivery &delivery);

  // What was added since the last call: the first conflict, how many followed, and how many reports
  // were set aside, where.
  std::optional<std::string> take();

  // How many reports were set aside from the first one on, where; empty for none.
  std::string in_all() const;

 private:
  std::optional<std::string> first_;  // of what was not taken
  uint64_t more_ = 0;
  uint64_t untold_ = 0;  // of those set aside
  uint64_t set_aside_ = 0, lost_ = 0;
  std::string file_;
};

}  // namespace det::journal

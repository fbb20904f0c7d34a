// The policies of a configuration for what its trials print (`log_policies`).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"

namespace re2 {
class RE2;
}

namespace det::launcher {

// Why `pattern` is no regular expression; none where it is one.
std::optional<std::string> pattern_problem(const std::string &pattern);

class LogPolicies {
 public:
  // Throws Code::invalid for a pattern that is no regular expression of RE2.
  explicit LogPolicies(const Json &config);
  ~LogPolicies();

  // The policy, as people know it, after which a trial that printed this line is not started again
  // when it fails. A trial cannot leave out this machine and go to another, so `exclude_node` says
  // the same as `cancel_retries`.
  std::optional<std::string> forbids_restarts(std::string_view line) const;

 private:
  struct Policy {
    std::string name;  // or its pattern
    std::unique_ptr<re2::RE2> pattern;
  };
  std::vector<Policy> policies_;
};

}  // namespace det::launcher

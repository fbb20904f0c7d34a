// Collects the problems of a configuration, and finds their lines.
#pragma once

#include <string>
#include <vector>

#include "core/config/experiment/check.h"
#include "core/config/experiment/yaml.h"

namespace det::config {

class ConfigProblems {
 public:
  ConfigProblems(std::string file_name, const YamlDocument &document)
      : file_name_(std::move(file_name)), document_(document) {}

  // What a checker of this stage reports. A later stage sees the same values again: of a section
  // that has problems already it may only add what is missing.
  ConfigChecker::Report reporter(ConfigStage stage);
  bool has_any(const std::string &section) const;
  void throw_if_any() const;

 private:
  bool is_known(const ConfigProblem &problem) const;

  struct Line {
    int number;
    bool is_exact;  // else it is that of the nearest object around, since the file has no more
  };
  Line line_of(const ConfigPath &at) const;

  std::string file_name_;
  const YamlDocument &document_;
  std::vector<ConfigProblem> problems_;
};

}  // namespace det::config

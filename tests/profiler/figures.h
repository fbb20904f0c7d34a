// What samplers say, by label and name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/profiler/sampler.h"
#include "tests/cmocka.h"

namespace det::profiler {

class Figures : public Batch {
 public:
  void add(std::string_view label, std::string_view name, double value) override {
    values[std::string(label)][std::string(name)] = value;
  }

  bool has(const std::string &label, const std::string &name) const {
    return values.count(label) != 0 && values.at(label).count(name) != 0;
  }
  double of(const std::string &label, const std::string &name) const {
    if (!has(label, name)) fail_msg("%s has no %s", label.c_str(), name.c_str());
    return values.at(label).at(name);
  }
  std::vector<std::string> labels() const {
    std::vector<std::string> all;
    for (const auto &[label, by_name] : values) all.push_back(label);
    return all;
  }

  std::map<std::string, std::map<std::string, double>> values;
};

}  // namespace det::profiler

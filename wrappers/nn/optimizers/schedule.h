// Learning rates that follow the steps.
#pragma once

#include <memory>
#include <string>

#include "core/base/json_fwd.h"

namespace det::nn {

class Schedule {
 public:
  virtual ~Schedule() = default;
  // Of the step that `step` others came before.
  virtual double at(int64_t step) const = 0;
};

// From {"class_name": "ExponentialDecay", "config": {...}}: the schedules of Keras. Throws
// Code::invalid, with the nearest class; `where` says whose it is.
std::shared_ptr<const Schedule> make_schedule(const Json &config, const std::string &where);

}  // namespace det::nn

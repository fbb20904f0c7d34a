// One source of figures about the machine, and where it puts them.
#pragma once

#include <chrono>
#include <string_view>

namespace det::profiler {

using Clock = std::chrono::steady_clock;

// What the samplers of one group say until the next report.
class Batch {
 public:
  virtual ~Batch() = default;

  // `label` names what the figure is of where a group has several (a GPU's UUID, a mount); empty
  // for the machine. A value that is not known is left out rather than given as 0.
  virtual void add(std::string_view label, std::string_view name, double value) = 0;

  // Counters say as much when they are read now and then: what they grow by is not lost. False:
  // not in this sample.
  virtual bool wants_rates() const { return true; }

  // What a counter grew by a second, since rates were wanted before.
  virtual void add_rate(std::string_view label, std::string_view name, double value) {
    add(label, name, value);
  }
};

// Called by one thread. What sampling fails with is told once and costs the others nothing; with
// Code::unsupported it is not asked again.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // "cpu", "memory", "disk", "network", "gpu": metrics are reported under this name.
  virtual std::string_view group() const = 0;
  virtual void sample(Clock::time_point now, Batch &batch) = 0;
};

}  // namespace det::profiler

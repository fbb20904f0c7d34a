// System metrics while training. Sampling is not in this release.
#pragma once

#include "core/context/gate.h"

namespace det::context {

class ProfilerContext {
 public:
  explicit ProfilerContext(const Gate &gate) : gate_(gate) {}

  void on(double sampling_interval, int samples_per_report) const;
  void off() const { gate_.check(); }

 private:
  const Gate &gate_;
};

}  // namespace det::context

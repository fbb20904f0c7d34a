// System metrics while training: when they are sampled, and where they go.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/log.h"
#include "core/comm/communicator.h"
#include "core/context/gate.h"
#include "core/journal/spool.h"
#include "core/profiler/sampling.h"

namespace det::context {

class ProfilerContext {
 public:
  // `agent` names this machine in the reports. Without a spool, which is where they go, nothing is
  // sampled.
  ProfilerContext(const Gate &gate, const comm::Ranks &ranks, const std::string &agent,
                  journal::Spool *spool, std::shared_ptr<Logger> logger);
  // Leaves everything to the parent in a forked child.
  ~ProfilerContext();
  ProfilerContext(const ProfilerContext &) = delete;
  ProfilerContext &operator=(const ProfilerContext &) = delete;

  // Goes on where the experiment's configuration says so (profiling.enabled). What it fails with is
  // a warning: training is more than its figures.
  void configure(const Json &config) noexcept;

  void on(double sampling_interval, int samples_per_report);
  void off();

  // For the end of the run, when the gate is closed: reports what there is, and samples no more.
  void stop();

 private:
  struct State {
    std::mutex mutex;
    std::unique_ptr<profiler::Sampling> sampling;
  };

  const Gate &gate_;
  const comm::Ranks ranks_;
  const std::string agent_;
  journal::Spool *const spool_;
  const std::shared_ptr<Logger> logger_;
  std::unique_ptr<State> state_;
};

}  // namespace det::context

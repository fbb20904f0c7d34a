// What the profiler reports while training: system metrics, and where the time of a rank went.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/comm/communicator.h"
#include "core/context/lifetime.h"
#include "core/journal/shipper.h"
#include "core/journal/spool.h"
#include "core/profiler/regions/regions.h"
#include "core/profiler/sampling.h"

namespace det::context {

class ProfilerContext {
 public:
  // `agent` names this machine in the reports. Without a spool, which is where they go, nothing is
  // sampled.
  ProfilerContext(const Lifetime &lifetime, const comm::Ranks &ranks, const std::string &agent,
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

  // For the end of the run, when the core is closed: reports what there is, and samples no more.
  void stop();

 private:
  struct State {
    std::mutex mutex;
    std::unique_ptr<profiler::Sampling> sampling;
  };

  const Lifetime &lifetime_;
  const comm::Ranks ranks_;
  const std::string agent_;
  journal::Spool *const spool_;
  const std::shared_ptr<Logger> logger_;
  std::unique_ptr<State> state_;
};

// What was spent in the regions of a rank, as reports of the group "regions".
class RegionReports {
 public:
  // Every ten seconds from the first region on, on the shipper's thread.
  RegionReports(profiler::Regions &regions, const comm::Ranks &ranks, journal::Spool &spool,
                journal::Shipper &shipper, Logger &logger);

  // What was spent since the last report. Nothing without regions.
  void report();

 private:
  profiler::Regions &regions_;
  const std::string rank_;  // by which reports of several ranks are told apart; empty: it is alone
  journal::Spool &spool_;
  Logger &logger_;
};

}  // namespace det::context

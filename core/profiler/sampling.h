// The thread that samples the machine and reports what it finds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/profiler/averages.h"
#include "core/profiler/sampler.h"

namespace det::profiler {

struct SamplingOptions {
  std::chrono::duration<double> interval{1};
  int samples_per_report = 10;
};

class Sampling {
 public:
  // On the thread, since some take long to find out what there is.
  using MakeSamplers = std::function<std::vector<std::unique_ptr<Sampler>>()>;

  // `report` is called on the thread with the averages of each group; what it throws is told once.
  // Throws Code::full where there can be no more threads.
  Sampling(MakeSamplers make, Averages::Take report, std::shared_ptr<Logger> logger,
           const SamplingOptions &options);

  // Reports what was sampled since the last report, and ends the thread. Not in a forked child.
  ~Sampling();
  Sampling(const Sampling &) = delete;
  Sampling &operator=(const Sampling &) = delete;

 private:
  void run();
  bool wait_until(Clock::time_point time);  // false: stopped before
  void report(Averages &averages);

  const MakeSamplers make_;
  const Averages::Take report_;
  const std::shared_ptr<Logger> logger_;
  const SamplingOptions options_;
  bool told_ = false;  // of a report that failed

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace det::profiler

#include "core/profiler/sampling.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/base/thread.h"

namespace det::profiler {

namespace {

// Later times would overflow the clock.
constexpr std::chrono::duration<double> longest = std::chrono::hours(24 * 365);

// A rate over less than that says more of the clock than of the machine.
constexpr std::chrono::milliseconds shortest{50};

}  // namespace

Sampling::Sampling(MakeSamplers make, Averages::Take report, std::shared_ptr<Logger> logger,
                   const SamplingOptions &options)
    : make_(std::move(make)),
      report_(std::move(report)),
      logger_(std::move(logger)),
      options_(options),
      thread_(start_thread("det-profiler", [this] { run(); })) {}

Sampling::~Sampling() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Sampling::run() try {
  Averages averages(make_(), logger_);
  // The first sample only says where the counters stand.
  averages.sample(Clock::now());
  averages.forget();

  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::min(options_.interval, longest));
  Clock::time_point last = Clock::now(), next = last + interval;
  for (int count = 0; wait_until(next);) {
    last = Clock::now();
    const bool ends_report = ++count == options_.samples_per_report;
    averages.sample(last, ends_report);
    if (ends_report) {
      report(averages);
      count = 0;
    }
    // Where the machine slept or was too busy, what was missed is not made up for.
    next = std::max(next + interval, Clock::now());
  }
  // A run that was shorter than the interval has something to show, too, and so have counters.
  const Clock::time_point end = Clock::now();
  if (averages.lacks_rates() || (averages.empty() && end - last >= shortest)) averages.sample(end);
  report(averages);
} catch (const std::exception &failure) {
  logger_->warning("profiling the machine ends: ", failure.what());
}

bool Sampling::wait_until(Clock::time_point time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_until(lock, time, [&] { return stopping_; });
}

void Sampling::report(Averages &averages) {
  try {
    averages.report(report_);
  } catch (const std::exception &failure) {
    averages.forget();
    if (!std::exchange(told_, true))
      logger_->warning("reporting what the profiler found: ", failure.what());
  }
}

}  // namespace det::profiler
